// SPDX-License-Identifier: Apache-2.0
// grun-perform.h, grun-thread.h, grun-virtual-time.h, grun-types.h, grun-version.h.

#include "check.h"

// MARK: Blocks

static void count_and_stop(gpointer count)
{
    count_func(count);
    grun_loop_stop(((Count *)count)->loop);
}

static gpointer enqueue_when_asleep(gpointer data)
{
    Count *count = data;
    while (!grun_loop_is_waiting(count->loop))
        g_thread_yield();
    grun_loop_post(count->loop, MODE, count_and_stop, count, let_go);
    return NULL;
}

void check_blocks(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    grun_loop_perform_block(loop, MODE, count_func, &count, let_go);
    g_assert_cmpint(grun_loop_run_in_mode(loop, "other", 0, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.calls, ==, 0);
    g_assert_cmpuint(count.lets_go, ==, 0);
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_cmpuint(count.lets_go, ==, 1);

    // A block in several modes is called once, in the first mode that runs.
    const char *modes[] = {"other", MODE, NULL}, *never[] = {NULL};
    grun_loop_perform_block_in_modes(loop, modes, count_func, &count, let_go);
    grun_loop_run_in_mode(loop, "other", 0, FALSE);
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 2);
    g_assert_cmpuint(count.lets_go, ==, 2);
    grun_loop_perform_block_in_modes(loop, never, count_func, &count, let_go);
    g_assert_cmpuint(count.calls, ==, 2);
    g_assert_cmpuint(count.lets_go, ==, 3);

    // Another thread adds a block and wakes the loop.
    g_autoptr(GRunSource) keeps = grun_source_new(0, count_source, &count, NULL);
    grun_loop_add_source(loop, keeps, MODE);
    GThread *other = g_thread_new("enqueues", enqueue_when_asleep, &count);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 20, FALSE), ==, GRUN_RESULT_STOPPED);
    g_thread_join(other);
    g_assert_cmpuint(count.calls, ==, 3);
    grun_source_invalidate(keeps);
}

// MARK: Performs

static void note_thread(gpointer data)
{
    ((Count *)data)->item = g_thread_self();
    ((Count *)data)->calls++;
}

typedef struct {
    GRunLoop *loop;
    GString *order;
} Order;

static void note_call(gpointer data)
{
    g_string_append_c(((Order *)data)->order, 'f');
}

/// Would deadlock if the library held the loop's lock.
static void note_and_call_loop(gpointer data)
{
    Order *order = data;
    g_string_append_c(order->order, 'n');
    grun_loop_wake_up(order->loop);
    grun_loop_perform_block(order->loop, "other", note_call, order, NULL);
}

static void check_order(Order *order)
{
    pass(order->loop);
    g_assert_cmpstr(order->order->str, ==, "fnfnfn");
    g_string_truncate(order->order, 0);
}

/// The library releases the data of each function right after its call, without holding a lock.
static void check_notify_of_performs(void)
{
    Order order = {.loop = grun_loop_get_current(), .order = g_string_new(NULL)};
    for (int i = 0; i < 3; i++)
        g_assert_true(grun_loop_perform_on_thread(order.loop, MODE, note_call, &order, note_and_call_loop, NULL));
    check_order(&order);
    for (int i = 0; i < 3; i++)
        grun_loop_perform_block(order.loop, MODE, note_call, &order, note_and_call_loop);
    check_order(&order);
    for (int i = 0; i < 3; i++)
        grun_loop_perform_after(order.loop, 0, MODE, note_call, &order, note_and_call_loop);
    check_order(&order);
    for (int i = 0; i < 3; i++)
        grun_loop_perform_with_order(order.loop, 0, MODE, note_call, &order, note_and_call_loop);
    check_order(&order);
    g_string_free(order.order, TRUE);
}

