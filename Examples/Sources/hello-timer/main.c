// SPDX-License-Identifier: Apache-2.0
// The shortest program: a timer that repeats, and a run that it ends.

#include <grun/grun.h>

static gboolean say_hello(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    guint *count = user_data;
    g_print("hello %u\n", ++*count);
    if (*count < 3)
        return G_SOURCE_CONTINUE;
    grun_loop_stop(grun_loop_get_current());
    return G_SOURCE_REMOVE;
}

static void forget(gpointer user_data)
{
    (void)user_data;
    g_print("the timer lets go of its data\n");
}

int main(void)
{
    // The thread owns the loop, so the program neither takes nor releases a reference.
    GRunLoop *loop = grun_loop_get_current();
    guint count = 0;

    g_autoptr(GRunTimer) timer = grun_timer_new(0.02, TRUE, say_hello, &count, forget);
    grun_loop_add_timer(loop, timer, GRUN_MODE_DEFAULT);

    GRunResult result = grun_loop_run(loop);
    g_print("%s, the timer is %s\n", result == GRUN_RESULT_STOPPED ? "stopped" : "finished",
        grun_timer_is_valid(timer) ? "valid" : "invalid");

    // Misuse is logged and has no effect, so the program goes on.
    if (g_getenv("HELLO_MISUSE") != NULL)
        grun_loop_add_timer(loop, NULL, GRUN_MODE_DEFAULT);
    return 0;
}
