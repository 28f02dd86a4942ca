// SPDX-License-Identifier: Apache-2.0
// grun-notification-queue.h: when and in which modes notifications are posted, and which ones coalesce.
#include "check.h"

#include <string.h>

typedef struct {
    GRunNotificationQueue *queue;
    GString *text;
    GMutex lock;
    guint64 other;
    guint lets_go;
} Log;

static void write_down(const char *name, gpointer sender, GBytes *data, gpointer user_data)
{
    Log *log = user_data;
    g_string_append_printf(log->text, "%s%s", log->text->len > 0 ? " " : "", name);
    if (sender != NULL)
        g_string_append_printf(log->text, "/%d", *(int *)sender);
    if (data != NULL)
        g_string_append_printf(log->text, "=%s", (const char *)g_bytes_get_data(data, NULL));
}

static void remove_other(const char *name, gpointer sender, GBytes *data, gpointer user_data)
{
    Log *log = user_data;
    write_down("first", NULL, NULL, log);
    grun_notification_queue_remove_func(log->queue, log->other);
    (void)name;
    (void)sender;
    (void)data;
}

static void let_log_go(gpointer log) { ((Log *)log)->lets_go++; }

#define CHECK_POSTED(log, expected)                        \
    do {                                                   \
        g_assert_cmpstr((log)->text->str, ==, expected);   \
        g_string_truncate((log)->text, 0);                 \
    } while (0)

static const char *const in_mode[] = {MODE, NULL};

static gboolean put(Log *log, const char *name, int *sender, const char *text, GRunPostingStyle style,
    GRunCoalescing coalescing, const char *const *modes)
{
    GBytes *data = text != NULL ? g_bytes_new(text, strlen(text) + 1) : NULL;
    gboolean is_taken = grun_notification_queue_enqueue(log->queue, name, sender, data, style, coalescing, modes);
    if (data != NULL)
        g_bytes_unref(data);
    return is_taken;
}

static gpointer put_elsewhere(gpointer log)
{
    g_assert_true(put(log, "elsewhere", NULL, "yes", GRUN_POSTING_STYLE_ASAP, GRUN_COALESCING_NONE, NULL));
    return NULL;
}

static void check_styles(Log *log, GRunLoop *loop)
{
    g_assert_true(put(log, "idle", NULL, "1", GRUN_POSTING_STYLE_WHEN_IDLE, GRUN_COALESCING_NONE, in_mode));
    g_assert_true(put(log, "asap", NULL, "2", GRUN_POSTING_STYLE_ASAP, GRUN_COALESCING_NONE, in_mode));
    g_assert_true(put(log, "now", NULL, NULL, GRUN_POSTING_STYLE_NOW, GRUN_COALESCING_NONE, NULL));
    CHECK_POSTED(log, "now");
    g_assert_cmpuint(grun_notification_queue_get_length(log->queue), ==, 2);
    g_assert_cmpint(grun_loop_run_in_mode(loop, "other", 60, FALSE), ==, GRUN_RESULT_FINISHED);
    CHECK_POSTED(log, "");
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    CHECK_POSTED(log, "asap=2 idle=1");

    GThread *thread = g_thread_new("elsewhere", put_elsewhere, log);
    g_thread_join(thread);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    CHECK_POSTED(log, "elsewhere=yes");
}

