/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded into GLib's own tests: adds the main run loop to the default context before main(). The loop has a timer
 * that is far from due, so the context asks the loop in every iteration, but dispatches nothing of it. An observer
 * would be dispatched, and some tests make only one iteration.
 */
#include <grun/grun.h>
#include <stdlib.h>

static gboolean fired(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    return G_SOURCE_CONTINUE;
}

__attribute__((constructor)) static void begin(void)
{
    /* Not in the children of a test. */
    unsetenv("LD_PRELOAD");
    g_file_set_contents(g_getenv("GRUN_LOADED"), "", 0, NULL);
    GRunLoop *loop = grun_loop_get_main();
    GRunTimer *timer = grun_timer_new(3600, TRUE, fired, NULL, NULL);
    grun_loop_add_timer(loop, timer, GRUN_MODE_COMMON);
}
