// SPDX-License-Identifier: Apache-2.0
// GTK 4 as Swift sees it. Swift cannot import functions with variable arguments and macros that cast.
#pragma once

#include <gtk/gtk.h>

static inline GtkWindow *as_window(GtkWidget *widget) { return GTK_WINDOW(widget); }
static inline GtkLabel *as_label(GtkWidget *widget) { return GTK_LABEL(widget); }
static inline GtkEditable *as_editable(GtkWidget *widget) { return GTK_EDITABLE(widget); }
static inline GtkBox *as_box(GtkWidget *widget) { return GTK_BOX(widget); }
static inline void emit(GtkWidget *widget, const char *signal) { g_signal_emit_by_name(widget, signal); }