void check_performs(void)
{
    on_own_thread(check_notify_of_performs);
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GError) error = NULL;
    Count count = count_of(loop);
    g_assert_true(grun_loop_perform_on_thread(loop, MODE, count_func, &count, let_go, &error));
    g_assert_no_error(error);
    // A perform counts as a source, unlike a block.
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_cmpuint(count.lets_go, ==, 1);

    // On the loop's own thread the call is immediate. Another thread waits for it.
    g_assert_true(grun_loop_perform_and_wait(loop, MODE, note_thread, &count, &error));
    g_assert_true(count.item == g_thread_self());
    g_autoptr(GRunThread) thread = grun_thread_new("worker", NULL, NULL, &error);
    g_assert_no_error(error);
    GRunLoop *other = grun_thread_get_loop(thread);
    g_assert_true(grun_loop_perform_and_wait(other, GRUN_MODE_COMMON, note_thread, &count, &error));
    g_assert_true(count.item != g_thread_self());
    g_assert_cmpuint(count.calls, ==, 3);

    // After the thread has ended both calls fail, and release the data.
    grun_thread_stop(thread);
    grun_thread_wait(thread);
    g_assert_false(grun_loop_perform_and_wait(other, GRUN_MODE_COMMON, note_thread, &count, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_LOOP_ENDED);
    g_clear_error(&error);
    g_assert_false(grun_loop_perform_on_thread(other, GRUN_MODE_COMMON, note_thread, &count, let_go, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_LOOP_ENDED);
    g_assert_cmpuint(count.calls, ==, 3);
    g_assert_cmpuint(count.lets_go, ==, 2);

    // Delayed performs, in order. They are cancelled by data, or by function and data.
    Count late = count_of(loop), kept = count_of(loop);
    gint64 begin = g_get_monotonic_time();
    grun_loop_perform_after(loop, 0.005, MODE, count_func, &late, let_go);
    while (late.calls == 0)
        grun_loop_run_in_mode(loop, MODE, 60, FALSE);
    g_assert_cmpint(g_get_monotonic_time() - begin, >=, 5000);
    g_assert_cmpuint(late.lets_go, ==, 1);
    grun_loop_perform_with_order(loop, 2, MODE, count_func, &late, let_go);
    grun_loop_perform_with_order(loop, 1, MODE, note_thread, &late, let_go);
    pass(loop);
    g_assert_cmpuint(late.calls, ==, 3);
    g_assert_cmpuint(late.lets_go, ==, 3);

    grun_loop_perform_after(loop, 0, MODE, count_func, &late, let_go);
    grun_loop_perform_after(loop, 0, MODE, note_thread, &late, let_go);
    grun_loop_perform_with_order(loop, 0, MODE, count_func, &kept, let_go);
    grun_loop_cancel_performs(loop, count_func, &late);
    g_assert_cmpuint(late.lets_go, ==, 4);
    grun_loop_cancel_performs(loop, NULL, &late);
    g_assert_cmpuint(late.lets_go, ==, 5);
    pass(loop);
    g_assert_cmpuint(late.calls, ==, 3);
    g_assert_cmpuint(kept.calls, ==, 1);

    // A perform can be cancelled by its number, once.
    guint64 first = grun_loop_perform_after(loop, 0, MODE, count_func, &late, let_go);
    guint64 second = grun_loop_perform_after(loop, 0, MODE, count_func, &late, let_go);
    g_assert_true(first != 0 && second != 0 && first != second);
    g_assert_true(grun_loop_cancel_perform(loop, first));
    g_assert_cmpuint(late.lets_go, ==, 6);
    g_assert_false(grun_loop_cancel_perform(loop, first));
    g_assert_false(grun_loop_cancel_perform(loop, 0));
    pass(loop);
    g_assert_cmpuint(late.calls, ==, 4);
    g_assert_cmpuint(late.lets_go, ==, 7);
    g_assert_false(grun_loop_cancel_perform(loop, second));
}

// MARK: Threads

static void set_up(GRunLoop *loop, gpointer data)
{
    Count *count = data;
    count->loop = loop;
    count->item = g_thread_self();
    g_assert_true(loop == grun_loop_get_current());
}

static void join_itself(gpointer thread)
{
    grun_thread_wait(thread);
}

void check_thread(void)
{
    Count count = count_of(NULL);
    GRunThread *thread = grun_thread_new("a worker", set_up, &count, NULL);
    g_assert_nonnull(thread);
    g_autofree char *name = grun_thread_copy_name(thread);
    g_assert_cmpstr(name, ==, "a worker");
    g_assert_true(grun_thread_get_loop(thread) == count.loop);
    g_assert_true(count.item != g_thread_self());
    g_assert_true(grun_thread_ref(thread) == thread);
    grun_thread_unref(thread);

    // A thread that waits for its own end would deadlock.
    g_test_expect_message("GRunLoop", G_LOG_LEVEL_CRITICAL, "grun_thread_wait: *");
    g_assert_true(grun_loop_perform_and_wait(count.loop, GRUN_MODE_COMMON, join_itself, thread, NULL));
    g_test_assert_expected_messages();

    grun_thread_stop(thread);
    grun_thread_stop(thread);
    grun_thread_wait(thread);
    grun_thread_wait(thread);
    grun_thread_unref(thread);
}

// MARK: Virtual time

static void pass_an_hour(GRunLoop *loop, gpointer data)
{
    Count *count = data;
    count->loop = loop;
    g_assert_true(loop == grun_loop_get_current());
    g_assert_cmpint(grun_loop_get_time(loop), ==, 1000);
    g_autoptr(GRunTimer) timer = grun_timer_new(3600, TRUE, count_timer, count, let_go);
    grun_loop_add_timer(loop, timer, MODE);
    grun_loop_advance_time(loop, 3599, MODE);
    g_assert_cmpuint(count->calls, ==, 0);
    g_assert_cmpint(grun_loop_get_time(loop), ==, 1000 + (gint64)3599 * G_USEC_PER_SEC);
    g_assert_true(grun_loop_advance_to_next_timer(loop, MODE));
    g_assert_cmpuint(count->calls, ==, 1);
    g_assert_cmpint(grun_loop_get_time(loop), ==, 1000 + G_TIME_SPAN_HOUR);
    grun_loop_advance_time(loop, 2 * 3600, MODE);
    g_assert_cmpuint(count->calls, ==, 3);
    g_assert_false(grun_loop_advance_to_next_timer(loop, "other"));
}

// Uses the thread's real loop, which virtual time hides.
static void use_hidden_loop(GRunLoop *loop, gpointer data)
{
    Count *count = data;
    g_assert_true(loop != count->loop);
    g_assert_true(grun_loop_perform_and_wait(count->loop, MODE, count_func, count, NULL));
    g_assert_cmpuint(count->calls, ==, 1);
    g_test_expect_message("GRunLoop", G_LOG_LEVEL_CRITICAL, "grun_loop_run: *this thread is in virtual time*");
    g_assert_cmpint(grun_loop_run(count->loop), ==, GRUN_RESULT_FINISHED);
    g_test_assert_expected_messages();
}

void check_virtual_time(void)
{
    Count hidden = count_of(grun_loop_get_current());
    grun_with_virtual_time(-1, use_hidden_loop, &hidden);

    Count count = count_of(NULL);
    gint64 begin = g_get_monotonic_time();
    grun_with_virtual_time(1000, pass_an_hour, &count);
    g_assert_cmpuint(count.calls, ==, 3);
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_assert_cmpint(g_get_monotonic_time() - begin, <, 60 * G_USEC_PER_SEC);
    gint64 now = grun_loop_get_time(grun_loop_get_current());
    g_assert_cmpint(now, >=, begin);
    g_assert_cmpint(now, <=, g_get_monotonic_time());
    g_free(count.mode);
}

// MARK: Types

#define CHECK_BOXED(type, name, new, ref, unref) G_STMT_START { \
    g_assert_cmpstr(g_type_name(type), ==, name); \
    g_assert_true(g_type_is_a(type, G_TYPE_BOXED)); \
    gpointer object = new; \
    g_assert_true(g_boxed_copy(type, object) == object); \
    g_boxed_free(type, object); \
    unref(object); \
} G_STMT_END

