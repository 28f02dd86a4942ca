// SPDX-License-Identifier: Apache-2.0
// grun-source.h, grun-fd-source.h, grun-timer.h, grun-observer.h, grun-idle-queue.h, and the release of items' data.

#include "check.h"

#include <fcntl.h>
#include <glib-unix.h>
#include <unistd.h>

// MARK: Sources

typedef struct {
    guint scheduled, cancelled, performed, lets_go;
    GRunSource *source;
    GRunLoop *loop;
} Places;

static void scheduled(GRunSource *source, GRunLoop *loop, const char *mode, gpointer data)
{
    Places *places = data;
    g_assert_true(source == places->source && loop == places->loop);
    g_assert_cmpstr(mode, ==, MODE);
    places->scheduled++;
}

static void cancelled(GRunSource *source, GRunLoop *loop, const char *mode, gpointer data)
{
    Places *places = data;
    g_assert_true(source == places->source && loop == places->loop);
    g_assert_cmpstr(mode, ==, MODE);
    places->cancelled++;
}

static gboolean performed(GRunSource *source, gpointer data)
{
    Places *places = data;
    g_assert_true(source == places->source);
    places->performed++;
    return G_SOURCE_REMOVE;
}

static void forget(gpointer data)
{
    ((Places *)data)->lets_go++;
}

/// A callback that releases the last reference except the loop's.
static gboolean unref_source(GRunSource *source, gpointer data)
{
    grun_source_unref(source);
    ((Count *)data)->calls++;
    return G_SOURCE_REMOVE;
}

void check_source(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    GRunSource *source = grun_source_new(-7, count_source, &count, let_go);
    g_assert_cmpint(grun_source_get_order(source), ==, -7);
    g_assert_true(grun_source_is_valid(source));
    grun_loop_add_source(loop, source, MODE);
    g_assert_true(grun_loop_contains_source(loop, source, MODE));
    g_assert_cmpint(pass(loop), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpuint(count.calls, ==, 0);

    // Two signals cause one call.
    grun_source_signal(source);
    grun_source_signal(source);
    g_assert_true(grun_source_is_signalled(source));
    pass(loop);
    g_assert_false(grun_source_is_signalled(source));
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_true(count.item == source);
    g_assert_cmpstr(count.mode, ==, MODE);
    g_autofree char *text = grun_source_to_string(source);
    g_assert_nonnull(strstr(text, "order = -7"));

    grun_loop_remove_source(loop, source, MODE);
    g_assert_false(grun_loop_contains_source(loop, source, MODE));
    // Item 98: the data stay until the source is freed, even if the source is invalidated before.
    grun_source_invalidate(source);
    g_assert_false(grun_source_is_valid(source));
    g_assert_cmpuint(count.lets_go, ==, 0);
    g_assert_true(grun_source_ref(source) == source);
    grun_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 0);
    grun_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_free(count.mode);

    Places places = {.loop = loop};
    places.source = grun_source_new_full(0, scheduled, cancelled, performed, &places, forget);
    grun_loop_add_source(loop, places.source, MODE);
    g_assert_cmpuint(places.scheduled, ==, 1);
    grun_source_signal(places.source);
    // After G_SOURCE_REMOVE the source is invalid and cancelled, and the mode is empty.
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(places.performed, ==, 1);
    g_assert_cmpuint(places.cancelled, ==, 1);
    g_assert_false(grun_source_is_valid(places.source));
    grun_source_unref(places.source);
    g_assert_cmpuint(places.lets_go, ==, 1);

    Count last = count_of(loop);
    GRunSource *loose = grun_source_new(0, unref_source, &last, let_go);
    grun_loop_add_source(loop, loose, MODE);
    grun_source_signal(loose);
    pass(loop);
    g_assert_cmpuint(last.calls, ==, 1);
    g_assert_cmpuint(last.lets_go, ==, 1);
}

// MARK: Descriptor sources

static gboolean unref_fd(GRunFdSource *source, GIOCondition condition, gpointer data)
{
    (void)condition;
    grun_fd_source_unref(source);
    ((Count *)data)->calls++;
    return G_SOURCE_REMOVE;
}

