// SPDX-License-Identifier: Apache-2.0
// Checks the C side of the hub without a run loop, for valgrind: hubs, sentinels, records and carriers, made, used and
// freed in every order. scripts/hosted runs this program.

#define _GNU_SOURCE

#include <cgrun-inspect.h>
#include <cgrun.h>
#include <glib-unix.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

// Replaces the function that the Swift code would define.
void cgrun_make_probe(void *probe) __attribute__((visibility("hidden")));
void cgrun_make_probe(void *probe) { (void)probe; }
void cgrun_finish_check(bool is_own) __attribute__((visibility("hidden")));
void cgrun_finish_check(bool is_own) { (void)is_own; }
void cgrun_note_foundation_run(void) __attribute__((visibility("hidden")));
void cgrun_note_foundation_run(void) {}

/// Stands in for a run loop.
typedef struct {
    GSource *hub;
    unsigned prepared, checked, dispatched, idle, stale, released;
    bool has_work, may_sleep, was_stale, has_no_head;
    unsigned watched;
    // The record that the next prepare adds. The next check then sees an interrupted poll.
    int record;
    bool is_interrupted;
    void (*body)(void *loop);
} Loop;

static bool prepare(void *data, bool is_stale, unsigned *watched)
{
    (void)is_stale;
    Loop *loop = data;
    loop->prepared++;
    loop->was_stale = is_stale;
    *watched = loop->watched;
    if (loop->record >= 0) {
        cgrun_hub_set_record(loop->hub, 1, loop->record);
        g_usleep(1000);
        loop->record = -1;
    }
    return loop->has_work || (loop->may_sleep && is_stale);
}

static bool check(void *data, bool has_slept, unsigned found)
{
    Loop *loop = data;
    loop->checked++;
    if (loop->is_interrupted)
        cgrun_hub_note_interrupted(loop->hub);
    return found != 0 || (loop->may_sleep && has_slept) || loop->has_work;
}

static void run_body(Loop *loop)
{
    void (*body)(void *) = loop->body;
    loop->body = NULL;
    if (body != NULL)
        body(loop);
}

static void dispatch(void *data)
{
    Loop *loop = data;
    loop->dispatched++;
    loop->has_work = false;
    if (loop->may_sleep)
        cgrun_hub_note_wait_ended(loop->hub);
    loop->may_sleep = false;
    run_body(loop);
    if (!loop->has_no_head)
        cgrun_hub_note_head(loop->hub);
}

static bool may_sleep(void *data)
{
    return ((Loop *)data)->may_sleep;
}

static void idle(void *data, bool is_stale)
{
    Loop *loop = data;
    loop->idle++;
    loop->stale += is_stale;
    run_body(loop);
    loop->may_sleep = !is_stale;
    if (is_stale)
        cgrun_hub_note_head(loop->hub);
}

static void release(void *data)
{
    ((Loop *)data)->released++;
}

static const cgrun_hub_funcs funcs = {
    .prepare = prepare,
    .check = check,
    .dispatch = dispatch,
    .may_sleep = may_sleep,
    .idle = idle,
    .release = release,
};

static void loop_init(Loop *loop, GMainContext *context)
{
    *loop = (Loop){.has_work = true, .record = -1};
    loop->hub = cgrun_hub_new(&funcs, loop, false);
    g_source_attach(loop->hub, context);
}

static void loop_end(Loop *loop)
{
    cgrun_hub_close(loop->hub);
    // The second close has no effect.
    cgrun_hub_close(loop->hub);
    g_source_unref(loop->hub);
    g_assert_cmpuint(loop->released, ==, 1);
}

static void iterate(GMainContext *context, unsigned count)
{
    while (count-- > 0)
        g_main_context_iteration(context, FALSE);
}

static gboolean once(void *data)
{
    ++*(unsigned *)data;
    return G_SOURCE_REMOVE;
}

