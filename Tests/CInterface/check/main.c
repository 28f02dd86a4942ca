// SPDX-License-Identifier: Apache-2.0
// Programs that the check of GRUN_CHECK must not misjudge, and whose end it must not delay.
//
// usage: check busy     a callback works for two seconds at start, and the loop is served afterwards
//        check private  a run of a private mode
//        check exits    the main thread ends
//        check forked   a child process ends before the parent uses a loop

#include <glib-unix.h>
#include <grun/grun.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static gboolean work(int fd, GIOCondition condition, gpointer loop)
{
    (void)fd;
    (void)condition;
    (void)loop;
    sleep(2);
    return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gboolean never(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    return G_SOURCE_CONTINUE;
}

int main(int count, char **arguments)
{
    const char *what = count == 2 ? arguments[1] : "";
    if (strcmp(what, "busy") == 0) {
        int ends[2];
        grun_loop_get_main();
        // Usually the check has enqueued its block after this time. If it has not, the case proves less, and passes.
        usleep(20000);
        if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
            return 1;
        GMainLoop *loop = g_main_loop_new(NULL, FALSE);
        g_unix_fd_add_full(G_PRIORITY_HIGH, ends[0], G_IO_IN, work, loop, NULL);
        g_timeout_add(2500, quit, loop);
        g_main_loop_run(loop);
        return 0;
    }
    if (strcmp(what, "private") == 0) {
        g_autoptr(GRunTimer) timer = grun_timer_new(60, TRUE, never, NULL, NULL);
        grun_loop_add_timer(grun_loop_get_main(), timer, "private");
        grun_loop_run_in_mode(grun_loop_get_main(), "private", 2, FALSE);
        return 0;
    }
    if (strcmp(what, "exits") == 0) {
        grun_loop_get_main();
        pthread_exit(NULL);
    }
    if (strcmp(what, "forked") == 0) {
        if (fork() == 0)
            exit(0);
        wait(NULL);
        grun_loop_get_main();
        return 0;
    }
    return 2;
}