void check_fd_source(void)
{
    GRunLoop *loop = grun_loop_get_current();
    int ends[2];
    g_assert_true(g_unix_open_pipe(ends, FD_CLOEXEC, NULL));
    Count count = count_of(loop);
    GRunFdSource *source = grun_fd_source_new(ends[0], G_IO_IN, count_fd, &count, let_go);
    g_assert_cmpint(grun_fd_source_get_fd(source), ==, ends[0]);
    g_assert_cmpint(grun_fd_source_get_condition(source), ==, G_IO_IN);
    g_assert_true(grun_fd_source_is_valid(source));
    g_autofree char *text = grun_fd_source_to_string(source);
    g_assert_nonnull(strstr(text, "readable"));

    g_autoptr(GError) error = NULL;
    g_assert_true(grun_loop_add_fd_source(loop, source, MODE, &error));
    g_assert_no_error(error);
    g_assert_true(grun_loop_contains_fd_source(loop, source, MODE));
    g_assert_cmpint(pass(loop), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpuint(count.calls, ==, 0);
    g_assert_cmpint(write(ends[1], "x", 1), ==, 1);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    // The source is level-triggered and nothing has read the data, so it is ready again.
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpuint(count.calls, ==, 2);
    g_assert_true(count.item == source);
    g_assert_cmpint(count.found, ==, G_IO_IN);
    close(ends[1]);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpint(count.found, ==, G_IO_IN | G_IO_HUP);

    grun_fd_source_set_condition(source, G_IO_PRI | G_IO_NVAL);
    g_assert_cmpint(grun_fd_source_get_condition(source), ==, G_IO_PRI);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpint(count.found, ==, G_IO_HUP);
    grun_fd_source_set_condition(source, 0);
    g_assert_cmpint(grun_fd_source_get_condition(source), ==, 0);

    grun_loop_remove_fd_source(loop, source, MODE);
    g_assert_false(grun_loop_contains_fd_source(loop, source, MODE));
    g_assert_true(grun_loop_add_fd_source(loop, source, MODE, NULL));
    grun_fd_source_invalidate(source);
    g_assert_false(grun_fd_source_is_valid(source));
    // Adding an invalid source has no effect and is not an error.
    g_assert_false(grun_loop_add_fd_source(loop, source, MODE, &error));
    g_assert_no_error(error);
    g_assert_false(grun_loop_contains_fd_source(loop, source, MODE));
    g_assert_true(grun_fd_source_ref(source) == source);
    grun_fd_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 0);
    grun_fd_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_free(count.mode);

    // The callback releases the last reference.
    Count last = count_of(loop);
    GRunFdSource *loose = grun_fd_source_new(ends[0], G_IO_IN, unref_fd, &last, let_go);
    g_assert_true(grun_loop_add_fd_source(loop, loose, MODE, NULL));
    pass(loop);
    g_assert_cmpuint(last.calls, ==, 1);
    g_assert_cmpuint(last.lets_go, ==, 1);
    close(ends[0]);

    // A descriptor that the kernel cannot watch causes an error with the reason.
    Count none = count_of(loop);
    g_autoptr(GRunFdSource) closed = grun_fd_source_new(ends[0], G_IO_IN, count_fd, &none, NULL);
    g_assert_false(grun_loop_add_fd_source(loop, closed, MODE, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_BAD_DESCRIPTOR);
    g_assert_false(grun_loop_add_fd_source(loop, closed, MODE, NULL));
    g_clear_error(&error);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    g_autoptr(GRunFdSource) regular = grun_fd_source_new(file, G_IO_IN, count_fd, &none, NULL);
    g_assert_false(grun_loop_add_fd_source(loop, regular, MODE, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NOT_POLLABLE);
    g_assert_false(grun_loop_contains_fd_source(loop, regular, MODE));
    close(file);
}

// MARK: Timers

static gboolean unref_timer(GRunTimer *timer, gpointer data)
{
    grun_timer_invalidate(timer);
    grun_timer_unref(timer);
    // Item 138: the timer's data stay while its function runs.
    g_assert_cmpuint(((Count *)data)->lets_go, ==, 0);
    ((Count *)data)->calls++;
    return G_SOURCE_CONTINUE;
}

void check_timer(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    GRunTimer *timer = grun_timer_new(0.002, TRUE, count_timer, &count, let_go);
    g_assert_true(grun_timer_does_repeat(timer));
    g_assert_cmpfloat_with_epsilon(grun_timer_get_interval(timer), 0.002, 1e-9);
    g_assert_true(grun_timer_is_valid(timer));
    grun_loop_add_timer(loop, timer, MODE);
    g_assert_true(grun_loop_contains_timer(loop, timer, MODE));
    gint64 date = grun_timer_get_next_fire_date(timer);
    g_assert_cmpint(date, >, g_get_monotonic_time() - 10000000);
    while (count.calls < 3)
        g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 0.01, FALSE), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpint(g_get_monotonic_time(), >=, date + 4000);
    g_assert_cmpint((grun_timer_get_next_fire_date(timer) - date) % 2000, ==, 0);
    g_assert_true(count.item == timer);

    // The tolerance is limited to half the interval.
    g_assert_cmpfloat(grun_timer_get_tolerance(timer), ==, 0);
    grun_timer_set_tolerance(timer, 1);
    g_assert_cmpfloat_with_epsilon(grun_timer_get_tolerance(timer), 0.001, 1e-9);

    // The timer is due in an hour, and fires earlier only on request.
    gint64 far = g_get_monotonic_time() + G_TIME_SPAN_HOUR;
    grun_timer_set_next_fire_date(timer, far);
    g_assert_cmpint(grun_timer_get_next_fire_date(timer), ==, far);
    g_assert_cmpint(grun_loop_get_next_timer_fire_date(loop, MODE), ==, far);
    guint before = count.calls;
    pass(loop);
    g_assert_cmpuint(count.calls, ==, before);
    grun_timer_fire(timer);
    g_assert_cmpuint(count.calls, ==, before + 1);
    g_autofree char *text = grun_timer_to_string(timer);
    g_assert_nonnull(strstr(text, "GRunLoop.Timer"));

    grun_loop_remove_timer(loop, timer, MODE);
    g_assert_false(grun_loop_contains_timer(loop, timer, MODE));
    // Item 138: an invalidated timer releases its data immediately.
    g_assert_cmpuint(count.lets_go, ==, 0);
    grun_timer_invalidate(timer);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_assert_false(grun_timer_is_valid(timer));
    g_assert_cmpint(grun_timer_get_next_fire_date(timer), ==, -1);
    grun_timer_fire(timer);
    g_assert_cmpuint(count.calls, ==, before + 1);
    g_assert_true(grun_timer_ref(timer) == timer);
    grun_timer_unref(timer);
    grun_timer_unref(timer);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_free(count.mode);

    // A timer with a date fires once.
    Count once = count_of(loop);
    gint64 at = g_get_monotonic_time() + 3000;
    g_autoptr(GRunTimer) dated = grun_timer_new_at(at, 0, count_timer, &once, let_go);
    g_assert_false(grun_timer_does_repeat(dated));
    g_assert_cmpfloat(grun_timer_get_interval(dated), ==, 0);
    g_assert_cmpint(grun_timer_get_next_fire_date(dated), ==, at);
    grun_loop_add_timer(loop, dated, MODE);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpint(g_get_monotonic_time(), >=, at);
    g_assert_cmpuint(once.calls, ==, 1);
    g_assert_cmpuint(once.lets_go, ==, 1);
    g_free(once.mode);

    // G_SOURCE_REMOVE ends a repeating timer.
    Count removed = count_of(loop);
    removed.stays = G_SOURCE_REMOVE;
    g_autoptr(GRunTimer) brief = grun_timer_new_at(0, 0.001, count_timer, &removed, let_go);
    grun_loop_add_timer(loop, brief, MODE);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(removed.calls, ==, 1);
    g_assert_cmpuint(removed.lets_go, ==, 1);
    g_free(removed.mode);

    Count last = count_of(loop);
    grun_loop_add_timer(loop, grun_timer_new(0, TRUE, unref_timer, &last, let_go), MODE);
    while (last.calls == 0)
        pass(loop);
    g_assert_cmpuint(last.lets_go, ==, 1);
}

// MARK: Observers

static gboolean unref_observer(GRunObserver *observer, GRunActivity activity, gpointer data)
{
    (void)activity;
    grun_observer_invalidate(observer);
    grun_observer_unref(observer);
    g_assert_cmpuint(((Count *)data)->lets_go, ==, 0);
    ((Count *)data)->calls++;
    return G_SOURCE_CONTINUE;
}

void check_observer(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count none = count_of(loop);
    // The timer keeps the mode from being empty; otherwise there would be no pass.
    g_autoptr(GRunTimer) keeps = grun_timer_new(3600, FALSE, count_timer, &none, NULL);
    grun_loop_add_timer(loop, keeps, MODE);

    Count count = count_of(loop);
    GRunObserver *observer =
        grun_observer_new(GRUN_ACTIVITY_ENTRY | GRUN_ACTIVITY_EXIT, TRUE, 5, count_observer, &count, let_go);
    g_assert_cmpint(grun_observer_get_activities(observer), ==, GRUN_ACTIVITY_ENTRY | GRUN_ACTIVITY_EXIT);
    g_assert_true(grun_observer_does_repeat(observer));
    g_assert_cmpint(grun_observer_get_order(observer), ==, 5);
    g_assert_true(grun_observer_is_valid(observer));
    grun_loop_add_observer(loop, observer, MODE);
    g_assert_true(grun_loop_contains_observer(loop, observer, MODE));
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 2);
    g_assert_cmpint(count.found, ==, GRUN_ACTIVITY_EXIT);
    g_assert_true(count.item == observer);
    g_autofree char *text = grun_observer_to_string(observer);
    g_assert_nonnull(strstr(text, "GRunLoop.Observer"));

    grun_loop_remove_observer(loop, observer, MODE);
    g_assert_false(grun_loop_contains_observer(loop, observer, MODE));
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 2);
    // Item 154: an invalidated observer releases its data immediately, and only once.
    g_assert_cmpuint(count.lets_go, ==, 0);
    grun_observer_invalidate(observer);
    grun_observer_invalidate(observer);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_assert_false(grun_observer_is_valid(observer));
    g_assert_true(grun_observer_ref(observer) == observer);
    grun_observer_unref(observer);
    grun_observer_unref(observer);
    g_free(count.mode);

    Count once = count_of(loop);
    g_autoptr(GRunObserver) single = grun_observer_new(GRUN_ACTIVITY_ALL, FALSE, 0, count_observer, &once, let_go);
    g_assert_false(grun_observer_does_repeat(single));
    grun_loop_add_observer(loop, single, MODE);
    pass(loop);
    g_assert_cmpuint(once.calls, ==, 1);
    g_assert_cmpuint(once.lets_go, ==, 1);
    g_assert_false(grun_observer_is_valid(single));
    g_free(once.mode);

    Count removed = count_of(loop);
    removed.stays = G_SOURCE_REMOVE;
    g_autoptr(GRunObserver) brief = grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, count_observer, &removed, let_go);
    grun_loop_add_observer(loop, brief, MODE);
    pass(loop);
    g_assert_cmpuint(removed.calls, ==, 1);
    g_free(removed.mode);

    Count last = count_of(loop);
    grun_loop_add_observer(loop, grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, unref_observer, &last, let_go), MODE);
    pass(loop);
    g_assert_cmpuint(last.calls, ==, 1);
    g_assert_cmpuint(last.lets_go, ==, 1);
}

