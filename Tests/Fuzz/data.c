// SPDX-License-Identifier: Apache-2.0
// User data of callbacks, and their account: each notify is called once, and no function after it. A function that is
// called once is not called twice.
#include "fuzz.h"

struct Datum {
    const Function *function;
    unsigned label;
    bool has_notify;
    uint64_t seed;
    atomic_uint calls;
    atomic_uint notified;
    atomic_int state;  // see below
};

enum {
    STATE_UNDER_WAY,  // the call that got the datum has not returned
    STATE_ACCEPTED,
    STATE_REFUSED,
    STATE_CLOSED,     // the call has returned, and no longer holds the datum
};

enum { DATA = 60000, CALLS_OF_CALLBACKS = 6000 };
static struct Datum data[DATA];
static atomic_uint data_count;
static atomic_uint callbacks_made;

Datum *data_new(const Function *function, bool has_notify)
{
    unsigned index = atomic_fetch_add(&data_count, 1);
    if (index >= DATA) {
        atomic_store(&data_count, DATA);
        return NULL;
    }
    Datum *datum = &data[index];
    datum->function = function;
    datum->label = index + 1;
    datum->has_notify = has_notify;
    datum->seed = random_next();
    atomic_store(&datum->state, STATE_UNDER_WAY);
    return datum;
}

bool data_has_notify(Datum *datum) { return datum->has_notify; }

void data_forget(Datum *datum) { atomic_store(&datum->state, STATE_CLOSED); }

unsigned data_label(Datum *datum) { return datum == NULL ? 0 : datum->label; }
unsigned data_calls(Datum *datum) { return atomic_load(&datum->calls); }
unsigned data_notified(Datum *datum) { return atomic_load(&datum->notified); }

Datum *data_any(void)
{
    unsigned count = MIN(atomic_load(&data_count), DATA);
    // Picks one of the latest data, which may still be in use.
    unsigned span = MIN(count, 200);
    return span == 0 ? NULL : &data[count - 1 - random_below(span)];
}

void data_settle(Datum *datum, bool is_refused)
{
    if (datum == NULL)
        return;
    if (is_refused) {
        if (datum->has_notify && call_innermost()->criticals == 0 && data_notified(datum) != 1)
            fuzz_fail("%s has failed without releasing data#%u", datum->function->name, datum->label);
        atomic_store(&datum->state, STATE_REFUSED);
    } else {
        atomic_store(&datum->state, datum->function->scope == SCOPE_CALL ? STATE_CLOSED : STATE_ACCEPTED);
    }
}

void data_check_all(void)
{
    unsigned count = MIN(atomic_load(&data_count), DATA);
    for (unsigned index = 0; index < count; index++) {
        Datum *datum = &data[index];
        if (datum->has_notify && atomic_load(&datum->state) == STATE_ACCEPTED && data_notified(datum) == 0)
            fuzz_fail("at the end: data#%u of %s was not released: its notify was not called (the function: %u times)",
                datum->label, datum->function->name, data_calls(datum));
    }
}

static void lend(Thread *self, Kind kind, gpointer pointer)
{
    if (self->lent_count < (int)G_N_ELEMENTS(self->lent)) {
        self->lent[self->lent_count].kind = kind;
        self->lent[self->lent_count++].pointer = pointer;
    }
}

// Makes random calls in a callback. Their own seed keeps them from changing later random values.
static bool play(
    Datum *datum, unsigned round, unsigned most, const Kind *kinds, gpointer const *objects, unsigned count)
{
    Thread *self = thread_self();
    if (atomic_load(&is_over) || atomic_load(&is_calm))
        return false;
    // A log handler's call may release only objects that log no message.
    if (self->is_logging)
        return true;
    if (self->depth >= MAX_DEPTH || atomic_fetch_add(&callbacks_made, 1) >= CALLS_OF_CALLBACKS)
        return round < 3;
    uint64_t random = self->random;
    int lent_count = self->lent_count;
    self->random = random_mix(datum->seed, round);
    self->depth++;
    for (unsigned index = 0; index < count; index++)
        if (objects[index] != NULL)
            lend(self, kinds[index], objects[index]);
    for (unsigned calls = random_below(most + 1); calls > 0 && !atomic_load(&is_over); calls--)
        call_at_random();
    bool goes_on = !random_chance(10);
    self->depth--;
    self->lent_count = lent_count;
    self->random = random;
    return goes_on;
}

