/* SPDX-License-Identifier: Apache-2.0 */
/* The types: opaque reference-counted types, names of modes, stages, results and errors. */
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
 * The run loop of a thread. Every thread has one. It is created when it is first asked for, and ends with its thread.
 *
 * While a loop runs in a mode, it serves the sources, timers, blocks, descriptors and #GMainContext's of that mode. It
 * notifies observers of what it does, and sleeps when there is nothing to do.
 *
 * A host can serve the loop instead, by iterating the loop's home context with gtk_main(), g_application_run() or
 * g_main_loop_run(). One call of grun_loop_get_main() is all the set-up that this needs.
 *
 * A loop may be held and called from any thread, but only its own thread may run it. After that thread has ended, the
 * loop is inert: calls do nothing, and runs return immediately.
 *
 * The corresponding Core Foundation type is `CFRunLoop`.
 */
typedef struct _GRunLoop GRunLoop;

/**
 * GRunSource:
 *
 * A source that the program signals itself. The corresponding Core Foundation type is `CFRunLoopSource` with a context
 * of version 0.
 */
typedef struct _GRunSource GRunSource;

/**
 * GRunFdSource:
 *
 * A source that is performed when its descriptor is ready. The corresponding Core Foundation type is `CFRunLoopSource`
 * with a context of version 1.
 */
typedef struct _GRunFdSource GRunFdSource;

/**
 * GRunSignalSource:
 *
 * A source that is performed when the process has received a signal. Core Foundation has nothing of the kind.
 */
typedef struct _GRunSignalSource GRunSignalSource;

/**
 * GRunChildSource:
 *
 * A source that is performed when a child process has ended. Core Foundation has nothing of the kind.
 */
typedef struct _GRunChildSource GRunChildSource;

/**
 * GRunTimer:
 *
 * A function that is called at a point in time, once or repeatedly. The corresponding Core Foundation type is
 * `CFRunLoopTimer`.
 */
typedef struct _GRunTimer GRunTimer;

/**
 * GRunObserver:
 *
 * A function that is called at given stages of a run. The corresponding Core Foundation type is `CFRunLoopObserver`.
 */
typedef struct _GRunObserver GRunObserver;

/**
 * GRunIdleQueue:
 *
 * A queue of functions that are called when a loop has nothing else to do. There is no corresponding Core Foundation
 * type.
 */
typedef struct _GRunIdleQueue GRunIdleQueue;

/**
 * GRunChannel:
 *
 * Carries pointers from any thread to a loop. The corresponding GLib type is `GAsyncQueue`.
 */
typedef struct _GRunChannel GRunChannel;

/**
 * GRunNotificationQueue:
 *
 * A queue that posts notifications later. If several equal notifications wait, it posts only the last. The
 * corresponding Foundation class is `NSNotificationQueue`.
 */
typedef struct _GRunNotificationQueue GRunNotificationQueue;

/**
 * GRunPort:
 *
 * Delivers messages from any thread to a loop, whose thread handles them. The corresponding Foundation class is
 * `NSPort`, and the corresponding Core Foundation type is `CFMachPort`.
 */
typedef struct _GRunPort GRunPort;

/**
 * GRunPortMessage:
 *
 * A message of a port: a number, bytes and ports, and the port for the reply. The corresponding Foundation class is
 * `NSPortMessage`.
 */
typedef struct _GRunPortMessage GRunPortMessage;

/**
 * GRunMessagePort:
 *
 * Receives messages from processes of the same user, and replies to them. The processes find the port by its name. The
 * corresponding Core Foundation type is a local `CFMessagePort`.
 */
typedef struct _GRunMessagePort GRunMessagePort;

/**
 * GRunRemoteMessagePort:
 *
 * The sending side of a #GRunMessagePort, which is in another process or in this one. The corresponding Core Foundation
 * type is a remote `CFMessagePort`.
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
 * A thread that does nothing but run its loop. The corresponding Foundation class is `NSThread`.
 */
typedef struct _GRunThread GRunThread;

/* A mode is known by its name, which is any UTF-8 string that is not empty. Names are compared by content. */

/**
 * GRUN_MODE_DEFAULT:
 *
 * The mode in which a program spends its idle time. `kCFRunLoopDefaultMode`.
 */
#define GRUN_MODE_DEFAULT "kCFRunLoopDefaultMode"

/**
 * GRUN_MODE_COMMON:
 *
 * The name of all common modes together: an item that is added to it is served in each of them. It is not a mode of its
 * own, and cannot be run. `kCFRunLoopCommonModes`.
 */
#define GRUN_MODE_COMMON "kCFRunLoopCommonModes"

