// SPDX-License-Identifier: Apache-2.0
// grun-loop.h, grun-mode.h, grun-context.h, grun-host.h.

#include "check.h"

static gboolean stop(GRunTimer *timer, gpointer loop)
{
    (void)timer;
    grun_loop_stop(loop);
    return G_SOURCE_REMOVE;
}

static GRunTimer *timer_in(GRunLoop *loop, const char *mode, gdouble seconds, GRunTimerFunc func, gpointer data)
{
    GRunTimer *timer = grun_timer_new(seconds, FALSE, func, data, NULL);
    grun_loop_add_timer(loop, timer, mode);
    return timer;
}

static gpointer wake_when_asleep(gpointer data)
{
    GRunLoop *loop = data;
    while (!grun_loop_is_waiting(loop))
        g_thread_yield();
    grun_loop_stop(loop);
    return NULL;
}

void check_loop(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_assert_nonnull(loop);
    g_assert_true(loop == grun_loop_get_current());
    g_assert_true(loop != grun_loop_get_main());
    g_assert_true(grun_loop_ref(loop) == loop);
    grun_loop_unref(loop);
    g_autofree char *text = grun_loop_to_string(loop);
    g_assert_nonnull(strstr(text, "GRunLoop"));

    // The mode is empty.
    g_assert_cmpint(grun_loop_run(loop), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, G_MAXDOUBLE, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpint(grun_loop_run_in_mode_usec(loop, MODE, G_MAXINT64, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_false(grun_loop_run_mode_before_date(loop, MODE, G_MAXINT64));
    g_assert_cmpint(grun_loop_poll_limit_date(loop, MODE), ==, -1);
    grun_loop_run_until_finished(loop);
    grun_loop_run_until_date(loop, G_MAXINT64);

    // A stop ends a run, and does not affect the next run.
    g_autoptr(GRunTimer) first = timer_in(loop, GRUN_MODE_DEFAULT, 0.001, stop, loop);
    g_autoptr(GRunTimer) keeps = grun_timer_new(3600, TRUE, stop, loop, NULL);
    grun_loop_add_timer(loop, keeps, GRUN_MODE_DEFAULT);
    grun_loop_stop(loop);
    g_assert_cmpint(grun_loop_run(loop), ==, GRUN_RESULT_STOPPED);

    // Limits in seconds, in microseconds and as a date.
    gint64 begin = g_get_monotonic_time();
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0.01, FALSE), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 10000);
    g_assert_cmpint(grun_loop_run_in_mode_usec(loop, GRUN_MODE_DEFAULT, 5000, FALSE), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 15000);
    grun_loop_run_until_date(loop, begin + 20000);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 20000);
    g_assert_true(grun_loop_run_mode_before_date(loop, GRUN_MODE_DEFAULT, begin + 25000));
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 25000);
    grun_loop_accept_input(loop, GRUN_MODE_DEFAULT, begin + 30000);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 30000);
    g_assert_cmpint(grun_loop_poll_limit_date(loop, GRUN_MODE_DEFAULT), ==, grun_timer_get_next_fire_date(keeps));

    // The run returns after a source, as requested.
    Count count = count_of(loop);
    g_autoptr(GRunSource) source = grun_source_new(0, count_source, &count, NULL);
    grun_loop_add_source(loop, source, GRUN_MODE_DEFAULT);
    grun_source_signal(source);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpuint(count.calls, ==, 1);
    grun_source_signal(source);
    grun_loop_accept_input(loop, GRUN_MODE_DEFAULT, G_MAXINT64);
    g_assert_cmpuint(count.calls, ==, 2);

    // Another thread sees that the loop sleeps, and wakes it.
    g_assert_false(grun_loop_is_waiting(loop));
    GThread *other = g_thread_new("waker", wake_when_asleep, loop);
    g_assert_cmpint(grun_loop_run(loop), ==, GRUN_RESULT_STOPPED);
    g_thread_join(other);
    g_free(count.mode);

    // This run ignores stop(), and ends when its mode is empty.
    grun_timer_invalidate(keeps);
    grun_source_invalidate(source);
    g_autoptr(GRunTimer) last = timer_in(loop, GRUN_MODE_DEFAULT, 0.001, stop, loop);
    grun_loop_run_until_finished(loop);
    g_assert_false(grun_timer_is_valid(last));
}