static bool call(gpointer pointer, const Kind *kinds, gpointer const *objects, unsigned count)
{
    Datum *datum = pointer;
    // Without data, this call is not recorded. A source of a descriptor that is always ready would go on forever with a
    // long time slice.
    if (datum == NULL)
        return !atomic_load(&is_over) && !atomic_load(&is_calm);
    // Loads what the thread that made the datum has written.
    int state = atomic_load(&datum->state);
    unsigned round = atomic_fetch_add(&datum->calls, 1);
    record_callback(datum, 3);
    if (state == STATE_REFUSED || state == STATE_CLOSED)
        fuzz_fail("%s is called back with data#%u, which it %s", datum->function->name, datum->label,
            state == STATE_REFUSED ? "has refused" : "had for the time of the call");
    if (data_notified(datum) != 0)
        fuzz_fail("%s is called back with data#%u, which was released", datum->function->name, datum->label);
    if (round > 0 && datum->function->scope != SCOPE_MANY)
        fuzz_fail("%s is called back with data#%u a second time", datum->function->name, datum->label);
    return play(datum, round, thread_self()->depth == 0 ? 3 : 2, kinds, objects, count);
}

void data_notify(gpointer pointer)
{
    Datum *datum = pointer;
    if (datum == NULL)
        return;
    atomic_load(&datum->state);
    record_callback(datum, 4);
    if (!datum->has_notify)
        fuzz_fail("%s has called a notify that it was not given, with data#%u", datum->function->name, datum->label);
    if (atomic_fetch_add(&datum->notified, 1) != 0)
        fuzz_fail("%s has called the notify of data#%u a second time", datum->function->name, datum->label);
    play(datum, 1000, 1, NULL, NULL, 0);
}

// MARK: Functions that the library calls

void fuzz_on_GRunFunc(gpointer user_data);
gboolean fuzz_on_GRunSourceFunc(GRunSource *source, gpointer user_data);
gboolean fuzz_on_GRunFdSourceFunc(GRunFdSource *source, GIOCondition condition, gpointer user_data);
gboolean fuzz_on_GRunSignalSourceFunc(GRunSignalSource *source, guint64 count, gpointer user_data);
void fuzz_on_GRunChildSourceFunc(GRunChildSource *source, gint status, const GError *error, gpointer user_data);
gboolean fuzz_on_GRunTimerFunc(GRunTimer *timer, gpointer user_data);
gboolean fuzz_on_GRunObserverFunc(GRunObserver *observer, GRunActivity activity, gpointer user_data);
void fuzz_on_GRunScheduleFunc(GRunSource *source, GRunLoop *loop, const char *mode, gpointer user_data);
void fuzz_on_GRunChannelFunc(gpointer message, gpointer user_data);
void fuzz_on_GRunChannelValueFunc(GValue *value, gpointer user_data);
void fuzz_on_GRunPortInvalidationFunc(GRunPort *port, gpointer user_data);
void fuzz_on_GRunMessagePortInvalidationFunc(GRunMessagePort *port, gpointer user_data);
void fuzz_on_GRunRemoteMessagePortInvalidationFunc(GRunRemoteMessagePort *port, gpointer user_data);
void fuzz_on_GRunNotificationFunc(const char *name, gpointer sender, GBytes *data, gpointer user_data);
void fuzz_on_GRunPortFunc(GRunPortMessage *message, gpointer user_data);
void fuzz_on_GRunMessagePortFunc(GRunMessagePort *port, GRunMessage *message, gpointer user_data);
GBytes *fuzz_on_GRunMessageReplyingFunc(GRunMessagePort *port, GRunMessage *message, gpointer user_data);
void fuzz_on_GRunReplyFunc(GRunRemoteMessagePort *port, GRunMessage *reply, const GError *error, gpointer user_data);
void fuzz_on_GRunThreadSetUpFunc(GRunLoop *loop, gpointer user_data);
void fuzz_on_GRunVirtualTimeFunc(GRunLoop *loop, gpointer user_data);
void fuzz_on_GRunStallFunc(
    GRunLoop *loop, const char *report, gdouble seconds, gboolean is_over, gpointer user_data);

