// SPDX-License-Identifier: Apache-2.0
// GTK 3 owns the loop: gtk_main(). The code of the window is in drag-panel.h.
//
// usage: gtk3-host [--check]    --check: the program drags by itself, says what it saw, and ends

#include "../drag-panel/drag-panel.h"

int main(int count, char **arguments)
{
    gboolean checks = count > 1 && strcmp(arguments[1], "--check") == 0;
    gtk_init(NULL, NULL);
    GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
    gtk_window_set_default_size(GTK_WINDOW(window), 240, 160);
    g_signal_connect(window, "destroy", G_CALLBACK(gtk_main_quit), NULL);

    Panel panel = {.label = gtk_label_new(NULL), .quit = gtk_main_quit};
    GtkWidget *area = gtk_event_box_new();
    panel.drag = gtk_gesture_drag_new(area);
    gtk_container_add(GTK_CONTAINER(area), panel.label);
    gtk_container_add(GTK_CONTAINER(window), area);

    panel_begin(&panel, checks);
    gtk_widget_show_all(window);
    gtk_main();
    panel_end(&panel);
    return checks && !panel.passed ? 1 : 0;
}
