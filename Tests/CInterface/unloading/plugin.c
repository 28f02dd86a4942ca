// SPDX-License-Identifier: Apache-2.0
// A plug-in in C. dlclose() unloads its code, but not the library's code.

#include <grun/grun.h>

static guint fires;
static GRunTimer *timer;
static GRunObserver *observer;

static gboolean fired(GRunTimer *fired_timer, gpointer data)
{
    (void)fired_timer;
    (void)data;
    fires++;
    return G_SOURCE_CONTINUE;
}

static gboolean once(GRunTimer *fired_timer, gpointer data)
{
    fired(fired_timer, data);
    return G_SOURCE_REMOVE;
}

static gboolean observed(GRunObserver *told, GRunActivity activity, gpointer data)
{
    (void)told;
    (void)activity;
    (void)data;
    return G_SOURCE_CONTINUE;
}

/// Fires a timer in the calling thread's own loop.
unsigned plugin_run(void)
{
    guint former = fires;
    g_autoptr(GRunTimer) own = grun_timer_new(0.001, FALSE, once, NULL, NULL);
    grun_loop_add_timer(grun_loop_get_current(), own, "plug-in");
    grun_loop_run_in_mode(grun_loop_get_current(), "plug-in", 60, FALSE);
    return fires - former;
}

void plugin_start(void)
{
    timer = grun_timer_new(0.001, TRUE, fired, NULL, NULL);
    grun_loop_add_timer(grun_loop_get_main(), timer, GRUN_MODE_COMMON);
    observer = grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, observed, NULL, NULL);
    grun_loop_add_observer(grun_loop_get_main(), observer, GRUN_MODE_COMMON);
}

/// Returns bits: 1 means that the timer has fired.
unsigned plugin_served(void)
{
    return fires > 0;
}

/// Removes the plug-in's items from the loop.
void plugin_stop(void)
{
    grun_timer_invalidate(timer);
    grun_timer_unref(timer);
    grun_observer_invalidate(observer);
    grun_observer_unref(observer);
}

void plugin_detach(void)
{
    grun_loop_detach(grun_loop_get_main());
}