void data_call(gpointer pointer) { call(pointer, NULL, NULL, 0); }

void fuzz_on_GRunStallFunc(GRunLoop *loop, const char *report, gdouble seconds, gboolean is_over, gpointer user_data)
{
    if (!g_utf8_validate(report, -1, NULL) || !(seconds > 0))
        fuzz_fail("a stall of %f seconds: %s", seconds, report);
    if (is_over && strchr(report, '\n') != NULL)
        fuzz_fail("the report of a stall's end has frames: %s", report);
    call(user_data, (Kind[]){KIND_LOOP}, (gpointer[]){loop}, 1);
}

void fuzz_on_GRunFunc(gpointer user_data) { call(user_data, NULL, NULL, 0); }

gboolean fuzz_on_GRunSourceFunc(GRunSource *source, gpointer user_data)
{
    return call(user_data, (Kind[]){KIND_SOURCE}, (gpointer[]){source}, 1);
}

gboolean fuzz_on_GRunFdSourceFunc(GRunFdSource *source, GIOCondition condition, gpointer user_data)
{
    // Another thread may have changed the awaited conditions since the descriptor was found ready.
    GIOCondition known = G_IO_IN | G_IO_OUT | G_IO_PRI | G_IO_HUP | G_IO_ERR;
    if (condition == 0 || (condition & ~known) != 0)
        fuzz_fail("a descriptor source reports %#x", condition);
    return call(user_data, (Kind[]){KIND_FD_SOURCE}, (gpointer[]){source}, 1);
}

gboolean fuzz_on_GRunSignalSourceFunc(GRunSignalSource *source, guint64 count, gpointer user_data)
{
    if (count == 0)
        fuzz_fail("a signal source reports no signal");
    return call(user_data, (Kind[]){KIND_SIGNAL_SOURCE}, (gpointer[]){source}, 1);
}

void fuzz_on_GRunChildSourceFunc(GRunChildSource *source, gint status, const GError *error, gpointer user_data)
{
    if ((status == -1) != (error != NULL))
        fuzz_fail("a child source reports %#x and %s", status, error != NULL ? "an error" : "no error");
    if (grun_child_source_is_valid(source))
        fuzz_fail("a child source is valid after its end");
    call(user_data, (Kind[]){KIND_CHILD_SOURCE}, (gpointer[]){source}, 1);
}

gboolean fuzz_on_GRunTimerFunc(GRunTimer *timer, gpointer user_data)
{
    return call(user_data, (Kind[]){KIND_TIMER}, (gpointer[]){timer}, 1);
}

gboolean fuzz_on_GRunObserverFunc(GRunObserver *observer, GRunActivity activity, gpointer user_data)
{
    if (__builtin_popcount(activity) != 1 || (activity & grun_observer_get_activities(observer)) == 0)
        fuzz_fail("an observer of %#x is told of %#x", grun_observer_get_activities(observer), activity);
    return call(user_data, (Kind[]){KIND_OBSERVER}, (gpointer[]){observer}, 1);
}

void fuzz_on_GRunScheduleFunc(GRunSource *source, GRunLoop *loop, const char *mode, gpointer user_data)
{
    Datum *datum = user_data;
    if (g_strcmp0(mode, GRUN_MODE_COMMON) == 0 || !g_utf8_validate(mode, -1, NULL))
        fuzz_fail("schedule or cancel gets the mode %s", mode);
    call(datum, (Kind[]){KIND_SOURCE, KIND_LOOP}, (gpointer[]){source, loop}, 2);
}

void fuzz_on_GRunChannelFunc(gpointer message, gpointer user_data)
{
    messages_take(message);
    call(user_data, NULL, NULL, 0);
}