static gpointer signal_and_wake(gpointer data)
{
    Count *count = data;
    while (!grun_loop_is_waiting(count->loop))
        g_thread_yield();
    // Without the wake-up the loop would keep sleeping.
    grun_source_signal(count->item);
    grun_loop_wake_up(count->loop);
    return NULL;
}

void check_modes(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    g_assert_null(grun_loop_copy_current_mode(loop));
    g_autoptr(GRunTimer) timer = grun_timer_new(0, FALSE, count_timer, &count, NULL);
    grun_loop_add_timer(loop, timer, MODE);
    g_auto(GStrv) modes = grun_loop_copy_all_modes(loop);
    g_assert_true(g_strv_contains((const char *const *)modes, GRUN_MODE_DEFAULT));
    g_assert_true(g_strv_contains((const char *const *)modes, MODE));
    g_assert_cmpuint(g_strv_length(modes), ==, 2);
    g_assert_cmpint(grun_loop_get_next_timer_fire_date(loop, MODE), ==, grun_timer_get_next_fire_date(timer));
    g_assert_cmpint(grun_loop_get_next_timer_fire_date(loop, GRUN_MODE_DEFAULT), ==, -1);
    pass(loop);
    g_assert_cmpstr(count.mode, ==, MODE);

    // A common item joins a mode that becomes common.
    g_autoptr(GRunSource) source = grun_source_new(0, count_source, &count, NULL);
    grun_loop_add_source(loop, source, GRUN_MODE_COMMON);
    g_assert_false(grun_loop_contains_source(loop, source, MODE));
    g_autoptr(GError) error = NULL;
    g_assert_true(grun_loop_add_common_mode(loop, MODE, &error));
    g_assert_no_error(error);
    g_assert_true(grun_loop_contains_source(loop, source, MODE));

    count.item = source;
    GThread *other = g_thread_new("waker", signal_and_wake, &count);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_thread_join(other);
    g_free(count.mode);
}

static gboolean count_idle(gpointer count)
{
    ((Count *)count)->calls++;
    return G_SOURCE_REMOVE;
}

typedef struct {
    GRunLoop *loop;
    gint is_over;
} Changes;

static gpointer add_and_remove_contexts(gpointer data)
{
    Changes *changes = data;
    while (!g_atomic_int_get(&changes->is_over)) {
        GMainContext *context = g_main_context_new();
        grun_loop_add_context(changes->loop, context, MODE);
        g_main_context_unref(context);
        // The removal releases the last reference, unless a copied list holds one.
        grun_loop_remove_context(changes->loop, context, MODE);
    }
    return NULL;
}

/// A copied list keeps its contexts while another thread removes them from the loop.
static void check_copies_of_contexts(void)
{
    Changes changes = {.loop = grun_loop_get_current()};
    GThread *other = g_thread_new("contexts", add_and_remove_contexts, &changes);
    // Valgrind runs one thread at a time in long slices, so the time is limited as well.
    gint64 end = g_get_monotonic_time() + 2 * G_USEC_PER_SEC;
    for (guint copied = 0; copied < 40000 && g_get_monotonic_time() < end;) {
        g_autoptr(GPtrArray) contexts = grun_loop_copy_contexts(changes.loop, MODE);
        for (guint i = 0; i < contexts->len; i++, copied++)
            g_assert_true(g_main_context_get_poll_func(contexts->pdata[i]) == g_poll);
    }
    g_atomic_int_set(&changes.is_over, TRUE);
    g_thread_join(other);
}