static void check_coalescing(Log *log, GRunLoop *loop)
{
    static int one = 1, two = 2;
    GRunCoalescing both = GRUN_COALESCING_ON_NAME | GRUN_COALESCING_ON_SENDER;
    for (int number = 0; number < 3; number++) {
        put(log, "a", &one, "x", GRUN_POSTING_STYLE_ASAP, both, in_mode);
        put(log, "a", &two, NULL, GRUN_POSTING_STYLE_ASAP, both, in_mode);
        put(log, "b", &one, NULL, GRUN_POSTING_STYLE_WHEN_IDLE, both, in_mode);
    }
    g_assert_cmpuint(grun_notification_queue_get_length(log->queue), ==, 3);
    g_assert_cmpuint(grun_notification_queue_dequeue(log->queue, "a", &one, GRUN_COALESCING_NONE), ==, 0);
    g_assert_cmpuint(grun_notification_queue_dequeue(log->queue, "c", &one, both), ==, 0);
    grun_loop_run_in_mode(loop, MODE, 60, FALSE);
    CHECK_POSTED(log, "a/1=x a/2 b/1");
    put(log, "a", &one, NULL, GRUN_POSTING_STYLE_ASAP, both, in_mode);
    put(log, "a", &two, NULL, GRUN_POSTING_STYLE_ASAP, both, in_mode);
    put(log, "b", &one, NULL, GRUN_POSTING_STYLE_WHEN_IDLE, both, in_mode);
    g_assert_cmpuint(grun_notification_queue_dequeue(log->queue, "a", &one, GRUN_COALESCING_ON_SENDER), ==, 2);
    g_assert_cmpuint(grun_notification_queue_dequeue(log->queue, "a", NULL, GRUN_COALESCING_ON_NAME), ==, 1);
    g_assert_cmpuint(grun_notification_queue_get_length(log->queue), ==, 0);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    CHECK_POSTED(log, "");
}

static void check_functions(GRunLoop *loop)
{
    static int one = 1;
    Log log = {.queue = grun_notification_queue_new(loop), .text = g_string_new("")};
    g_assert_cmpuint(
        grun_notification_queue_add_func(log.queue, NULL, NULL, remove_other, &log, let_log_go), !=, 0);
    log.other = grun_notification_queue_add_func(log.queue, NULL, NULL, write_down, &log, let_log_go);
    grun_notification_queue_add_func(log.queue, "a", &one, write_down, &log, let_log_go);
    put(&log, "b", &one, NULL, GRUN_POSTING_STYLE_NOW, GRUN_COALESCING_NONE, NULL);
    CHECK_POSTED(&log, "first");
    g_assert_cmpuint(log.lets_go, ==, 1);
    g_assert_false(grun_notification_queue_remove_func(log.queue, log.other));
    put(&log, "a", &one, NULL, GRUN_POSTING_STYLE_NOW, GRUN_COALESCING_NONE, NULL);
    CHECK_POSTED(&log, "first a/1");

    // The queue posts its waiting notifications after its last reference is released, and then releases its functions.
    put(&log, "a", &one, NULL, GRUN_POSTING_STYLE_ASAP, GRUN_COALESCING_NONE, in_mode);
    log.other = 0;
    g_assert_true(grun_notification_queue_ref(log.queue) == log.queue);
    grun_notification_queue_unref(log.queue);
    guint64 last = grun_notification_queue_add_func(log.queue, NULL, NULL, write_down, &log, let_log_go);
    g_assert_true(grun_notification_queue_remove_func(log.queue, last));
    g_assert_cmpuint(log.lets_go, ==, 2);
    GRunNotificationQueue *kept = grun_notification_queue_ref(log.queue);
    grun_notification_queue_unref(log.queue);
    grun_loop_run_in_mode(loop, MODE, 60, FALSE);
    CHECK_POSTED(&log, "first a/1");
    put(&log, "a", &one, NULL, GRUN_POSTING_STYLE_WHEN_IDLE, GRUN_COALESCING_NONE, in_mode);
    grun_notification_queue_dequeue(kept, "a", NULL, GRUN_COALESCING_ON_NAME);
    g_assert_cmpuint(log.lets_go, ==, 2);
    grun_notification_queue_unref(kept);
    g_assert_cmpuint(log.lets_go, ==, 4);
    g_string_free(log.text, TRUE);
}

void check_notification_queue(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Log log = {.queue = grun_notification_queue_new(loop), .text = g_string_new("")};
    g_assert_cmpuint(grun_notification_queue_add_func(log.queue, NULL, NULL, write_down, &log, let_log_go), !=, 0);
    check_styles(&log, loop);
    check_coalescing(&log, loop);
    put(&log, "last", NULL, NULL, GRUN_POSTING_STYLE_ASAP, GRUN_COALESCING_NONE, in_mode);
    grun_notification_queue_unref(log.queue);
    g_assert_cmpuint(log.lets_go, ==, 0);
    grun_loop_run_in_mode(loop, MODE, 60, FALSE);
    CHECK_POSTED(&log, "last");
    g_assert_cmpuint(log.lets_go, ==, 1);
    g_string_free(log.text, TRUE);
    check_functions(loop);
}