/**
 * GRUN_MODE_TRACKING:
 *
 * The mode for tracking a drag or a scroll, while items of the default mode wait. It becomes a common mode only by
 * grun_loop_add_common_mode() or grun_loop_push_ambient_mode(). AppKit's `NSEventTrackingRunLoopMode`.
 */
#define GRUN_MODE_TRACKING "GRunLoopTrackingMode"

/**
 * GRunActivity:
 * @GRUN_ACTIVITY_ENTRY: a run begins
 * @GRUN_ACTIVITY_BEFORE_TIMERS: a pass begins
 * @GRUN_ACTIVITY_BEFORE_SOURCES: the version-0 sources are performed next
 * @GRUN_ACTIVITY_BEFORE_WAITING: the loop is about to sleep
 * @GRUN_ACTIVITY_AFTER_WAITING: the loop has woken up
 * @GRUN_ACTIVITY_EXIT: a run ends
 * @GRUN_ACTIVITY_ALL: every stage
 *
 * The stages of a run at which observers can be called. The corresponding Core Foundation type is `CFRunLoopActivity`,
 * with the same values.
 */
typedef enum /*< flags >*/
{
  GRUN_ACTIVITY_ENTRY = 1 << 0,
  GRUN_ACTIVITY_BEFORE_TIMERS = 1 << 1,
  GRUN_ACTIVITY_BEFORE_SOURCES = 1 << 2,
  GRUN_ACTIVITY_BEFORE_WAITING = 1 << 5,
  GRUN_ACTIVITY_AFTER_WAITING = 1 << 6,
  GRUN_ACTIVITY_EXIT = 1 << 7,
  GRUN_ACTIVITY_ALL = 0x0FFFFFFF
} GRunActivity;

/**
 * GRunResult:
 * @GRUN_RESULT_FINISHED: the mode has nothing to wait for, or the call was refused
 * @GRUN_RESULT_STOPPED: grun_loop_stop() was called
 * @GRUN_RESULT_TIMED_OUT: the time limit has passed
 * @GRUN_RESULT_HANDLED_SOURCE: a source was handled, and the caller has asked to return after that
 *
 * The reason why a run returned. The corresponding Core Foundation type is `CFRunLoopRunResult`, with the same values.
 */
typedef enum
{
  GRUN_RESULT_FINISHED = 1,
  GRUN_RESULT_STOPPED = 2,
  GRUN_RESULT_TIMED_OUT = 3,
  GRUN_RESULT_HANDLED_SOURCE = 4
} GRunResult;

/**
 * GRunSendResult:
 * @GRUN_SEND_RESULT_ENQUEUED: the channel accepted the message, which is delivered once, or passed to `undelivered` if
 *   the channel ends first
 * @GRUN_SEND_RESULT_FULL: the channel is full: as many messages wait as its capacity allows; the message was not
 *   accepted
 * @GRUN_SEND_RESULT_CLOSED: the channel was closed or invalidated, or its loop has ended; the message was not accepted
 *
 * The result of sending a message to a channel. There is no corresponding Core Foundation type.
 */
typedef enum
{
  GRUN_SEND_RESULT_ENQUEUED,
  GRUN_SEND_RESULT_FULL,
  GRUN_SEND_RESULT_CLOSED
} GRunSendResult;

/**
 * GRunPostingStyle:
 * @GRUN_POSTING_STYLE_WHEN_IDLE: when the loop has nothing else to do at all, one notification in each pass
 * @GRUN_POSTING_STYLE_ASAP: when the loop is about to sleep, or when its run ends
 * @GRUN_POSTING_STYLE_NOW: immediately, before the call returns; on the loop's own thread only
 *
 * When a notification queue posts a notification. The corresponding Foundation type is `NSPostingStyle`, with the same
 * values.
 */
typedef enum
{
  GRUN_POSTING_STYLE_WHEN_IDLE = 1,
  GRUN_POSTING_STYLE_ASAP = 2,
  GRUN_POSTING_STYLE_NOW = 3
} GRunPostingStyle;

/**
 * GRunCoalescing:
 * @GRUN_COALESCING_NONE: no notifications
 * @GRUN_COALESCING_ON_NAME: notifications with the same name
 * @GRUN_COALESCING_ON_SENDER: notifications with the same sender, or all without a sender
 *
 * Which waiting notifications count as the same, so that only one of them is posted. The corresponding Foundation type
 * is `NSNotificationCoalescing`, with the same values.
 */