void check_contexts(void)
{
    on_own_thread(check_copies_of_contexts);
    GRunLoop *loop = grun_loop_get_current();
    g_assert_null(grun_loop_get_home_context(loop));
    g_autoptr(GMainContext) context = g_main_context_new();
    Count count = count_of(loop);
    GSource *idle = g_idle_source_new();
    g_source_set_callback(idle, count_idle, &count, NULL);
    g_source_attach(idle, context);
    g_source_unref(idle);

    grun_loop_add_context(loop, context, MODE);
    g_assert_nonnull(grun_loop_get_home_context(loop));
    g_assert_true(grun_loop_contains_context(loop, context, MODE));
    g_assert_false(grun_loop_contains_context(loop, context, GRUN_MODE_DEFAULT));
    g_autoptr(GPtrArray) contexts = grun_loop_copy_contexts(loop, MODE);
    g_assert_true(g_ptr_array_find(contexts, context, NULL));
    // The source is not served in another mode. In its own mode it is served, and counts as a source.
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.calls, ==, 0);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpuint(count.calls, ==, 1);
    grun_loop_remove_context(loop, context, MODE);
    g_assert_false(grun_loop_contains_context(loop, context, MODE));
    g_assert_cmpint(pass(loop), ==, GRUN_RESULT_FINISHED);
    // If the home context is added to a mode, the mode can still be finished.
    GMainContext *home = grun_loop_get_home_context(loop);
    grun_loop_add_context(loop, home, GRUN_MODE_DEFAULT);
    grun_loop_add_context(loop, home, MODE);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
}

void check_tracing(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    g_autoptr(GRunTimer) timer = grun_timer_new(0, FALSE, count_timer, &count, NULL);
    grun_loop_add_timer(loop, timer, MODE);
    grun_loop_start_tracing(loop, 1000);
    pass(loop);
    g_auto(GStrv) lines = grun_loop_stop_tracing(loop);
    g_assert_true(g_strv_contains((const char *const *)lines, "entry"));
    g_assert_true(g_strv_contains((const char *const *)lines, "exit"));
    // After the stop the trace is empty.
    g_auto(GStrv) none = grun_loop_stop_tracing(loop);
    g_assert_cmpuint(g_strv_length(none), ==, 0);
    // The trace holds no more entries than requested.
    g_autoptr(GRunTimer) another = grun_timer_new(0, FALSE, count_timer, &count, NULL);
    grun_loop_add_timer(loop, another, MODE);
    grun_loop_start_tracing(loop, 1);
    pass(loop);
    g_auto(GStrv) one = grun_loop_stop_tracing(loop);
    g_assert_cmpuint(g_strv_length(one), ==, 1);
    g_free(count.mode);
}

// Runs on the main thread, where the host iterates the default context.
static guint iterate(gint64 microseconds)
{
    guint iterations = 0;
    gint64 end = g_get_monotonic_time() + microseconds;
    while (g_get_monotonic_time() < end) {
        g_main_context_iteration(NULL, FALSE);
        iterations++;
    }
    return iterations;
}

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

// Runs a GLib loop before the first wait, so that the run seems to sleep. A timeout with a higher priority than ours
// quits the loop, so afterWaiting does not come.
static gboolean leave_asleep(GRunObserver *observer, GRunActivity activity, gpointer done)
{
    (void)observer;
    (void)activity;
    if (*(gboolean *)done)
        return G_SOURCE_CONTINUE;
    *(gboolean *)done = TRUE;
    g_autoptr(GMainLoop) foreign = g_main_loop_new(NULL, FALSE);
    g_timeout_add_full(-150, 5, quit, foreign, NULL);
    g_main_loop_run(foreign);
    return G_SOURCE_CONTINUE;
}

static gpointer wake_and_stop(gpointer loop)
{
    for (int each = 0; each < 2; each++) {
        // Waits until the loop sleeps, in the first pass and in the second.
        g_usleep(20000);
        while (!grun_loop_is_waiting(loop))
            g_usleep(1000);
        if (each == 0)
            grun_loop_wake_up(loop);
        else
            grun_loop_stop(loop);
    }
    return NULL;
}

