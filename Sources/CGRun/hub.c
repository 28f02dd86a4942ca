// SPDX-License-Identifier: Apache-2.0
// The hub: the one GSource that carries every source, timer and block of a run loop into a GMainContext, and the two sentinels that
// tell when a host that iterates the context is about to sleep, and when it has slept.
//
// Implementation notes. prepare() and check() are C because GLib calls them in every iteration of a host, and because nothing
// else may happen there: between prepare and a completed check GDK holds Wayland's read lock, and user code deadlocks.
// Nothing relies on check() being called after prepare(): GLib may leave it out (its poll set changed, a source of a higher priority was
// ready), and READY may survive passes.
//
// All of it belongs to the loop's thread. On another one, which iterates the context in its stead, hub and sentinels are silent.

#include "hub.h"

#include <pthread.h>

typedef struct {
    GSource source;
    cgrun_hub_funcs funcs;
    void *loop;
    pthread_t thread;
    bool is_main;
    GPollFD records[CGRUN_HUB_RECORDS];
    bool dormant;
    bool saw_check;

    // Fairness: iterations in which the hub still steps back, and whether it does in this one.
    unsigned yields;
    bool is_yielding;

    // The host's sleep, as far as observers are told of it.
    GSource *first, *last; // the sentinels, while somebody observes; each holds the hub
    bool is_waiting;       // beforeWaiting was sent, afterWaiting was not
    bool has_slept;        // while waiting, the poll of this iteration took time
    bool is_spoilt;        // this poll ends at once: a record of ours came or went, which writes to GLib's wakeup descriptor
    bool has_woken;        // while waiting, something foreign was dispatched
    bool is_stale;         // something foreign was dispatched since the last head of a pass
    bool is_unsure;        // perhaps it was: GLib has not checked the last sentinel, which was ready already
    bool was_unsure;       // that was taken for a yes, once
    bool first_checked, last_checked, was_ours;
    bool last_is_ready;
    int depth;
    gint64 prepared;
} Hub;

typedef struct {
    GSource source;
    Hub *hub;
} Sentinel;

static bool hub_is_silent(const Hub *hub)
{
    if (hub->dormant || hub->loop == NULL || cgrun_has_forked())
        return true;
    return hub->is_main ? !cgrun_is_main_thread() : !pthread_equal(hub->thread, pthread_self());
}

static gboolean hub_prepare(GSource *source, gint *timeout)
{
    Hub *hub = (Hub *)source;
    unsigned watched = 0;
    gboolean has_work = FALSE;
    *timeout = -1;
    hub->is_yielding = false;
    // Silent: our own driver polls these descriptors itself.
    if (!hub_is_silent(hub)) {
        if (hub->first == NULL) {
            // Nobody watches: an iteration in which we were not dispatched may have been somebody else's, unless we ended its poll.
            hub->is_stale |= !hub->was_ours && !hub->is_spoilt;
            hub->was_ours = hub->is_spoilt = false;
        }
        if (hub->yields > 0) {
            // There is work, but this iteration is for the others: it must neither sleep nor see us.
            hub->yields--;
            hub->is_yielding = true;
            *timeout = 0;
        } else {
            has_work = hub->funcs.prepare(hub->loop, hub->is_waiting, hub->is_stale || hub->is_unsure, &watched) || hub->has_woken;
        }
    }
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        hub->records[i].revents = 0;
        hub->records[i].events = watched & (1u << i) ? G_IO_IN : 0;
    }
    return has_work;
}

static gboolean hub_check(GSource *source)
{
    Hub *hub = (Hub *)source;
    unsigned found = 0;
    hub->saw_check = true;
    if (hub_is_silent(hub) || hub->is_yielding)
        return FALSE;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        if (hub->records[i].events != 0 && hub->records[i].revents != 0)
            found |= 1u << i;
    return hub->funcs.check(hub->loop, hub->is_waiting, hub->is_waiting && hub->has_slept, found);
}

bool cgrun_hub_steps_back(const GSource *source)
{
    const Hub *hub = (const Hub *)source;
    return hub_is_silent(hub) || hub->is_yielding;
}

void cgrun_hub_serve(GSource *source)
{
    Hub *hub = (Hub *)source;
    // READY may be left over, from before it began to yield.
    if (cgrun_hub_steps_back(source) || hub->yields > 0)
        return;
    hub->funcs.dispatch(hub->loop);
    hub->was_ours = true;
}

