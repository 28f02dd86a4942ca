// SPDX-License-Identifier: Apache-2.0
// Rules for calls that may not get arbitrary arguments by contract: calls that may wait forever or for each other, and
// calls that start threads. generate.py lists each function's rule and reason.
#include "rules.h"

// The keeper stops a run of the calling thread's loop after some milliseconds.
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
        // Near the end of the clock, which virtual time may reach, a date has no meaning. The run gets 0 then.
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

// Other threads may add items, so the loop may never be finished. If the loop belongs to the caller, a loop that no
// other thread knows runs instead.
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
    // Notes the thread's outer loop before virtual time hides it.
    thread_owns(NULL);
    return self->virtual_count < MAX_DEPTH;
}

// Returns whether the loop's thread serves this call in the end. The keeper ends the library's threads, which wait for
// no thread. A round's thread may wait only for later ones, which the keeper ends. Loops with an unknown driver are
// refused.
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

// Limits the threads of a round. If one thread must make all calls, no thread is started.
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

// Without room, the call waits until the date.
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

// Limits the time to some milliseconds. Negative times and NaN stay. Near the end of the clock, which virtual time may
// reach, no limit works, so the call is skipped.
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
        fuzz_fail("%s returns %s and the count %d", call->function->name,
            call->result.p == NULL ? "nothing" : "something", *count);
}