void fuzz_on_GRunChannelValueFunc(GValue *value, gpointer user_data)
{
    messages_take_value(value);
    call(user_data, NULL, NULL, 0);
}

// The port is NULL if its last reference is being released.
void fuzz_on_GRunPortInvalidationFunc(GRunPort *port, gpointer user_data)
{
    call(user_data, (Kind[]){KIND_PORT}, (gpointer[]){port}, port != NULL);
}

void fuzz_on_GRunMessagePortInvalidationFunc(GRunMessagePort *port, gpointer user_data)
{
    call(user_data, (Kind[]){KIND_MESSAGE_PORT}, (gpointer[]){port}, port != NULL);
}

void fuzz_on_GRunRemoteMessagePortInvalidationFunc(GRunRemoteMessagePort *port, gpointer user_data)
{
    call(user_data, (Kind[]){KIND_REMOTE_MESSAGE_PORT}, (gpointer[]){port}, port != NULL);
}

void fuzz_on_GRunNotificationFunc(const char *name, gpointer sender, GBytes *data, gpointer user_data)
{
    if (!g_utf8_validate(name, -1, NULL))
        fuzz_fail("a notification has the name %s", name);
    if (data != NULL && g_bytes_get_size(data) > 64)
        fuzz_fail("a notification has %zu bytes", g_bytes_get_size(data));
    (void)sender;
    call(user_data, NULL, NULL, 0);
}

void fuzz_on_GRunPortFunc(GRunPortMessage *message, gpointer user_data)
{
    g_autoptr(GRunPort) port = grun_port_message_get_receive_port(message);
    if (port == NULL)
        fuzz_fail("a message was received by no port");
    call(user_data, (Kind[]){KIND_PORT_MESSAGE, KIND_PORT}, (gpointer[]){message, port}, 2);
}

static const Kind sent_kinds[] = {KIND_MESSAGE_PORT, KIND_MESSAGE};

void fuzz_on_GRunMessagePortFunc(GRunMessagePort *port, GRunMessage *message, gpointer user_data)
{
    // Some requests get a late reply, often from another thread, and some never get one.
    if (random_chance(40) && !atomic_load(&is_over))
        pool_add(KIND_MESSAGE, grun_message_ref(message));
    call(user_data, sent_kinds, (gpointer[]){port, message}, 2);
}

GBytes *fuzz_on_GRunMessageReplyingFunc(GRunMessagePort *port, GRunMessage *message, gpointer user_data)
{
    call(user_data, sent_kinds, (gpointer[]){port, message}, 2);
    return random_chance(30) ? NULL : g_bytes_ref(grun_message_get_data(message));
}

void fuzz_on_GRunReplyFunc(GRunRemoteMessagePort *port, GRunMessage *reply, const GError *error, gpointer user_data)
{
    if ((reply == NULL) == (error == NULL))
        fuzz_fail("a request ended with a reply and an error, or with neither");
    Kind kinds[] = {KIND_REMOTE_MESSAGE_PORT, KIND_MESSAGE};
    call(user_data, kinds, (gpointer[]){port, reply}, reply != NULL ? 2 : 1);
}

void fuzz_on_GRunThreadSetUpFunc(GRunLoop *loop, gpointer user_data)
{
    thread_self()->base = loop;
    owners_add(loop, OWNER_LIBRARY, -1);
    call(user_data, (Kind[]){KIND_LOOP}, (gpointer[]){loop}, 1);
}

void fuzz_on_GRunVirtualTimeFunc(GRunLoop *loop, gpointer user_data)
{
    Thread *self = thread_self();
    Datum *datum = user_data;
    if (grun_loop_get_current() != loop)
        fuzz_fail("in virtual time another loop is the current one");
    self->virtual_loops[self->virtual_count++] = loop;
    call(datum, (Kind[]){KIND_LOOP}, (gpointer[]){loop}, 1);
    if (datum != NULL)
        play(datum, 2000, 12, (Kind[]){KIND_LOOP}, (gpointer[]){loop}, 1);
    self->virtual_count--;
}