static void add_idle(GMainContext *context, GSourceFunc body, void *data)
{
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, body, data, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static gboolean take_long(void *data)
{
    (void)data;
    g_usleep(2000);
    return G_SOURCE_REMOVE;
}

static void nested(void *data)
{
    Loop *loop = data;
    GMainContext *context = g_source_get_context(loop->hub);
    unsigned foreign = 0;
    add_idle(context, once, &foreign);
    loop->has_work = true;
    iterate(context, 10);
    g_assert_cmpuint(foreign, ==, 1);
    cgrun_hub_set_sentinels(loop->hub, false);
    iterate(context, 3);
    cgrun_hub_set_sentinels(loop->hub, true);
}

/// Checks that the hub yields for `iterations` iterations: three, or fewer if they already take the given span.
static void check_yield(Loop *loop, GMainContext *context, gint64 span, unsigned iterations)
{
    cgrun_hub_yield(loop->hub, 3, span);
    loop->has_work = true;
    unsigned before = loop->dispatched;
    iterate(context, iterations);
    g_assert_cmpuint(loop->dispatched, ==, before);
    iterate(context, 1);
    g_assert_cmpuint(loop->dispatched, ==, before + 1);
}

static void closing(void *data)
{
    Loop *loop = data;
    cgrun_hub_close(loop->hub);
}

/// Records, sentinels, yields, nesting, and the hub's end in its own dispatch.
static void check_hub(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    for (int round = 0; round < 4; round++) {
        GMainContext *context = g_main_context_new();
        Loop loop;
        loop_init(&loop, context);
        cgrun_hub_set_sentinels(loop.hub, round % 2 == 0);
        cgrun_hub_set_record(loop.hub, 0, ends[0]);
        loop.watched = 1;
        iterate(context, 5);
        g_assert_cmpuint(loop.dispatched, >, 0);
        g_assert_cmpint(write(ends[1], "x", 1), ==, 1);
        unsigned before = loop.dispatched;
        iterate(context, 5);
        g_assert_cmpuint(loop.dispatched, >, before);
        char byte;
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        loop.body = nested;
        loop.has_work = true;
        iterate(context, 5);
        check_yield(&loop, context, G_USEC_PER_SEC, 3);
        add_idle(context, take_long, NULL);
        check_yield(&loop, context, 1000, 1);
        before = loop.dispatched;
        cgrun_hub_set_dormant(loop.hub, true);
        loop.has_work = true;
        iterate(context, 3);
        g_assert_cmpuint(loop.dispatched, ==, before);
        cgrun_hub_set_dormant(loop.hub, false);
        cgrun_hub_set_record(loop.hub, 0, -1);
        loop.watched = 0;
        if (round == 2)
            loop.body = closing;
        loop.has_work = true;
        iterate(context, 3);
        // The host releases its context before or after the loop ends.
        if (round == 3)
            g_main_context_unref(context);
        loop_end(&loop);
        if (round != 3)
            g_main_context_unref(context);
    }
    close(ends[0]);
    close(ends[1]);
}

static gint is_owned;

static void *own_for_a_while(void *data)
{
    g_assert_true(g_main_context_acquire(data));
    g_atomic_int_set(&is_owned, 1);
    g_usleep(20000);
    g_main_context_release(data);
    return NULL;
}

/// Further contexts: with descriptors, timeouts and idle sources, owned by another thread for a while, freed before
/// their carrier.
static void check_carrier(void)
{
    GMainContext *home = g_main_context_new(), *further = g_main_context_new();
    Loop loop, canary;
    loop_init(&loop, home);
    loop.has_work = false;
    loop_init(&canary, further);
    canary.has_work = false;
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    GSource *carrier = cgrun_carrier_new(loop.hub, further, canary.hub);
    unsigned foreign = 0;
    for (int i = 0; i < 20; i++) {
        add_idle(further, once, &foreign);
        iterate(home, 2);
        g_assert_cmpuint(loop.dispatched, >, 0);
        iterate(further, 2);
    }
    g_assert_cmpuint(foreign, ==, 20);
    // More records than the carrier's first array holds.
    static GPollFD records[20];
    for (int i = 0; i < 20; i++) {
        records[i] = (GPollFD){.fd = dup(ends[0]), .events = G_IO_IN};
        g_main_context_add_poll(further, &records[i], 0);
        iterate(home, 2);
    }
    for (int i = 0; i < 20; i++) {
        g_main_context_remove_poll(further, &records[i]);
        close(records[i].fd);
        iterate(home, 1);
    }
    GSource *timeout = g_timeout_source_new(1);
    g_source_set_callback(timeout, once, &foreign, NULL);
    g_source_attach(timeout, further);
    unsigned before = loop.dispatched;
    while (loop.dispatched == before)
        g_main_context_iteration(home, TRUE);
    g_source_destroy(timeout);
    g_source_unref(timeout);
    g_assert_true(cgrun_carrier_owns_context(carrier));
    cgrun_carrier_close(carrier);
    g_source_unref(carrier);

    GThread *thread = g_thread_new("owner", own_for_a_while, further);
    while (!g_atomic_int_get(&is_owned))
        g_usleep(100);
    carrier = cgrun_carrier_new(loop.hub, further, canary.hub);
    iterate(home, 3);
    g_thread_join(thread);
    iterate(home, 3);
    g_assert_true(cgrun_carrier_owns_context(carrier));
    // The carrier keeps the hub that it observes, although its owner closes and releases the hub.
    cgrun_hub_close(canary.hub);
    g_source_unref(canary.hub);
    g_main_context_unref(further);
    iterate(home, 3);
    g_assert_cmpuint(canary.released, ==, 0);
    cgrun_carrier_close(carrier);
    g_source_unref(carrier);
    g_assert_cmpuint(canary.released, ==, 1);
    loop_end(&loop);
    g_main_context_unref(home);
    close(ends[0]);
    close(ends[1]);
}

static gboolean once_readable(gint descriptor, GIOCondition condition, void *data)
{
    (void)descriptor;
    (void)condition;
    return once(data);
}

/// Foreign work is what the host dispatches, and it ends a wait. g_main_context_pending() dispatches nothing, so
/// repeated calls change nothing.
static void check_pending(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_cmpint(write(ends[1], "x", 1), ==, 1);
    GMainContext *context = g_main_context_new();
    Loop loop;
    loop_init(&loop, context);
    cgrun_hub_set_sentinels(loop.hub, true);
    // An interrupted poll may find foreign work as well.
    loop.is_interrupted = true;
    unsigned foreign = 0;
    for (int round = 0; round < 4; round++) {
        loop.has_work = true;
        iterate(context, 1);
        g_assert_false(loop.may_sleep);
        unsigned stale = loop.stale;
        for (int i = 0; i < round; i++)
            g_assert_true(g_main_context_pending(context));
        // Only the poll finds this source. Until the check, the last sentinel is ready as well.
        GSource *source = g_unix_fd_source_new(ends[0], G_IO_IN);
        g_source_set_callback(source, (GSourceFunc)(void (*)(void))once_readable, &foreign, NULL);
        if (round % 2 == 1)
            g_source_attach(source, context);
        iterate(context, 1);
        g_assert_cmpuint(foreign, ==, (round + 1) / 2);
        iterate(context, round % 2 * 2);
        g_assert_cmpuint(loop.stale, ==, stale + round % 2);
        g_assert_true(loop.may_sleep);
        unsigned before = loop.dispatched;
        add_idle(context, once, &(unsigned){0});
        iterate(context, 2);
        g_assert_cmpuint(loop.dispatched, ==, before + 1);
        g_source_unref(source);
    }
    loop_end(&loop);
    g_main_context_unref(context);
    close(ends[0]);
    close(ends[1]);
}

static void iterate_once(void *data)
{
    iterate(g_source_get_context(((Loop *)data)->hub), 1);
}

/// A host callback with a nested loop, in which the hub runs the head of a pass.
static gboolean iterate_with_work(void *data)
{
    ((Loop *)data)->has_work = true;
    iterate_once(data);
    return FALSE;
}

/// A wait after a nested loop has ended, after a record was added, and after the hub interrupted the poll itself.
static void check_wait(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    GMainContext *context = g_main_context_new();
    Loop loop;
    loop_init(&loop, context);
    loop.is_interrupted = true;
    iterate(context, 3);
    g_assert_false(loop.was_stale);
    loop.is_interrupted = false;
    iterate(context, 2);
    g_assert_true(loop.was_stale);
    loop.has_work = true;
    iterate(context, 2);
    g_assert_false(loop.was_stale);

    cgrun_hub_set_sentinels(loop.hub, true);
    iterate(context, 2);
    g_assert_true(loop.may_sleep);
    loop.record = ends[0];
    g_main_context_iteration(context, TRUE);
    g_assert_true(loop.may_sleep);
    unsigned before = loop.dispatched;
    loop.has_work = true;
    iterate(context, 1);
    unsigned stale = loop.stale;
    // A nested loop in a callback of the hub is part of the callback. In a foreign callback it is foreign work.
    loop.body = iterate_once;
    iterate(context, 2);
    g_assert_null(loop.body);
    g_assert_cmpuint(loop.dispatched, ==, before + 1);
    g_assert_cmpuint(loop.stale, ==, stale);
    g_assert_true(loop.may_sleep);
    add_idle(context, iterate_with_work, &loop);
    iterate(context, 2);
    g_assert_cmpuint(loop.dispatched, ==, before + 2);
    g_assert_cmpuint(loop.stale, ==, stale + 1);

    // A dispatch without a head is not foreign work either. The end of a wait asks for a head.
    iterate(context, 2);
    g_assert_true(loop.may_sleep);
    stale = loop.stale;
    loop.has_no_head = loop.has_work = true;
    iterate(context, 2);
    g_assert_cmpuint(loop.stale, ==, stale + 1);
    loop.has_work = true;
    iterate(context, 2);
    g_assert_cmpuint(loop.stale, ==, stale + 1);
    g_assert_true(loop.may_sleep);
    cgrun_hub_set_sentinels(loop.hub, false);
    iterate(context, 1);
    g_assert_true(loop.was_stale);
    loop_end(&loop);
    g_main_context_unref(context);
    close(ends[0]);
    close(ends[1]);
}

static void *iterate_elsewhere(void *data)
{
    iterate(data, 5);
    return NULL;
}

/// On another thread the hub and its sentinels do nothing.
static void check_silence(void)
{
    GMainContext *context = g_main_context_new();
    Loop loop;
    loop_init(&loop, context);
    cgrun_hub_set_sentinels(loop.hub, true);
    g_thread_join(g_thread_new("other", iterate_elsewhere, context));
    g_assert_cmpuint(loop.prepared + loop.checked + loop.dispatched + loop.idle, ==, 0);
    iterate(context, 5);
    g_assert_cmpuint(loop.dispatched, >, 0);
    loop_end(&loop);
    g_main_context_unref(context);
}

static void make_known(cgrun_beat *beat)
{
    cgrun_beat_want(beat, CGRUN_BEAT_UNKNOWN);
    cgrun_beat_answer(beat);
}

static void *be_known(void *data)
{
    make_known(data);
    return NULL;
}

static void *ask(void *data)
{
    static cgrun_sample sample;
    return GINT_TO_POINTER(cgrun_sample_take(data, SIGURG, 200000000, &sample));
}

/// A thread reports its stack. A thread that reuses the kernel id of an ended thread does not report in its place.
static void check_asking(void)
{
    cgrun_beat *beat = cgrun_beat_new();
    g_assert_cmpint(cgrun_sample_prepare(SIGURG), ==, 0);
    make_known(beat);
    g_assert_true(GPOINTER_TO_INT(g_thread_join(g_thread_new("asks", ask, beat))));
    g_thread_join(g_thread_new("ends", be_known, beat));
    beat->thread = gettid();
    g_assert_false(GPOINTER_TO_INT(g_thread_join(g_thread_new("asks", ask, beat))));
    cgrun_sample_finish(SIGURG);
    cgrun_beat_unref(beat);
}

int main(void)
{
    check_hub();
    check_pending();
    check_wait();
    check_carrier();
    check_silence();
    check_asking();
    puts("hub-check: hubs, sentinels, records, carriers, samples: passed");
    return 0;
}
