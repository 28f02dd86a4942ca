// SPDX-License-Identifier: Apache-2.0
// The code that gtk3-host and gtk4-host share: a label that can be dragged on, and two timers. A drag pushes the
// tracking mode, so the background timer of the default mode pauses. The timer of the common modes goes on, and so does
// GTK itself.

#include <grun/grun.h>
#include <gtk/gtk.h>

typedef struct Panel Panel;

/* A timer, and how often it has fired. */
typedef struct {
    Panel *panel;
    GRunTimer *timer;
    guint count;
} Counter;

struct Panel {
    GtkWidget *label;
    GtkGesture *drag;
    void (*quit)(void);
    GRunLoop *loop;
    Counter background, common;
    guint tracking;
    // State of --check: the counts at the beginning of the drag, and whether everything is right so far.
    guint background_before, common_before;
    gboolean passed;
};

static void show(Panel *panel)
{
    g_autofree char *text = g_strdup_printf("background %u\ncommon %u\n%s", panel->background.count,
        panel->common.count, panel->tracking ? "dragging" : "drag here");
    gtk_label_set_text(GTK_LABEL(panel->label), text);
}

static gboolean count(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Counter *counter = user_data;
    counter->count++;
    show(counter->panel);
    return G_SOURCE_CONTINUE;
}

static void begin(GtkGestureDrag *gesture, double x, double y, gpointer user_data)
{
    (void)gesture;
    (void)x;
    (void)y;
    Panel *panel = user_data;
    if (panel->tracking == 0)
        panel->tracking = grun_loop_push_ambient_mode(panel->loop, GRUN_MODE_TRACKING, NULL);
    show(panel);
}

static void end(GtkGestureDrag *gesture, double x, double y, gpointer user_data)
{
    (void)gesture;
    (void)x;
    (void)y;
    Panel *panel = user_data;
    if (panel->tracking != 0)
        grun_loop_pop_ambient_mode(panel->loop, panel->tracking);
    panel->tracking = 0;
    show(panel);
}

// MARK: --check: the program drags by itself

static void check_end(gpointer user_data)
{
    Panel *panel = user_data;
    guint background = panel->background.count - panel->background_before,
          common = panel->common.count - panel->common_before;
    g_signal_emit_by_name(panel->drag, "drag-end", 10.0, 10.0);
    panel->passed = panel->background_before > 0 && background == 0 && common > 0;
    g_print("before the drag the background timer %s\n", panel->background_before > 0 ? "fired" : "did not fire");
    g_print("during the drag it fired %u times, the common one %s\n", background, common > 0 ? "went on" : "stopped");
    panel->quit();
}

static void check_begin(gpointer user_data)
{
    Panel *panel = user_data;
    g_signal_emit_by_name(panel->drag, "drag-begin", 0.0, 0.0);
    panel->background_before = panel->background.count;
    panel->common_before = panel->common.count;
    grun_loop_perform_after(panel->loop, 0.3, GRUN_MODE_COMMON, check_end, panel, NULL);
}

// MARK: Beginning and end

static void start(Panel *panel, Counter *counter, const char *mode)
{
    counter->panel = panel;
    counter->timer = grun_timer_new(0.02, TRUE, count, counter, NULL);
    grun_loop_add_timer(panel->loop, counter->timer, mode);
}

static void end_counter(Counter *counter)
{
    grun_timer_invalidate(counter->timer);
    g_clear_pointer(&counter->timer, grun_timer_unref);
}

static void panel_begin(Panel *panel, gboolean checks)
{
    g_signal_connect(panel->drag, "drag-begin", G_CALLBACK(begin), panel);
    g_signal_connect(panel->drag, "drag-end", G_CALLBACK(end), panel);
    // This is the whole set-up. From here on GTK's loop serves the run loop.
    panel->loop = grun_loop_get_main();
    start(panel, &panel->background, GRUN_MODE_DEFAULT);
    start(panel, &panel->common, GRUN_MODE_COMMON);
    if (checks)
        grun_loop_perform_after(panel->loop, 0.3, GRUN_MODE_DEFAULT, check_begin, panel, NULL);
    show(panel);
}

static void panel_end(Panel *panel)
{
    end_counter(&panel->background);
    end_counter(&panel->common);
}
