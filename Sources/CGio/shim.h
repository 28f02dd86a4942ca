// SPDX-License-Identifier: Apache-2.0
// GIO as Swift sees it, and all of GLib.
#ifndef CGRUN_GIO_SHIM_H
#define CGRUN_GIO_SHIM_H

#include "../CGLib/shim.h"
#include <gio/gio.h>
#include <gio/gfiledescriptorbased.h>
#include <gio/gunixfdlist.h>
#include <gio/gunixinputstream.h>
#include <gio/gunixoutputstream.h>
#include <gio/gunixsocketaddress.h>
#include <sys/uio.h>

static const GApplicationFlags cglib_application_non_unique = G_APPLICATION_NON_UNIQUE;
static const GSubprocessFlags cglib_subprocess_stdout_pipe = G_SUBPROCESS_FLAGS_STDOUT_PIPE;
static const GSubprocessFlags cglib_subprocess_stdin_inherit = G_SUBPROCESS_FLAGS_STDIN_INHERIT;
static const GSubprocessFlags cglib_subprocess_stdin_pipe = G_SUBPROCESS_FLAGS_STDIN_PIPE;
static const GSubprocessFlags cglib_subprocess_stdout_silence = G_SUBPROCESS_FLAGS_STDOUT_SILENCE;
static const GSubprocessFlags cglib_subprocess_stderr_pipe = G_SUBPROCESS_FLAGS_STDERR_PIPE;
static const GSubprocessFlags cglib_subprocess_stderr_silence = G_SUBPROCESS_FLAGS_STDERR_SILENCE;
static const GSubprocessFlags cglib_subprocess_stderr_merge = G_SUBPROCESS_FLAGS_STDERR_MERGE;
static const GOutputStreamSpliceFlags cglib_splice_close_source = G_OUTPUT_STREAM_SPLICE_CLOSE_SOURCE;
static const GOutputStreamSpliceFlags cglib_splice_close_target = G_OUTPUT_STREAM_SPLICE_CLOSE_TARGET;
static const GDBusCallFlags cglib_dbus_call_none = G_DBUS_CALL_FLAGS_NONE;
static const GDBusConnectionFlags cglib_dbus_connection_client = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT;
static const GDBusConnectionFlags cglib_dbus_connection_server = G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_SERVER;
static const GDBusConnectionFlags cglib_dbus_connection_bus = G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION;
static const GDBusCallFlags cglib_dbus_call_no_auto_start = G_DBUS_CALL_FLAGS_NO_AUTO_START;
static const GDBusCallFlags cglib_dbus_call_interactive = G_DBUS_CALL_FLAGS_ALLOW_INTERACTIVE_AUTHORIZATION;
static const GDBusCapabilityFlags cglib_dbus_capability_descriptors = G_DBUS_CAPABILITY_FLAGS_UNIX_FD_PASSING;
static const GDBusSignalFlags cglib_dbus_signal_none = G_DBUS_SIGNAL_FLAGS_NONE;
static const GDBusSignalFlags cglib_dbus_signal_no_match_rule = G_DBUS_SIGNAL_FLAGS_NO_MATCH_RULE;

static const GFileQueryInfoFlags cglib_file_query_nofollow = G_FILE_QUERY_INFO_NOFOLLOW_SYMLINKS;
static const GFileCreateFlags cglib_file_create_private = G_FILE_CREATE_PRIVATE;
static const GFileCreateFlags cglib_file_create_replace_destination = G_FILE_CREATE_REPLACE_DESTINATION;
static const GFileCopyFlags cglib_file_copy_overwrite = G_FILE_COPY_OVERWRITE;
static const GFileCopyFlags cglib_file_copy_backup = G_FILE_COPY_BACKUP;
static const GFileCopyFlags cglib_file_copy_nofollow = G_FILE_COPY_NOFOLLOW_SYMLINKS;
static const GFileCopyFlags cglib_file_copy_all_metadata = G_FILE_COPY_ALL_METADATA;
static const GFileCopyFlags cglib_file_copy_no_fallback_for_move = G_FILE_COPY_NO_FALLBACK_FOR_MOVE;
static const GFileCopyFlags cglib_file_copy_default_permissions = G_FILE_COPY_TARGET_DEFAULT_PERMS;
static const GFileMonitorFlags cglib_file_monitor_watch_moves = G_FILE_MONITOR_WATCH_MOVES;

// Reads only data that is in the page cache, so the call does not wait for a disk.
//
// glibc declares preadv2() only with _GNU_SOURCE, which cannot be defined here any more. Old headers lack the flag.
ssize_t preadv2(int, const struct iovec *, int, off_t, int);

static inline gssize cgio_read_cached(int descriptor, void *buffer, gsize count)
{
    struct iovec part = {buffer, count};
    return preadv2(descriptor, &part, 1, -1, 0x8 /* RWF_NOWAIT */);
}

#endif
