// SPDX-License-Identifier: Apache-2.0
// Prints a run stage by stage: an observer of all activities, with a source, a block and a timer between them. Then it
// prints the same run from the loop's recorder, which also shows the callbacks.

#include <grun/grun.h>

static const char *name_of(GRunActivity activity)
{
    switch (activity) {
    case GRUN_ACTIVITY_ENTRY: return "entry";
    case GRUN_ACTIVITY_BEFORE_TIMERS: return "before timers";
    case GRUN_ACTIVITY_BEFORE_SOURCES: return "before sources";
    case GRUN_ACTIVITY_BEFORE_WAITING: return "before waiting";
    case GRUN_ACTIVITY_AFTER_WAITING: return "after waiting";
    case GRUN_ACTIVITY_EXIT: return "exit";
    default: return "?";
    }
}

static gboolean tell_stage(GRunObserver *observer, GRunActivity activity, gpointer user_data)
{
    (void)observer;
    (void)user_data;
    g_print("%s\n", name_of(activity));
    return G_SOURCE_CONTINUE;
}

static gboolean perform(GRunSource *source, gpointer user_data)
{
    (void)source;
    g_print("    the source is performed\n");
    // The run returns after the pass that handled a source only if that was requested; this run did not request it.
    return *(gboolean *)user_data ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

static void block(gpointer user_data)
{
    (void)user_data;
    g_print("    the block is called\n");
}

static gboolean fire(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    g_print("    the timer fires\n");
    grun_loop_stop(user_data);
    return G_SOURCE_CONTINUE;
}

int main(void)
{
    GRunLoop *loop = grun_loop_get_current();
    const char *mode = "trace";
    gboolean stays = TRUE;

    g_autoptr(GRunObserver) observer = grun_observer_new(GRUN_ACTIVITY_ALL, TRUE, 0, tell_stage, NULL, NULL);
    g_autoptr(GRunSource) source = grun_source_new(0, perform, &stays, NULL);
    g_autoptr(GRunTimer) timer = grun_timer_new(0.3, FALSE, fire, loop, NULL);
    grun_loop_add_observer(loop, observer, mode);
    grun_loop_add_source(loop, source, mode);
    grun_loop_add_timer(loop, timer, mode);

    grun_source_signal(source);
    grun_loop_perform_block(loop, mode, block, NULL, NULL);
    g_print("-- as an observer sees it\n");
    GRunResult result = grun_loop_run_in_mode(loop, mode, G_MAXDOUBLE, FALSE);
    g_print("-- result %d\n", result);
    grun_observer_invalidate(observer);

    g_print("-- as the recorder sees it\n");
    grun_loop_start_tracing(loop, 100);
    grun_source_signal(source);
    grun_loop_run_in_mode(loop, mode, 0, FALSE);
    g_auto(GStrv) lines = grun_loop_stop_tracing(loop);
    // Prints each callback's name without the details in parentheses, which differ between runs.
    for (guint i = 0; lines[i] != NULL; i++)
        g_print("%.*s\n", (int)strcspn(lines[i], "("), lines[i]);
    return 0;
}
