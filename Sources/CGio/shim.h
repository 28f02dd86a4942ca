// SPDX-License-Identifier: Apache-2.0
// GIO as Swift sees it, and all of GLib.
#ifndef CGRUN_GIO_SHIM_H
#define CGRUN_GIO_SHIM_H

#include "../CGLib/shim.h"
#include <gio/gio.h>
#include <gio/gunixsocketaddress.h>

static const GApplicationFlags cglib_application_non_unique = G_APPLICATION_NON_UNIQUE;
static const GSubprocessFlags cglib_subprocess_stdout_pipe = G_SUBPROCESS_FLAGS_STDOUT_PIPE;
static const GDBusCallFlags cglib_dbus_call_none = G_DBUS_CALL_FLAGS_NONE;
static const GDBusConnectionFlags cglib_dbus_connection_client = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT;
static const GDBusConnectionFlags cglib_dbus_connection_server = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER;

#endif