static gboolean hub_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    cgrun_hub_serve(source);
    return G_SOURCE_CONTINUE;
}

static void hub_finalize(GSource *source)
{
    Hub *hub = (Hub *)source;
    if (hub->loop != NULL)
        hub->funcs.release(hub->loop);
}

static GSourceFuncs hub_functions = {
    .prepare = hub_prepare,
    .check = hub_check,
    .dispatch = hub_dispatch,
    .finalize = hub_finalize,
};

GSource *cgrun_hub_new(const cgrun_hub_funcs *funcs, void *loop, bool is_main)
{
    GSource *source = g_source_new(&hub_functions, sizeof(Hub));
    Hub *hub = (Hub *)source;
    // g_source_new() has cleared the rest.
    hub->funcs = *funcs;
    hub->loop = loop;
    hub->thread = pthread_self();
    hub->is_main = is_main;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        hub->records[i] = (GPollFD){.fd = -1, .events = 0, .revents = 0};
    g_source_set_name(source, "GRunLoop");
    // Without this a nested loop would never serve us, and GLib would remove and add our poll records around every dispatch.
    g_source_set_can_recurse(source, TRUE);
    return source;
}

void cgrun_hub_close(GSource *source)
{
    cgrun_hub_set_sentinels(source, false);
    g_source_destroy(source);
}

// GLib's own G_SOURCE_READY, which has no public name: the first of the flags that GHook leaves to its users.
enum { READY = 1 << G_HOOK_FLAG_USER_SHIFT };

void cgrun_hub_set_dormant(GSource *source, bool dormant)
{
    ((Hub *)source)->dormant = dormant;
    // READY survives passes: a g_main_context_pending(), or a source of a higher priority that became ready in the same check and now runs
    // our loop, leaves it behind. GLib would ask neither prepare nor check then, and report the context as ready for our sake.
    if (dormant && (g_atomic_int_get((gint *)&source->flags) & READY))
        g_atomic_int_and(&source->flags, ~(guint)READY);
}

void cgrun_hub_yield(GSource *source, unsigned iterations)
{
    ((Hub *)source)->yields = iterations;
}

// MARK: The sentinels
//
// One comes before every other source of the context and never becomes ready; one comes after every other and becomes ready when nothing
// else is. GLib checks the last one only in an iteration that found nothing else to do. So in the next prepare():
//   the first was checked, the last was not -> something was dispatched, ours or foreign
//   neither was checked                     -> GLib left the check out
//   both were checked                       -> there was nothing to do

static gboolean first_prepare(GSource *source, gint *timeout)
{
    Hub *hub = ((Sentinel *)source)->hub;
    *timeout = -1;
    if (hub_is_silent(hub))
        return FALSE;
    bool was_foreign = hub->first_checked && !hub->last_checked && !hub->was_ours;
    // A nested loop began or ended: a callback is on the stack that was not there before, or has returned.
    if (was_foreign || hub->depth != g_main_depth()) {
        // g_main_context_pending() dispatches nothing, and is not to be taken for somebody's work each time that it is called.
        if (was_foreign && hub->last_is_ready && !hub->is_waiting)
            hub->is_unsure = true;
        else
            hub->is_stale = true;
        hub->has_woken = hub->is_waiting;
    }
    hub->depth = g_main_depth();
    // Our own dispatches do not count, or while (g_main_context_iteration (NULL, FALSE)); would never end.
    hub->first_checked = hub->last_checked = hub->was_ours = hub->has_slept = hub->is_spoilt = false;
    hub->prepared = g_source_get_time(source);
    return FALSE;
}

// GLib reads the clock again after a poll that was allowed to sleep; one that found something at once took less.
enum { SLEEP_MICROSECONDS = 20 };

static gboolean first_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (hub_is_silent(hub))
        return FALSE;
    hub->first_checked = true;
    hub->has_slept = !hub->is_spoilt && g_source_get_time(source) - hub->prepared >= SLEEP_MICROSECONDS;
    return FALSE;
}

static gboolean first_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)source;
    (void)callback;
    (void)data;
    return G_SOURCE_CONTINUE;
}

static bool wants_to_wait(const Hub *hub)
{
    return !hub_is_silent(hub) && !hub->is_waiting && !hub->is_yielding;
}

static gboolean last_prepare(GSource *source, gint *timeout)
{
    Hub *hub = ((Sentinel *)source)->hub;
    *timeout = -1;
    return hub->last_is_ready = wants_to_wait(hub);
}