// The pass after the nested loop sleeps as usual, and a stop wakes it.
static void check_stop_after_foreign_sleep(GRunLoop *loop)
{
    gboolean done = FALSE;
    Count waits = count_of(loop);
    g_autoptr(GRunObserver) first = grun_observer_new(GRUN_ACTIVITY_BEFORE_WAITING, TRUE, 0, leave_asleep, &done, NULL);
    g_autoptr(GRunObserver) second =
        grun_observer_new(GRUN_ACTIVITY_AFTER_WAITING, TRUE, 1, count_observer, &waits, NULL);
    waits.stays = TRUE;
    grun_loop_add_observer(loop, first, GRUN_MODE_DEFAULT);
    grun_loop_add_observer(loop, second, GRUN_MODE_DEFAULT);
    GThread *other = g_thread_new("stops", wake_and_stop, loop);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 10, FALSE), ==, GRUN_RESULT_STOPPED);
    g_thread_join(other);
    grun_observer_invalidate(first);
    grun_observer_invalidate(second);
    g_free(waits.mode);
}

void check_host(void)
{
    g_assert_true(grun_serve_main_queue());
    GRunLoop *loop = grun_loop_get_main();
    g_assert_true(loop == grun_loop_get_current());
    g_assert_true(grun_loop_get_home_context(loop) == g_main_context_default());
    g_assert_cmpfloat_with_epsilon(grun_loop_get_time_slice(loop), 0.004, 1e-9);
    grun_loop_set_time_slice(loop, 0.002);
    g_assert_cmpfloat_with_epsilon(grun_loop_get_time_slice(loop), 0.002, 1e-9);

    Count background = count_of(loop), common = count_of(loop);
    g_autoptr(GRunTimer) first = grun_timer_new(0.001, TRUE, count_timer, &background, NULL);
    g_autoptr(GRunTimer) second = grun_timer_new(0.001, TRUE, count_timer, &common, NULL);
    grun_loop_add_timer(loop, first, GRUN_MODE_DEFAULT);
    grun_loop_add_timer(loop, second, GRUN_MODE_COMMON);
    iterate(20000);
    g_assert_cmpuint(background.calls, >, 0);
    g_assert_cmpstr(background.mode, ==, GRUN_MODE_DEFAULT);

    guint tracking = grun_loop_push_ambient_mode(loop, GRUN_MODE_TRACKING, NULL);
    g_assert_cmpuint(tracking, !=, 0);
    g_autofree char *pushed = grun_loop_copy_ambient_mode(loop);
    g_assert_cmpstr(pushed, ==, GRUN_MODE_TRACKING);
    guint before = background.calls;
    common.calls = 0;
    iterate(20000);
    g_assert_cmpuint(background.calls, ==, before);
    g_assert_cmpuint(common.calls, >, 0);
    g_assert_cmpstr(common.mode, ==, GRUN_MODE_TRACKING);
    grun_loop_pop_ambient_mode(loop, tracking);
    g_autofree char *popped = grun_loop_copy_ambient_mode(loop);
    g_assert_cmpstr(popped, ==, GRUN_MODE_DEFAULT);

    // A detached loop serves nothing. After it is attached again, it serves everything.
    grun_loop_detach(loop);
    background.calls = common.calls = 0;
    iterate(20000);
    g_assert_cmpuint(background.calls + common.calls, ==, 0);
    // attach() removes the home context from the further contexts, because a context cannot be carried into itself.
    GMainContext *home = g_main_context_default();
    grun_loop_add_context(loop, home, GRUN_MODE_DEFAULT);
    grun_loop_attach(loop);
    g_assert_true(grun_loop_get_home_context(loop) == home);
    g_assert_false(grun_loop_contains_context(loop, home, GRUN_MODE_DEFAULT));
    iterate(20000);
    g_assert_cmpuint(background.calls, >, 0);

    grun_timer_invalidate(first);
    grun_timer_invalidate(second);
    check_stop_after_foreign_sleep(loop);
    g_free(background.mode);
    g_free(common.mode);
}
