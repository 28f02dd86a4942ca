// SPDX-License-Identifier: Apache-2.0
// GTK 4 as Swift sees it.
#ifndef CGTK4_SHIM_H
#define CGTK4_SHIM_H

#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_WAYLAND
#include <gdk/wayland/gdkwayland.h>
#endif

// As in the library's CGRunGLib: a name that Swift knows whether GLib marks its flags as such or not.
static const GApplicationFlags cgtk4_application_non_unique = G_APPLICATION_NON_UNIQUE;

#endif
