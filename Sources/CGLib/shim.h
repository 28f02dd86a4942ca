// SPDX-License-Identifier: Apache-2.0
// GLib and GObject as Swift sees them.
#ifndef CGRUN_GLIB_SHIM_H
#define CGRUN_GLIB_SHIM_H

#include <glib-object.h>
#include <glib-unix.h>
#include <glib.h>

// GLib 2.88 and later mark their flags as such: Swift then takes each set of them for an option set and gives their
// constants other names. Under these it finds them with every GLib.
static const GLogLevelFlags cglib_log_level_critical = G_LOG_LEVEL_CRITICAL;
static const GLogLevelFlags cglib_log_level_warning = G_LOG_LEVEL_WARNING;
static const GSignalMatchType cglib_signal_match_data = G_SIGNAL_MATCH_DATA;

#endif
