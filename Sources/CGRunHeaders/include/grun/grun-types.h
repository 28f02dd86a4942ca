/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations for every part of the interface: the opaque types, errors, and a function that is called once. Each
 * opaque type is a boxed type of GObject: g_boxed_copy() adds a reference, and does not copy the object. */
#ifndef GRUN_TYPES_H
#define GRUN_TYPES_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <glib-object.h>

#include <grun/grun-version.h>

G_BEGIN_DECLS

/**
 * GRunLoop:
 *
 * The run loop of a thread. Every thread has one, which is created at its first use, and ends with the thread.
 *
 * While a loop runs in a mode, it serves the sources, timers, blocks, descriptors and #GMainContext's of that mode. It
 * notifies observers of its stages, and sleeps when there is nothing to do.
 *
 * A host can serve the loop instead, by iterating the loop's home context with gtk_main(), g_application_run() or
 * g_main_loop_run(). For this, call grun_loop_get_main() once.
 *
 * Any thread may hold and call a loop, but only its own thread may run it. After that thread has ended, calls do
 * nothing, and runs return immediately.
 *
 * Core Foundation: `CFRunLoop`.
 */
typedef struct _GRunLoop GRunLoop;

/**
 * GRunSource:
 *
 * A source that the program signals itself. Core Foundation: `CFRunLoopSource` with a context of version 0.
 */
typedef struct _GRunSource GRunSource;

/**
 * GRunFdSource:
 *
 * A source that is performed when its descriptor is ready. Core Foundation: `CFRunLoopSource` with a context of version
 * 1.
 */
typedef struct _GRunFdSource GRunFdSource;

/**
 * GRunSignalSource:
 *
 * A source that is performed when the process has received a signal.
 */
typedef struct _GRunSignalSource GRunSignalSource;

/**
 * GRunChildSource:
 *
 * A source that is performed when a child process has ended.
 */
typedef struct _GRunChildSource GRunChildSource;

/**
 * GRunTimer:
 *
 * A function that is called at a point in time, once or repeatedly. Core Foundation: `CFRunLoopTimer`.
 */
typedef struct _GRunTimer GRunTimer;

/**
 * GRunObserver:
 *
 * A function that is called at given stages of a run. Core Foundation: `CFRunLoopObserver`.
 */
typedef struct _GRunObserver GRunObserver;

/**
 * GRunIdleQueue:
 *
 * A queue of functions that are called when a loop has nothing else to do.
 */
typedef struct _GRunIdleQueue GRunIdleQueue;

/**
 * GRunChannel:
 *
 * Carries pointers or values from any thread to a loop. GLib: `GAsyncQueue`.
 */
typedef struct _GRunChannel GRunChannel;

/**
 * GRunNotificationQueue:
 *
 * A queue that posts notifications later. If several equal notifications wait, it posts only the last. Foundation:
 * `NSNotificationQueue`.
 */
typedef struct _GRunNotificationQueue GRunNotificationQueue;

/**
 * GRunPort:
 *
 * Delivers messages from any thread to a loop, whose thread handles them. Foundation: `NSPort`. Core Foundation:
 * `CFMachPort`.
 */
typedef struct _GRunPort GRunPort;

/**
 * GRunPortMessage:
 *
 * A message of a port: a number, bytes and ports, and the port for the reply. Foundation: `NSPortMessage`.
 */
typedef struct _GRunPortMessage GRunPortMessage;

/**
 * GRunMessagePort:
 *
 * Receives messages from processes of the same user, and replies to them. The processes find the port by its name. Core
 * Foundation: a local `CFMessagePort`.
 */
typedef struct _GRunMessagePort GRunMessagePort;

/**
 * GRunRemoteMessagePort:
 *
 * The sending side of a #GRunMessagePort, which is in another process or in this one. Core Foundation: a remote
 * `CFMessagePort`.
 */
typedef struct _GRunRemoteMessagePort GRunRemoteMessagePort;

/**
 * GRunMessage:
 *
 * A message that a message port has received, or the reply to a request: a number, bytes and descriptors. Core
 * Foundation passes these as arguments instead.
 */
typedef struct _GRunMessage GRunMessage;

/**
 * GRunThread:
 *
 * A thread that does nothing but run its loop. Foundation: `NSThread`.
 */
typedef struct _GRunThread GRunThread;

/**
 * GRUN_ERROR:
 *
 * The domain of the library's errors: see #GRunError.
 */
#define GRUN_ERROR (grun_error_quark ())

