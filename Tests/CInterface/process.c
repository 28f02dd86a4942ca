// SPDX-License-Identifier: Apache-2.0
// grun-signal-source.h and grun-child-source.h, with real signals and real children.

#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: Signals

static gboolean count_signal(GRunSignalSource *source, guint64 signals, gpointer data)
{
    Count *count = data;
    count->calls++;
    count->found += signals;
    count->item = source;
    return count->stays;
}

GRunSignalSource *new_signal_source(Count *count)
{
    g_autoptr(GError) error = NULL;
    GRunSignalSource *source = grun_signal_source_new(SIGURG, FALSE, count_signal, count, NULL, &error);
    g_assert_no_error(error);
    return source;
}

static void handle(int signal)
{
    (void)signal;
}

static void *handler_of(int signal)
{
    struct sigaction action;
    g_assert_cmpint(sigaction(signal, NULL, &action), ==, 0);
    return (void *)action.sa_handler;
}

static void check_refused(int signal, gboolean replacing, GRunError code)
{
    Count count = count_of(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(grun_signal_source_new(signal, replacing, count_signal, &count, let_go, &error));
    g_assert_error(error, GRUN_ERROR, (gint)code);
    g_assert_null(grun_signal_source_new(signal, replacing, count_signal, &count, let_go, NULL));
    g_assert_cmpuint(count.lets_go, ==, 2);
}

void check_signal_source(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    g_autoptr(GError) error = NULL;
    int queued = SIGRTMIN + 3;
    GRunSignalSource *source = grun_signal_source_new(queued, FALSE, count_signal, &count, let_go, &error);
    g_assert_no_error(error);
    g_assert_cmpint(grun_signal_source_get_signum(source), ==, queued);
    g_assert_true(grun_signal_source_is_valid(source));
    g_autofree char *text = grun_signal_source_to_string(source);
    g_assert_nonnull(strstr(text, "SignalSource"));

    for (int number = 0; number < 3; number++)
        raise(queued);
    g_assert_true(grun_loop_add_signal_source(loop, source, MODE, &error));
    g_assert_no_error(error);
    g_assert_true(grun_loop_contains_signal_source(loop, source, MODE));
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_cmpuint(count.found, ==, 3);
    g_assert_true(count.item == source);
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 1);
    grun_loop_remove_signal_source(loop, source, MODE);
    g_assert_false(grun_loop_contains_signal_source(loop, source, MODE));
    raise(queued);
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_true(grun_loop_add_signal_source(loop, source, MODE, NULL));
    count.stays = G_SOURCE_REMOVE;
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.found, ==, 4);
    g_assert_false(grun_signal_source_is_valid(source));
    g_assert_true(handler_of(queued) == (void *)SIG_DFL);
    g_assert_true(grun_signal_source_ref(source) == source);
    grun_signal_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 0);
    grun_signal_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 1);

    check_refused(SIGCHLD, TRUE, GRUN_ERROR_SIGNAL_REFUSED);
    check_refused(SIGKILL, TRUE, GRUN_ERROR_SIGNAL_REFUSED);
    check_refused(SIGSEGV, TRUE, GRUN_ERROR_SIGNAL_REFUSED);
    check_refused(0, TRUE, GRUN_ERROR_SIGNAL_REFUSED);
    signal(queued, handle);
    check_refused(queued, FALSE, GRUN_ERROR_SIGNAL_HANDLED);
    g_assert_true(handler_of(queued) == (void *)handle);
    Count replaced = count_of(loop);
    GRunSignalSource *taker = grun_signal_source_new(queued, TRUE, count_signal, &replaced, let_go, NULL);
    g_assert_true(handler_of(queued) != (void *)handle);
    grun_signal_source_invalidate(taker);
    grun_signal_source_invalidate(taker);
    g_assert_true(handler_of(queued) == (void *)handle);
    grun_signal_source_unref(taker);
    g_assert_cmpuint(replaced.lets_go, ==, 1);
    signal(queued, SIG_DFL);
}