static void check_value(GType type, int value, const char *nick)
{
    if (G_TYPE_IS_FLAGS(type)) {
        g_autoptr(GTypeClass) class = g_type_class_ref(type);
        g_assert_cmpstr(g_flags_get_first_value(G_FLAGS_CLASS(class), value)->value_nick, ==, nick);
    } else {
        g_autoptr(GTypeClass) class = g_type_class_ref(type);
        g_assert_cmpstr(g_enum_get_value(G_ENUM_CLASS(class), value)->value_nick, ==, nick);
    }
}

void check_types(void)
{
    Count count = count_of(grun_loop_get_current());
    CHECK_BOXED(grun_loop_get_type(), "GRunLoop", grun_loop_ref(count.loop), grun_loop_ref, grun_loop_unref);
    CHECK_BOXED(grun_source_get_type(), "GRunSource", grun_source_new(0, count_source, &count, NULL), grun_source_ref,
        grun_source_unref);
    CHECK_BOXED(grun_fd_source_get_type(), "GRunFdSource", grun_fd_source_new(0, G_IO_IN, count_fd, &count, NULL),
        grun_fd_source_ref, grun_fd_source_unref);
    CHECK_BOXED(grun_signal_source_get_type(), "GRunSignalSource", new_signal_source(&count), grun_signal_source_ref,
        grun_signal_source_unref);
    if (has_children())
        CHECK_BOXED(grun_child_source_get_type(), "GRunChildSource", new_child_source("exit 0", &count),
            grun_child_source_ref, grun_child_source_unref);
    CHECK_BOXED(grun_timer_get_type(), "GRunTimer", grun_timer_new(1, FALSE, count_timer, &count, NULL), grun_timer_ref,
        grun_timer_unref);
    CHECK_BOXED(grun_observer_get_type(), "GRunObserver",
        grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, count_observer, &count, NULL), grun_observer_ref,
        grun_observer_unref);
    CHECK_BOXED(grun_idle_queue_get_type(), "GRunIdleQueue", grun_idle_queue_new(0), grun_idle_queue_ref,
        grun_idle_queue_unref);
    CHECK_BOXED(grun_channel_get_type(), "GRunChannel", grun_channel_new(1, NULL), grun_channel_ref,
        grun_channel_unref);
    CHECK_BOXED(grun_notification_queue_get_type(), "GRunNotificationQueue", grun_notification_queue_new(count.loop),
        grun_notification_queue_ref, grun_notification_queue_unref);
    CHECK_BOXED(grun_port_get_type(), "GRunPort", grun_port_new(1, NULL, NULL, NULL), grun_port_ref, grun_port_unref);
    CHECK_BOXED(grun_port_message_get_type(), "GRunPortMessage", grun_port_message_new(1), grun_port_message_ref,
        grun_port_message_unref);
    GRunThread *thread = grun_thread_new("types", NULL, NULL, NULL);
    GRunThread *same = grun_thread_ref(thread);
    CHECK_BOXED(grun_thread_get_type(), "GRunThread", thread, grun_thread_ref, grun_thread_unref);
    grun_thread_stop(same);
    grun_thread_wait(same);
    grun_thread_unref(same);

    check_value(grun_send_result_get_type(), GRUN_SEND_RESULT_FULL, "full");
    check_value(grun_posting_style_get_type(), GRUN_POSTING_STYLE_WHEN_IDLE, "when-idle");
    check_value(grun_coalescing_get_type(), GRUN_COALESCING_ON_SENDER, "on-sender");
    check_value(grun_activity_get_type(), GRUN_ACTIVITY_BEFORE_WAITING, "before-waiting");
    check_value(grun_result_get_type(), GRUN_RESULT_HANDLED_SOURCE, "handled-source");
    check_value(grun_error_get_type(), GRUN_ERROR_LOOP_ENDED, "loop-ended");
    check_value(grun_error_get_type(), GRUN_ERROR_NOT_SUPPORTED, "not-supported");
    g_assert_cmpstr(g_quark_to_string(grun_error_quark()), ==, "grun-error-quark");

    g_assert_null(grun_check_version(GRUN_MAJOR_VERSION, GRUN_MINOR_VERSION, GRUN_MICRO_VERSION));
    g_assert_null(grun_check_version(1, 0, 0));
    g_assert_nonnull(grun_check_version(1, 99, 0));
    g_assert_nonnull(grun_check_version(0, 0, 0));
    g_assert_nonnull(grun_check_version(2, 0, 0));
    g_assert_true(GRUN_CHECK_VERSION(1, 0, 0));
    g_assert_false(GRUN_CHECK_VERSION(1, 1, 0));
}