// MARK: Idle queues

static void enqueue_again(gpointer data)
{
    Count *count = data;
    count_func(count);
    if (count->calls < 3)
        g_assert_true(grun_idle_queue_enqueue(count->item, enqueue_again, count, NULL));
    else
        grun_idle_queue_invalidate(count->item);
}

static gpointer enqueue_from_elsewhere(gpointer data)
{
    Count *count = data;
    while (!grun_loop_is_waiting(count->loop))
        g_usleep(200);
    g_assert_true(grun_idle_queue_enqueue(count->item, count_func, count, let_go));
    return NULL;
}

void check_idle_queue(void)
{
    GRunLoop *loop = grun_loop_get_current();
    GRunIdleQueue *queue = grun_idle_queue_new(0.25);
    g_assert_cmpfloat(grun_idle_queue_get_time_per_pass(queue), ==, 0.25);
    g_assert_true(grun_idle_queue_is_valid(queue));
    g_autofree char *text = grun_idle_queue_to_string(queue);
    g_assert_nonnull(strstr(text, "GRunLoop.IdleQueue"));

    // A queue in no loop waits. A run that does not sleep calls nothing. A run that would sleep calls the function.
    Count count = count_of(loop);
    for (int number = 0; number < 3; number++)
        g_assert_true(grun_idle_queue_enqueue(queue, count_func, &count, let_go));
    g_assert_cmpuint(grun_idle_queue_get_length(queue), ==, 3);
    g_assert_cmpint(pass(loop), ==, GRUN_RESULT_FINISHED);
    grun_loop_add_idle_queue(loop, queue, MODE);
    g_assert_true(grun_loop_contains_idle_queue(loop, queue, MODE));
    g_assert_cmpint(pass(loop), ==, GRUN_RESULT_TIMED_OUT);
    g_assert_cmpuint(count.calls, ==, 0);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.calls, ==, 3);
    g_assert_cmpuint(count.lets_go, ==, 3);

    // The functions are removed without a call.
    Count dropped = count_of(loop);
    g_assert_true(grun_idle_queue_enqueue(queue, count_func, &dropped, let_go));
    grun_idle_queue_remove_all(queue);
    g_assert_cmpuint(grun_idle_queue_get_length(queue), ==, 0);
    g_assert_cmpuint(dropped.lets_go, ==, 1);
    g_assert_true(grun_idle_queue_enqueue(queue, count_func, &dropped, let_go));
    grun_loop_remove_idle_queue(loop, queue, MODE);
    g_assert_false(grun_loop_contains_idle_queue(loop, queue, MODE));
    g_assert_true(grun_idle_queue_ref(queue) == queue);
    grun_idle_queue_unref(queue);
    grun_idle_queue_unref(queue);
    g_assert_cmpuint(dropped.lets_go, ==, 2);
    g_assert_cmpuint(dropped.calls, ==, 0);

    // The function enqueues itself again, and invalidates its queue in the end.
    g_autoptr(GRunIdleQueue) again = grun_idle_queue_new(0);
    Count self = count_of(loop);
    self.item = again;
    grun_loop_add_idle_queue(loop, again, GRUN_MODE_COMMON);
    g_assert_true(grun_idle_queue_enqueue(again, enqueue_again, &self, NULL));
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(self.calls, ==, 3);
    g_assert_false(grun_idle_queue_is_valid(again));
    g_assert_false(grun_idle_queue_enqueue(again, count_func, &dropped, let_go));
    g_assert_cmpuint(dropped.lets_go, ==, 3);

    // An enqueue from another thread wakes the loop.
    g_autoptr(GRunIdleQueue) elsewhere = grun_idle_queue_new(0);
    g_autoptr(GRunSource) keeper = grun_source_new(0, count_source, NULL, NULL);
    Count woken = count_of(loop);
    woken.item = elsewhere;
    grun_loop_add_source(loop, keeper, MODE);
    grun_loop_add_idle_queue(loop, elsewhere, MODE);
    GThread *thread = g_thread_new("elsewhere", enqueue_from_elsewhere, &woken);
    while (woken.lets_go == 0)
        grun_loop_run_in_mode(loop, MODE, 0.05, FALSE);
    g_thread_join(thread);
    g_assert_cmpuint(woken.calls, ==, 1);
    grun_source_invalidate(keeper);
    grun_idle_queue_invalidate(elsewhere);
}

