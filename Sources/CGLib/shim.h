// SPDX-License-Identifier: Apache-2.0
// GLib and GIO as Swift sees them.
#ifndef CGLIB_SHIM_H
#define CGLIB_SHIM_H

#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>
#include <glib-unix.h>
#include <glib.h>

// GLib 2.88 and later mark their flags as such: Swift then takes each set of them for an option set and gives their
// constants other names. Under these it finds them with every GLib.
static const GLogLevelFlags cglib_log_level_critical = G_LOG_LEVEL_CRITICAL;
static const GLogLevelFlags cglib_log_level_warning = G_LOG_LEVEL_WARNING;
static const GSignalMatchType cglib_signal_match_data = G_SIGNAL_MATCH_DATA;
static const GApplicationFlags cglib_application_non_unique = G_APPLICATION_NON_UNIQUE;
static const GSubprocessFlags cglib_subprocess_stdout_pipe = G_SUBPROCESS_FLAGS_STDOUT_PIPE;
static const GDBusCallFlags cglib_dbus_call_none = G_DBUS_CALL_FLAGS_NONE;
static const GDBusConnectionFlags cglib_dbus_connection_client = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT;
static const GDBusConnectionFlags cglib_dbus_connection_server = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER;

#endif
