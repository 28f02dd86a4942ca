// SPDX-License-Identifier: Apache-2.0
// What by contract must not be called with just anything: functions that wait, for a time without end or for each
// other, and those that make threads. generate.py says which function has which rule, and why.
#include "rules.h"

// A run of one's own is stopped after some milliseconds.
bool rule_run(Call *call)
{
    if (thread_owns(call->values[0].p))
        call->wait = keeper_begin(WAIT_RUN, call->values[0].p, 0, random_below(4));
    return true;
}

bool rule_run_until_date(Call *call)
{
    GRunLoop *loop = call->values[0].p;
    if (thread_owns(loop)) {
        // Where the clock ends, which virtual time may be near, a date is none.
        gint64 now = grun_loop_get_time(loop), limit = now > G_MAXINT64 / 2000 ? 0 : now + random_below(3000);
        call->values[1].i = MIN(call->values[1].i, limit);
        call->wait = keeper_begin(WAIT_RUN, loop, 0, random_below(4));
    }
    return true;
}

static gboolean on_timer(GRunTimer *timer, gpointer count)
{
    (void)timer;
    return ++*(int *)count < 3;
}

static void on_call(gpointer count) { ++*(int *)count; }

static gpointer run_until_finished(gpointer unused)
{
    (void)unused;
    GRunLoop *loop = grun_loop_get_current();
    int timers = 0, calls = 0;
    GRunTimer *timer = grun_timer_new(0.0005, TRUE, on_timer, &timers, NULL);
    grun_loop_add_timer(loop, timer, GRUN_MODE_COMMON);
    grun_loop_perform_on_thread(loop, GRUN_MODE_DEFAULT, on_call, &calls, NULL, NULL);
    grun_loop_perform_after(loop, 0.0001, GRUN_MODE_DEFAULT, on_call, &calls, NULL);
    grun_loop_stop(loop);
    grun_loop_run_until_finished(loop);
    if (timers != 3 || calls != 2)
        fuzz_fail("grun_loop_run_until_finished has returned after %d fires of 3 and %d performs of 2", timers, calls);
    grun_timer_unref(timer);
    return NULL;
}

// Where others can add something it may never be finished: on one's own loop it is run on a thread that nobody else
// knows.
bool rule_run_until_finished(Call *call)
{
    if (!thread_owns(call->values[0].p))
        return true;
    unsigned entry = record_begin(call);
    g_thread_join(g_thread_new("finished", run_until_finished, NULL));
    record_end(entry);
    atomic_fetch_add(&record->reached[call->function - fuzz_functions], 1);
    return false;
}

bool rule_virtual_time(Call *call)
{
    (void)call;
    Thread *self = thread_self();
    // The loop that it is outside is known from here on.
    thread_owns(NULL);
    return self->virtual_count < MAX_DEPTH;
}

// Whether what waits for the loop's thread is let go in the end. The library's threads are ended; they wait for nobody.
// Of the round's own each waits only for later ones, which are told to end. Where nobody knows who drives a loop,
// nobody waits for it.
bool rule_wait_for_loop(Call *call)
{
    GRunLoop *loop = call->values[0].p;
    Thread *self = thread_self();
    if (loop == NULL || thread_owns(loop))
        return true;
    int index = 0;
    switch (owners_find(loop, &index)) {
    case OWNER_LIBRARY:
        if (self->index < 0)
            return false;
        call->wait = keeper_begin(WAIT_RUN, loop, 0, 1 + random_below(4));
        return true;
    case OWNER_ROUND:
        if (self->index < 0 || index <= self->index)
            return false;
        call->wait = keeper_begin(WAIT_ROUND_THREAD, loop, index, 30);
        return true;
    default:
        return false;
    }
}

// So many a round, and none where all calls are to be one thread's.
bool rule_new_thread(Call *call)
{
    if (atomic_fetch_sub(&threads_left, 1) <= 0)
        call->values[0].p = NULL;
    return true;
}

bool rule_join(Call *call)
{
    GRunThread *thread = call->values[0].p;
    if (thread == NULL || thread_owns(grun_thread_get_loop(thread)))
        return true;
    if (thread_self()->index < 0)
        return false;
    call->wait = keeper_begin(WAIT_THREAD, thread, 0, 1 + random_below(4));
    return true;
}

// Where there is no room and nobody makes any, until the date.
bool rule_send_before(Call *call)
{
    call->values[2].i = MIN(call->values[2].i, g_get_monotonic_time() + random_below(3000));
    return true;
}

bool rule_carry_port(Call *call)
{
    if (call->values[0].p != NULL && call->values[1].p != NULL)
        ports_carry(call->values[1].p);
    return true;
}

// Some milliseconds, and less than none. What is no number stays what it is. Where the clock ends, which virtual time
// may be near, a limit is none.
bool rule_request(Call *call)
{
    if (grun_loop_get_time(grun_loop_get_current()) > G_MAXINT64 / 2000)
        return false;
    for (unsigned index = 0; index < call->function->count; index++)
        if (call->function->arguments[index].type == ARGUMENT_SECONDS && call->values[index].d > 0.003)
            call->values[index].d = random_below(3000) / 1e6;
    return true;
}

void check_performed_once(Call *call)
{
    if (call->criticals > 0 || call->datum == NULL)
        return;
    unsigned expected = call->result.i != 0;
    if (data_calls(call->datum) != expected)
        fuzz_fail("%s returns %d, and has called its function %u times", call->function->name, (int)call->result.i,
            data_calls(call->datum));
}

void check_sent(Call *call) { messages_settle(call->values[1].p, call->result.i == GRUN_SEND_RESULT_ENQUEUED); }

void check_bytes(Call *call)
{
    if (call->result.p != NULL)
        bytes_check(call->result.p);
}

void check_fds(Call *call)
{
    const gint *count = call->values[1].p;
    if (count != NULL && (*count == 0) != (call->result.p == NULL))
        fuzz_fail("%s returns %s and says that there are %d", call->function->name,
            call->result.p == NULL ? "nothing" : "something", *count);
}