/**
 * GRunError:
 * @GRUN_ERROR_BAD_DESCRIPTOR: no open descriptor has this number
 * @GRUN_ERROR_NOT_POLLABLE: the kernel cannot wait for the descriptor, because it is always ready: it is a regular
 *   file, a directory or a device such as /dev/null
 * @GRUN_ERROR_LIMIT_REACHED: the process or the system has no descriptor, watch or memory left
 * @GRUN_ERROR_SYSTEM: the kernel has refused for another reason, which the error's message names
 * @GRUN_ERROR_LOOP_ENDED: the loop's thread has ended, so the loop can never do what was asked of it
 * @GRUN_ERROR_NO_THREAD: the system has no thread left
 * @GRUN_ERROR_SIGNAL_REFUSED: a run loop cannot listen to this signal, or no signal has this number; the error's
 *   message names the alternative
 * @GRUN_ERROR_SIGNAL_HANDLED: code in this process has a handler for the signal already
 * @GRUN_ERROR_NOT_A_CHILD: the process is not a child of this process, or was reaped already
 * @GRUN_ERROR_STATUS_LOST: the exit status of the child is lost: SIGCHLD is ignored, SA_NOCLDWAIT is set, or other code
 *   in the process has reaped the child
 * @GRUN_ERROR_NOT_SUPPORTED: a sandbox forbids a system call, which the error's message names, or the kernel does not
 *   have it; or the process was forked and did not exec(), so that it cannot have a thread, a signal source, a message
 *   port, a watch for stalls or a timeline
 * @GRUN_ERROR_INVALID_NAME: the name of a message port is empty, or longer than 128 bytes
 * @GRUN_ERROR_NAME_TAKEN: a message port has this name already, in this process or in another process
 * @GRUN_ERROR_NOT_FOUND: no message port has this name
 * @GRUN_ERROR_NO_RUNTIME_DIRECTORY: `XDG_RUNTIME_DIR` is not set to an absolute path
 * @GRUN_ERROR_UNSAFE_DIRECTORY: the directory for the names of message ports belongs to another user, or other users
 *   may enter it
 * @GRUN_ERROR_NOT_PERMITTED: the name of the message port belongs to another user
 * @GRUN_ERROR_INVALID_PORT: the message port is invalid
 * @GRUN_ERROR_UNKNOWN_USERS: the kernel does not report the user of a peer to this process
 *
 * The errors of a call to which the environment has refused something. Misuse is not an error: it is a g_critical()
 * that names the function, and the function does nothing.
 */
typedef enum
{
  GRUN_ERROR_BAD_DESCRIPTOR,
  GRUN_ERROR_NOT_POLLABLE,
  GRUN_ERROR_LIMIT_REACHED,
  GRUN_ERROR_SYSTEM,
  GRUN_ERROR_LOOP_ENDED,
  GRUN_ERROR_NO_THREAD,
  GRUN_ERROR_SIGNAL_REFUSED,
  GRUN_ERROR_SIGNAL_HANDLED,
  GRUN_ERROR_NOT_A_CHILD,
  GRUN_ERROR_STATUS_LOST,
  GRUN_ERROR_NOT_SUPPORTED,
  GRUN_ERROR_INVALID_NAME,
  GRUN_ERROR_NAME_TAKEN,
  GRUN_ERROR_NOT_FOUND,
  GRUN_ERROR_NO_RUNTIME_DIRECTORY,
  GRUN_ERROR_UNSAFE_DIRECTORY,
  GRUN_ERROR_NOT_PERMITTED,
  GRUN_ERROR_INVALID_PORT,
  GRUN_ERROR_UNKNOWN_USERS
} GRunError;

/**
 * grun_error_quark:
 *
 * Returns the quark of the error domain %GRUN_ERROR.
 *
 * Threads: any.
 *
 * Returns: the domain
 */
GRUN_AVAILABLE_IN_1_0
GQuark grun_error_quark (void);

GRUN_AVAILABLE_IN_1_0
GType grun_error_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_ERROR (grun_error_get_type ())

/**
 * GRunFunc:
 * @user_data: (closure): the data that was passed with the function
 *
 * A function that is called once.
 */
typedef void (*GRunFunc) (gpointer user_data);

G_END_DECLS

/* In C++, flags combine with |, & and |= as in C. */
#if defined(__cplusplus)
#define GRUN_DEFINE_FLAG_OPERATORS(Type) \
    constexpr inline Type operator| (Type one, Type other) \
    { return static_cast<Type> (static_cast<unsigned> (one) | static_cast<unsigned> (other)); } \
    constexpr inline Type operator& (Type one, Type other) \
    { return static_cast<Type> (static_cast<unsigned> (one) & static_cast<unsigned> (other)); } \
    inline Type &operator|= (Type &one, Type other) { return one = one | other; }
#else
#define GRUN_DEFINE_FLAG_OPERATORS(Type)
#endif

#endif
