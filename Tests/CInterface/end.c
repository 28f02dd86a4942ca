// SPDX-License-Identifier: Apache-2.0
// Functions that the library calls when a loop's thread ends.

#include "check.h"

#include <fcntl.h>
#include <glib-unix.h>
#include <pthread.h>
#include <unistd.h>

typedef struct {
    GRunLoop *loop;
    GString *trace;
    /// GLib's own record of the thread is freed with the thread's data.
    pthread_t thread, called_on;
    guint lets_go;
} End;

static void note_a(gpointer data) { g_string_append_c(((End *)data)->trace, 'a'); }

static void note_release(gpointer data) { ((End *)data)->lets_go++; }

static void note_block(gpointer data) { g_string_append_c(((End *)data)->trace, 'r'); }

static void note_b(gpointer data)
{
    End *end = data;
    g_string_append_c(end->trace, 'b');
    end->called_on = pthread_self();
    // The loop is still complete: it can be run, and accepts another end function.
    g_assert_true(grun_loop_get_current() == end->loop);
    grun_loop_perform_block(end->loop, MODE, note_block, end, NULL);
    pass(end->loop);
    g_assert_cmpuint(grun_loop_add_end_func(end->loop, note_a, end, note_release, NULL), !=, 0);
}

static gpointer end_with_functions(gpointer data)
{
    End *end = data;
    end->loop = grun_loop_ref(grun_loop_get_current());
    g_autoptr(GError) error = NULL;
    guint64 first = grun_loop_add_end_func(end->loop, note_a, end, note_release, &error);
    g_assert_no_error(error);
    guint64 removed = grun_loop_add_end_func(end->loop, note_b, end, note_release, NULL);
    guint64 last = grun_loop_add_end_func(end->loop, note_b, end, note_release, NULL);
    g_assert_true(first != 0 && removed != 0 && last != 0 && first != removed && removed != last);
    g_assert_true(grun_loop_remove_end_func(end->loop, removed));
    g_assert_cmpuint(end->lets_go, ==, 1);
    g_assert_false(grun_loop_remove_end_func(end->loop, removed));
    g_string_append_c(end->trace, '.');
    end->thread = pthread_self();
    return NULL;
}

static void perform_too_late(GRunSource *source, GRunLoop *loop, const char *mode, gpointer data)
{
    (void)source;
    grun_loop_perform_with_order(loop, 0, mode, note_a, data, note_release);
    grun_loop_perform_after(loop, 0, mode, note_a, data, note_release);
}

static gboolean perform_source(GRunSource *source, gpointer data) { return source != NULL && data != NULL; }

static gboolean perform_fd(GRunFdSource *source, GIOCondition condition, gpointer data)
{
    (void)condition;
    return source != NULL && data != NULL;
}

static gpointer end_with_items(gpointer data)
{
    End *end = data;
    end->loop = grun_loop_ref(grun_loop_get_current());
    GRunSource *source = grun_source_new_full(0, NULL, perform_too_late, perform_source, end, NULL);
    grun_loop_add_source(end->loop, source, MODE);
    grun_source_unref(source);
    int pipe_ends[2];
    g_assert_true(g_unix_open_pipe(pipe_ends, FD_CLOEXEC, NULL));
    GRunFdSource *reader = grun_fd_source_new(pipe_ends[0], G_IO_IN, perform_fd, end, NULL);
    g_assert_true(grun_loop_add_fd_source(end->loop, reader, MODE, NULL));
    g_assert_true(grun_loop_add_fd_source(end->loop, reader, GRUN_MODE_COMMON, NULL));
    pass(end->loop);
    grun_fd_source_unref(reader);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return NULL;
}

static guint count_descriptors(void)
{
    g_autoptr(GDir) folder = g_dir_open("/proc/self/fd", 0, NULL);
    guint count = 0;
    while (g_dir_read_name(folder) != NULL)
        count++;
    return count;
}

/// A loop that outlives its thread holds no user data and no descriptors.
static void check_held(void)
{
    End end = {.trace = g_string_new(NULL)};
    guint before = count_descriptors();
    g_thread_join(g_thread_new("ends", end_with_items, &end));
    g_assert_cmpuint(end.lets_go, ==, 2);
    g_assert_cmpuint(count_descriptors(), ==, before);
    grun_loop_unref(end.loop);
    g_assert_cmpstr(end.trace->str, ==, "");
    g_string_free(end.trace, TRUE);
}

void check_end(void)
{
    check_held();

    End end = {.trace = g_string_new(NULL)};
    g_thread_join(g_thread_new("ends", end_with_functions, &end));
    // The last function is called first, followed by the function that it has added.
    g_assert_cmpstr(end.trace->str, ==, ".braa");
    g_assert_true(pthread_equal(end.called_on, end.thread));
    g_assert_cmpuint(end.lets_go, ==, 4);

    // Adding a function now fails with an error, and releases the data.
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(grun_loop_add_end_func(end.loop, note_a, &end, note_release, &error), ==, 0);
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_LOOP_ENDED);
    g_assert_cmpuint(end.lets_go, ==, 5);
    g_assert_false(grun_loop_remove_end_func(end.loop, 1));
    g_assert_cmpstr(end.trace->str, ==, ".braa");
    grun_loop_unref(end.loop);
    g_string_free(end.trace, TRUE);
}
