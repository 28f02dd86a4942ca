// SPDX-License-Identifier: Apache-2.0
// GLib and GIO as Swift sees them.
#ifndef CGLIB_SHIM_H
#define CGLIB_SHIM_H

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <glib.h>

#endif