typedef enum /*< flags >*/
{
  GRUN_COALESCING_NONE = 0,
  GRUN_COALESCING_ON_NAME = 1 << 0,
  GRUN_COALESCING_ON_SENDER = 1 << 1
} GRunCoalescing;

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
 * @GRUN_ERROR_SYSTEM: the kernel has refused for another reason, which the error's message states
 * @GRUN_ERROR_LOOP_ENDED: the loop's thread has ended, so the loop can never do what was asked of it
 * @GRUN_ERROR_NO_THREAD: the system has no thread left
 * @GRUN_ERROR_SIGNAL_REFUSED: a run loop cannot listen to this signal, or no signal has this number; the error's
 *   message says what to do instead
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
 * @GRUN_ERROR_UNKNOWN_USERS: the kernel does not tell this process which user a peer is
 *
 * The errors that a call can return because the environment has refused something. Misuse does not return an error: it
 * is a g_critical() that names the function, and the function does nothing.
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

/**
 * GRUN_MESSAGE_REQUEST_ERROR:
 *
 * The domain of the errors of messages and requests to message ports: see #GRunMessageRequestError.
 */
#define GRUN_MESSAGE_REQUEST_ERROR (grun_message_request_error_quark ())

/**
 * GRunMessageRequestError:
 * @GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT: the port's queue was full until the send timeout; the message was not sent
 * @GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT: no reply came before the receive timeout; a reply that comes later is
 *   dropped
 * @GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID: the port was already invalid when the message was to be sent
 * @GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR: the message cannot be sent: it is too large or has too many descriptors,
 *   a descriptor is not open, or memory or descriptors are used up; the error's message says which
 * @GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID: the port became invalid after the message was sent or queued, for example
 *   because its process ended
 * @GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED: the receiver released the message without a reply
 * @GRUN_MESSAGE_REQUEST_ERROR_CANCELLED: grun_remote_message_port_cancel_request() was called
 * @GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED: the thread of the loop that was to receive the reply has ended
 *
 * The reason why a message was not sent, or has no reply. The values from -1 to -5 are results of
 * `CFMessagePortSendRequest`.
 */
typedef enum
{
  GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT = -1,
  GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT = -2,
  GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID = -3,
  GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR = -4,
  GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID = -5,
  GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED = -6,
  GRUN_MESSAGE_REQUEST_ERROR_CANCELLED = -7,
  GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED = -8
} GRunMessageRequestError;

/**
 * grun_message_request_error_quark:
 *
 * Returns the quark of the error domain %GRUN_MESSAGE_REQUEST_ERROR.
 *
 * Threads: any.
 *
 * Returns: the domain
 */
GRUN_AVAILABLE_IN_1_0
GQuark grun_message_request_error_quark (void);

/* The types that are registered with GObject. The opaque types are boxed: a copy is another reference. */

GRUN_AVAILABLE_IN_1_0
GType grun_activity_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_ACTIVITY (grun_activity_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_result_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_RESULT (grun_result_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_send_result_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SEND_RESULT (grun_send_result_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_posting_style_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_POSTING_STYLE (grun_posting_style_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_coalescing_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_COALESCING (grun_coalescing_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_error_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_ERROR (grun_error_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_message_request_error_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE_REQUEST_ERROR (grun_message_request_error_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_loop_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_LOOP (grun_loop_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SOURCE (grun_source_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_fd_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_FD_SOURCE (grun_fd_source_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_signal_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SIGNAL_SOURCE (grun_signal_source_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_child_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_CHILD_SOURCE (grun_child_source_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_timer_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_TIMER (grun_timer_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_observer_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_OBSERVER (grun_observer_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_idle_queue_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_IDLE_QUEUE (grun_idle_queue_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_channel_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_CHANNEL (grun_channel_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_notification_queue_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_NOTIFICATION_QUEUE (grun_notification_queue_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_PORT (grun_port_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_port_message_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_PORT_MESSAGE (grun_port_message_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_message_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE_PORT (grun_message_port_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_remote_message_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_REMOTE_MESSAGE_PORT (grun_remote_message_port_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_message_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE (grun_message_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_thread_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_THREAD (grun_thread_get_type ())

/**
 * GRunFunc:
 * @user_data: (closure): the data that was passed with the function
 *
 * A function that is called once.
 */
typedef void (*GRunFunc) (gpointer user_data);

G_END_DECLS

#if defined(__cplusplus)
/* In C++, flags combine with |, & and |= as in C. */
#define GRUN_DEFINE_FLAG_OPERATORS(Type) \
    constexpr inline Type operator| (Type one, Type other) \
    { return static_cast<Type> (static_cast<unsigned> (one) | static_cast<unsigned> (other)); } \
    constexpr inline Type operator& (Type one, Type other) \
    { return static_cast<Type> (static_cast<unsigned> (one) & static_cast<unsigned> (other)); } \
    inline Type &operator|= (Type &one, Type other) { return one = one | other; }
GRUN_DEFINE_FLAG_OPERATORS (GRunActivity)
GRUN_DEFINE_FLAG_OPERATORS (GRunCoalescing)
#undef GRUN_DEFINE_FLAG_OPERATORS
#endif

#endif