static gboolean last_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (!hub_is_silent(hub))
        hub->last_checked = true;
    return hub->last_is_ready = wants_to_wait(hub);
}

static gboolean last_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    Hub *hub = ((Sentinel *)source)->hub;
    hub->last_is_ready = false;
    // READY may be left over, from an iteration that then found something else to do.
    if (!wants_to_wait(hub) || hub->yields > 0)
        return G_SOURCE_CONTINUE;
    bool is_fresh = !hub->is_stale && (!hub->is_unsure || hub->was_unsure);
    hub->was_unsure = !is_fresh && !hub->is_stale;
    hub->funcs.idle(hub->loop, is_fresh);
    hub->was_ours = true;
    return G_SOURCE_CONTINUE;
}

static void sentinel_finalize(GSource *source)
{
    g_source_unref(&((Sentinel *)source)->hub->source);
}

static GSourceFuncs first_functions = {
    .prepare = first_prepare,
    .check = first_check,
    .dispatch = first_dispatch,
    .finalize = sentinel_finalize,
};

static GSourceFuncs last_functions = {
    .prepare = last_prepare,
    .check = last_check,
    .dispatch = last_dispatch,
    .finalize = sentinel_finalize,
};

static GSource *sentinel_new(Hub *hub, GSourceFuncs *functions, int priority, const char *name)
{
    GSource *source = g_source_new(functions, sizeof(Sentinel));
    ((Sentinel *)source)->hub = (Hub *)g_source_ref(&hub->source);
    g_source_set_name(source, name);
    g_source_set_priority(source, priority);
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, g_source_get_context(&hub->source));
    return source;
}

static void sentinel_destroy(GSource **sentinel)
{
    g_source_destroy(*sentinel);
    g_clear_pointer(sentinel, g_source_unref);
}

void cgrun_hub_set_sentinels(GSource *source, bool wanted)
{
    Hub *hub = (Hub *)source;
    if (wanted == (hub->first != NULL))
        return;
    if (wanted) {
        hub->first_checked = hub->last_checked = hub->has_slept = hub->has_woken = hub->last_is_ready = false;
        hub->depth = g_main_depth();
        hub->first = sentinel_new(hub, &first_functions, G_MININT, "GRunLoop first");
        hub->last = sentinel_new(hub, &last_functions, G_MAXINT, "GRunLoop last");
    } else {
        sentinel_destroy(&hub->first);
        sentinel_destroy(&hub->last);
        hub->is_waiting = hub->has_woken = false;
    }
}

bool cgrun_hub_has_sentinels(GSource *source)
{
    return ((Hub *)source)->first != NULL;
}

void cgrun_hub_set_waiting(GSource *source, bool waiting)
{
    Hub *hub = (Hub *)source;
    hub->is_waiting = waiting;
    hub->has_slept = hub->has_woken = false;
    // What was dispatched before afterWaiting came before this pass's head as well.
    if (!waiting)
        hub->is_stale = true;
}

void cgrun_hub_note_rearmed(GSource *source)
{
    Hub *hub = (Hub *)source;
    // The sentinels see by themselves that nothing was dispatched, or that something was nevertheless.
    if (hub->first == NULL)
        hub->was_ours = true;
}

bool cgrun_hub_is_waiting(GSource *source)
{
    return ((Hub *)source)->is_waiting;
}

void cgrun_hub_note_head(GSource *source)
{
    Hub *hub = (Hub *)source;
    hub->is_stale = hub->is_unsure = false;
}

// MARK: The canary, and the records

void cgrun_hub_clear_canary(GSource *source)
{
    ((Hub *)source)->saw_check = false;
}

bool cgrun_hub_saw_check(GSource *source)
{
    return ((Hub *)source)->saw_check;
}

void cgrun_hub_note_records(GSource *source)
{
    ((Hub *)source)->is_spoilt = true;
}

void cgrun_hub_set_record(GSource *source, unsigned slot, int descriptor)
{
    Hub *hub = (Hub *)source;
    GPollFD *record = &hub->records[slot];
    if (record->fd == descriptor)
        return;
    cgrun_hub_note_records(source);
    if (record->fd >= 0)
        g_source_remove_poll(source, record);
    *record = (GPollFD){.fd = descriptor, .events = 0, .revents = 0};
    if (descriptor >= 0)
        g_source_add_poll(source, record);
}
