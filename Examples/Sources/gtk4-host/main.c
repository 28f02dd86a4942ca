// SPDX-License-Identifier: Apache-2.0
// GTK 4 owns the loop: g_application_run(). The code of the window is in drag-panel.h.
//
// usage: gtk4-host [--check]    --check: the program drags by itself, says what it saw, and ends

#include "../drag-panel/drag-panel.h"

static gboolean checks;

static void quit(void)
{
    g_application_quit(g_application_get_default());
}

static void activate(GtkApplication *application, gpointer user_data)
{
    Panel *panel = user_data;
    GtkWidget *window = gtk_application_window_new(application);
    gtk_window_set_default_size(GTK_WINDOW(window), 240, 160);

    panel->label = gtk_label_new(NULL);
    panel->drag = gtk_gesture_drag_new();
    gtk_widget_add_controller(panel->label, GTK_EVENT_CONTROLLER(panel->drag));
    gtk_window_set_child(GTK_WINDOW(window), panel->label);

    panel_begin(panel, checks);
    gtk_window_present(GTK_WINDOW(window));
}

int main(int count, char **arguments)
{
    checks = count > 1 && strcmp(arguments[1], "--check") == 0;
    Panel panel = {.quit = quit};
    g_autoptr(GtkApplication) application = gtk_application_new("com.example.gtk4-host", G_APPLICATION_NON_UNIQUE);
    g_signal_connect(application, "activate", G_CALLBACK(activate), &panel);
    int status = g_application_run(G_APPLICATION(application), 1, arguments);
    panel_end(&panel);
    return checks && !panel.passed ? 1 : status;
}