// MARK: Labels

#define CHECK_LABEL(set, copy_of, item)                                                                                \
    do {                                                                                                               \
        g_assert_null(copy_of(item));                                                                                  \
        char given[] = "of \xc3\xa4 " #item;                                                                           \
        set(item, given);                                                                                              \
        given[0] = 'x';                                                                                                \
        g_autofree char *copy = copy_of(item);                                                                         \
        g_assert_cmpstr(copy, ==, "of \xc3\xa4 " #item);                                                               \
        copy[0] = 'x';                                                                                                 \
        g_autofree char *second = copy_of(item);                                                                       \
        g_assert_cmpstr(second, ==, "of \xc3\xa4 " #item);                                                             \
        g_test_expect_message("GRunLoop", G_LOG_LEVEL_CRITICAL,                                                        \
            #set ": assertion 'g_utf8_validate (label, -1, NULL)' failed");                                            \
        set(item, "\xff");                                                                                             \
        g_test_assert_expected_messages();                                                                             \
        g_autofree char *kept = copy_of(item);                                                                         \
        g_assert_cmpstr(kept, ==, second);                                                                             \
        set(item, "");                                                                                                 \
        g_autofree char *empty = copy_of(item);                                                                        \
        g_assert_cmpstr(empty, ==, "");                                                                                \
        set(item, NULL);                                                                                               \
        g_assert_null(copy_of(item));                                                                                  \
    } while (0)

static void ignore(gpointer data)
{
    (void)data;
}

static void ignore_port_message(GRunPortMessage *message, gpointer data)
{
    (void)message;
    (void)data;
}

static void ignore_message(GRunMessagePort *port, GRunMessage *message, gpointer data)
{
    (void)port;
    (void)message;
    (void)data;
}

void check_labels(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    g_autoptr(GRunSource) source = grun_source_new(0, count_source, &count, NULL);
    CHECK_LABEL(grun_source_set_label, grun_source_copy_label, source);
    g_autoptr(GRunFdSource) fd_source = grun_fd_source_new(0, G_IO_IN, count_fd, &count, NULL);
    CHECK_LABEL(grun_fd_source_set_label, grun_fd_source_copy_label, fd_source);
    g_autoptr(GRunSignalSource) signal_source = new_signal_source(&count);
    CHECK_LABEL(grun_signal_source_set_label, grun_signal_source_copy_label, signal_source);
    if (has_children()) {
        g_autoptr(GRunChildSource) child_source = new_child_source("exit 0", &count);
        CHECK_LABEL(grun_child_source_set_label, grun_child_source_copy_label, child_source);
    }
    g_autoptr(GRunTimer) timer = grun_timer_new(0, FALSE, count_timer, &count, NULL);
    CHECK_LABEL(grun_timer_set_label, grun_timer_copy_label, timer);
    g_autoptr(GRunObserver) observer = grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, count_observer, &count, NULL);
    CHECK_LABEL(grun_observer_set_label, grun_observer_copy_label, observer);
    g_autoptr(GRunIdleQueue) idle_queue = grun_idle_queue_new(0);
    CHECK_LABEL(grun_idle_queue_set_label, grun_idle_queue_copy_label, idle_queue);
    g_autoptr(GRunPort) port = grun_port_new(0, ignore_port_message, NULL, NULL);
    CHECK_LABEL(grun_port_set_label, grun_port_copy_label, port);
    g_autoptr(GRunMessagePort) message_port = grun_message_port_new(NULL, ignore_message, NULL, NULL, NULL);
    CHECK_LABEL(grun_message_port_set_label, grun_message_port_copy_label, message_port);
    g_autoptr(GRunChannel) channel = grun_channel_new(1, ignore);
    CHECK_LABEL(grun_channel_set_label, grun_channel_copy_label, channel);

    // The description shortens the label to one line; the copy is complete.
    g_autofree char *large = g_strnfill(10 * 1000 * 1000, 'x');
    grun_timer_set_label(timer, large);
    g_autofree char *whole = grun_timer_copy_label(timer);
    g_assert_cmpstr(whole, ==, large);
    g_autofree char *short_text = grun_timer_to_string(timer);
    g_assert_cmpuint(strlen(short_text), <, 1000);
    grun_timer_set_label(timer, "a\n\"b\"");
    g_autofree char *text = grun_timer_to_string(timer);
    g_assert_nonnull(strstr(text, "label = \"a\\n\\\"b\\\"\""));
    // An invalid timer keeps its label.
    grun_timer_invalidate(timer);
    g_autofree char *last = grun_timer_copy_label(timer);
    g_assert_cmpstr(last, ==, "a\n\"b\"");
}
