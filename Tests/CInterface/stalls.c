// SPDX-License-Identifier: Apache-2.0
// Callouts that take longer than the limit.

#include "check.h"

#include <string.h>
#include <unistd.h>

typedef struct {
    gint reports, ends, lets_go;
    char *first;
    GRunLoop *loop;
} Stalls;

static void note(GRunLoop *loop, const char *report, gdouble seconds, gboolean is_over, gpointer data)
{
    Stalls *stalls = data;
    g_assert_true(loop == stalls->loop);
    g_assert_cmpfloat(seconds, >=, 0.02);
    if (!is_over && stalls->first == NULL)
        stalls->first = g_strdup(report);
    g_atomic_int_inc(is_over ? &stalls->ends : &stalls->reports);
}

static void let_go_of_stalls(gpointer data) { g_atomic_int_inc(&((Stalls *)data)->lets_go); }

static void wait_for(gint *count, gint wanted)
{
    for (guint looks = 0; g_atomic_int_get(count) < wanted && looks < 30000; looks++)
        g_usleep(1000);
    g_assert_cmpint(g_atomic_int_get(count), ==, wanted);
}

// Stalls until the monitor has reported the stall.
static void stall(gpointer data) { wait_for(&((Stalls *)data)->reports, 1); }

static gpointer watch_an_ended_loop(gpointer data)
{
    Stalls *stalls = data;
    stalls->loop = grun_loop_ref(grun_loop_get_current());
    g_assert_cmpuint(grun_loop_watch_stalls(stalls->loop, 10, note, stalls, let_go_of_stalls, NULL), !=, 0);
    return NULL;
}

void check_stalls(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Stalls stalls = {.loop = loop};
    g_autoptr(GError) error = NULL;
    guint64 id = grun_loop_watch_stalls(loop, 0.02, note, &stalls, let_go_of_stalls, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(id, !=, 0);
    grun_loop_perform_block(loop, MODE, stall, &stalls, NULL);
    pass(loop);
    wait_for(&stalls.ends, 1);
    g_assert_true(g_str_has_prefix(stalls.first, "has not returned after "));
    g_assert_nonnull(strstr(stalls.first, "a block in mode " MODE ", driven by the loop\n"));
    g_assert_cmpint(stalls.lets_go, ==, 0);
    g_assert_false(grun_loop_unwatch_stalls(loop, id + 1000));
    g_assert_false(grun_loop_unwatch_stalls(grun_loop_get_main(), id));
    g_assert_true(grun_loop_unwatch_stalls(loop, id));
    g_assert_false(grun_loop_unwatch_stalls(loop, id));
    wait_for(&stalls.lets_go, 1);
    g_free(stalls.first);

    // The watch ends with the loop's thread. If the thread has already ended, the watch ends immediately.
    Stalls ended = {0};
    g_thread_join(g_thread_new("short", watch_an_ended_loop, &ended));
    wait_for(&ended.lets_go, 1);
    g_assert_cmpuint(grun_loop_watch_stalls(ended.loop, 10, note, &ended, let_go_of_stalls, NULL), !=, 0);
    wait_for(&ended.lets_go, 2);
    g_assert_cmpint(ended.reports, ==, 0);
    grun_loop_unref(ended.loop);

    // Without a function, the stall is only logged.
    id = grun_loop_watch_stalls(loop, 1000, NULL, NULL, NULL, NULL);
    g_assert_true(grun_loop_unwatch_stalls(loop, id));
}

static gboolean fire(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    return TRUE;
}

static void work(gpointer data)
{
    (void)data;
    g_usleep(2000);
}

static char *written(const char *path)
{
    g_autoptr(GError) error = NULL;
    char *text = NULL;
    g_assert_true(grun_timeline_write(path, &error));
    g_assert_no_error(error);
    g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
    return text;
}

void check_timeline(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("XDG_RUNTIME_DIR"), "run.json", NULL);
    g_autofree char *page = g_build_filename(g_getenv("XDG_RUNTIME_DIR"), "run.html", NULL);
    g_autoptr(GRunTimer) timer = grun_timer_new(0, FALSE, fire, NULL, NULL);
    grun_timer_set_label(timer, "the C timer");
    grun_timeline_start();
    grun_timeline_start();
    grun_loop_perform_block(loop, MODE, work, NULL, NULL);
    grun_loop_add_timer(loop, timer, MODE);
    pass(loop);
    pass(loop);
    grun_timeline_stop();
    grun_timeline_stop();
    g_autofree char *events = written(path);
    g_assert_true(g_str_has_prefix(events, "{\"displayTimeUnit\""));
    g_assert_nonnull(strstr(events, "\"the C timer\""));
    g_assert_nonnull(strstr(events, "\"kind\":\"block\""));
    // The trace names the function that was passed, not the library's function that calls it.
    g_assert_nonnull(strstr(events, "\"calls\":\"work\""));
    g_assert_nonnull(strstr(events, "\"calls\":\"fire\""));
    g_assert_null(strstr(events, "closure #"));
    g_autofree char *html = written(page);
    g_assert_true(g_str_has_prefix(html, "<!DOCTYPE html>"));
    g_assert_nonnull(strstr(html, "\"the C timer\""));
    g_assert_false(grun_timeline_write("/dev/full", &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_SYSTEM);
    unlink(path);
    unlink(page);
}
