// SPDX-License-Identifier: Apache-2.0
// GLib and GObject as Swift sees them.
#ifndef CGRUN_GLIB_SHIM_H
#define CGRUN_GLIB_SHIM_H

#include <glib-object.h>
#include <glib-unix.h>
#include <glib.h>

// GLib 2.88 and later mark their flag enumerations, so Swift imports them as option sets and renames the constants. The
// names below work in Swift with every version of GLib.
static const GLogLevelFlags cglib_log_level_critical = G_LOG_LEVEL_CRITICAL;
static const GLogLevelFlags cglib_log_level_warning = G_LOG_LEVEL_WARNING;
static const GSignalMatchType cglib_signal_match_data = G_SIGNAL_MATCH_DATA;

#endif
