// SPDX-License-Identifier: Apache-2.0
// GTK 3 as Swift sees it.
#ifndef CGTK3_SHIM_H
#define CGTK3_SHIM_H

#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_WAYLAND
#include <gdk/gdkwayland.h>
#endif

#endif