// MARK: Children

gboolean has_children(void)
{
    // Valgrind 3.19 does not know pidfd_open(2).
    const char *preloaded = g_getenv("LD_PRELOAD");
    return preloaded == NULL || strstr(preloaded, "vgpreload") == NULL;
}

static void count_child(GRunChildSource *source, gint wait_status, const GError *error, gpointer data)
{
    Count *count = data;
    count->calls++;
    count->found = (guint)wait_status;
    count->item = source;
    g_assert_false(grun_child_source_is_valid(source));
    if (wait_status < 0)
        g_assert_error(error, GRUN_ERROR, GRUN_ERROR_STATUS_LOST);
    else
        g_assert_no_error(error);
}

static pid_t start(const char *line)
{
    char *words[] = {"/bin/sh", "-c", (char *)line, NULL};
    GPid child = 0;
    g_assert_true(g_spawn_async(NULL, words, NULL, G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &child, NULL));
    return child;
}

GRunChildSource *new_child_source(const char *line, Count *count)
{
    g_autoptr(GError) error = NULL;
    GRunChildSource *source = grun_child_source_new(start(line), count_child, count, NULL, &error);
    g_assert_no_error(error);
    return source;
}

static void check_no_child(pid_t pid)
{
    Count count = count_of(NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(grun_child_source_new(pid, count_child, &count, let_go, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NOT_A_CHILD);
    g_assert_cmpuint(count.lets_go, ==, 1);
}

void check_child_source(void)
{
    if (!has_children()) {
        g_test_skip("valgrind");
        return;
    }
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    pid_t child = start("exit 3");
    GRunChildSource *source = grun_child_source_new(child, count_child, &count, let_go, NULL);
    g_assert_cmpint(grun_child_source_get_pid(source), ==, child);
    g_autofree char *text = grun_child_source_to_string(source);
    g_assert_nonnull(strstr(text, "ChildSource"));
    g_autoptr(GError) error = NULL;
    g_assert_true(grun_loop_add_child_source(loop, source, MODE, &error));
    g_assert_no_error(error);
    g_assert_true(grun_loop_contains_child_source(loop, source, MODE));
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_true(WIFEXITED((int)count.found) && WEXITSTATUS((int)count.found) == 3);
    g_assert_true(count.item == source);
    g_assert_true(grun_child_source_ref(source) == source);
    grun_child_source_unref(source);
    grun_child_source_unref(source);
    g_assert_cmpuint(count.lets_go, ==, 1);
    // The child is reaped, so it is no longer a child of this process.
    check_no_child(child);
    check_no_child(0);
    check_no_child(getpid());

    // The child is killed. There are two sources, and the second one reports that the status is lost.
    child = start("exec sleep 3600");
    Count first = count_of(loop), second = count_of(loop);
    g_autoptr(GRunChildSource) one = grun_child_source_new(child, count_child, &first, NULL, NULL);
    g_autoptr(GRunChildSource) other = grun_child_source_new(child, count_child, &second, NULL, NULL);
    g_assert_true(grun_loop_add_child_source(loop, one, MODE, NULL));
    grun_loop_remove_child_source(loop, one, MODE);
    g_assert_false(grun_loop_contains_child_source(loop, one, MODE));
    g_assert_true(grun_loop_add_child_source(loop, one, MODE, NULL));
    g_assert_true(grun_loop_add_child_source(loop, other, MODE, NULL));
    kill(child, SIGTERM);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    int status = (int)(first.found == (guint)-1 ? second : first).found;
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    g_assert_true((first.found == (guint)-1) != (second.found == (guint)-1));

    // The child has neither ended nor been reaped.
    child = start("exec sleep 3600");
    GRunChildSource *let_gone = grun_child_source_new(child, count_child, &count, NULL, NULL);
    grun_child_source_invalidate(let_gone);
    g_assert_false(grun_child_source_is_valid(let_gone));
    grun_child_source_unref(let_gone);
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
}
