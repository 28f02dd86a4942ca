/* SPDX-License-Identifier: Apache-2.0 */
/* The types: opaque ones, which are counted by reference, modes by name, stages, results, errors. */
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
 * The run loop of a thread. Every thread has one; it is made when it is first asked for, and ends with its thread.
 *
 * A loop serves sources, timers, blocks, descriptors and #GMainContext's while it is run in a mode that they are in,
 * tells observers what it does, and sleeps when there is nothing to do. Where a host iterates the loop's home context
 * (gtk_main(), g_application_run(), g_main_loop_run()), it is served in there: no set-up is needed beyond one call of
 * grun_loop_get_main().
 *
 * A loop may be held and called from any thread; running it belongs to its own. After its thread has ended it is inert:
 * calls do nothing, runs are finished.
 *
 * The corresponding Core Foundation type is `CFRunLoop`.
 */
typedef struct _GRunLoop GRunLoop;

/**
 * GRunSource:
 *
 * A source that a program signals itself. The corresponding Core Foundation type is `CFRunLoopSource` with a context of
 * version 0.
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
 * A source that is performed when a signal of the process has come. Core Foundation has nothing of the kind.
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
 * A function that is called when a point in time has come. The corresponding Core Foundation type is `CFRunLoopTimer`.
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
 * Functions that are called when a loop has nothing else to do. There is no corresponding Core Foundation type.
 */
typedef struct _GRunIdleQueue GRunIdleQueue;

/**
 * GRunChannel:
 *
 * Pointers on their way from any thread to a loop. The corresponding GLib type is `GAsyncQueue`.
 */
typedef struct _GRunChannel GRunChannel;

/**
 * GRunNotificationQueue:
 *
 * Notifications that are posted later, and of equal ones only the last. The corresponding Foundation class is
 * `NSNotificationQueue`.
 */
typedef struct _GRunNotificationQueue GRunNotificationQueue;

/**
 * GRunPort:
 *
 * Brings messages from any thread to a loop, whose thread handles them. The corresponding Foundation class is `NSPort`,
 * Core Foundation's type is `CFMachPort`.
 */
typedef struct _GRunPort GRunPort;

/**
 * GRunPortMessage:
 *
 * What a port carries: a number, bytes and ports, and where to answer. The corresponding Foundation class is
 * `NSPortMessage`.
 */
typedef struct _GRunPortMessage GRunPortMessage;

/**
 * GRunMessagePort:
 *
 * Receives messages from processes of the same user, which find it by its name, and answers them. The corresponding
 * Core Foundation type is a local `CFMessagePort`.
 */
typedef struct _GRunMessagePort GRunMessagePort;

/**
 * GRunRemoteMessagePort:
 *
 * A #GRunMessagePort of another process, or of this one, to which messages are sent. The corresponding Core Foundation
 * type is a remote `CFMessagePort`.
 */
typedef struct _GRunRemoteMessagePort GRunRemoteMessagePort;

/**
 * GRunMessage:
 *
 * What has come to a message port, or the reply to what was asked of one: a number, bytes and descriptors. In Core
 * Foundation these are arguments.
 */
typedef struct _GRunMessage GRunMessage;

/**
 * GRunThread:
 *
 * A thread that does nothing but run its loop. The corresponding Foundation class is `NSThread`.
 */
typedef struct _GRunThread GRunThread;

/* Modes are names. Any string of UTF-8 that is not empty makes one; names compare by content. */

/**
 * GRUN_MODE_DEFAULT:
 *
 * The mode in which a program spends its idle time. `kCFRunLoopDefaultMode`.
 */
#define GRUN_MODE_DEFAULT "kCFRunLoopDefaultMode"

/**
 * GRUN_MODE_COMMON:
 *
 * Not a mode to run, but the name of all common modes together: what is added to it is served in each of them.
 * `kCFRunLoopCommonModes`.
 */
#define GRUN_MODE_COMMON "kCFRunLoopCommonModes"

/**
 * GRUN_MODE_TRACKING:
 *
 * For tracking a drag or a scroll: items of the default mode wait meanwhile. It is not common until
 * grun_loop_add_common_mode() or grun_loop_push_ambient_mode() makes it so. AppKit's `NSEventTrackingRunLoopMode`.
 */
#define GRUN_MODE_TRACKING "GRunLoopTrackingMode"

/**
 * GRunActivity:
 * @GRUN_ACTIVITY_ENTRY: a run begins
 * @GRUN_ACTIVITY_BEFORE_TIMERS: a pass begins
 * @GRUN_ACTIVITY_BEFORE_SOURCES: the version-0 sources come next
 * @GRUN_ACTIVITY_BEFORE_WAITING: the loop is about to sleep
 * @GRUN_ACTIVITY_AFTER_WAITING: the loop has woken up
 * @GRUN_ACTIVITY_EXIT: a run ends
 * @GRUN_ACTIVITY_ALL: all of them
 *
 * The stages of a run that observers are told of. `CFRunLoopActivity`, with the same values.
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
 * @GRUN_RESULT_TIMED_OUT: the time is up
 * @GRUN_RESULT_HANDLED_SOURCE: a source was handled, and the caller asked to return then
 *
 * Why a run has returned. `CFRunLoopRunResult`, with the same values.
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
 * @GRUN_SEND_RESULT_ENQUEUED: the message is on its way: it is delivered once, or given to `undelivered`
 * @GRUN_SEND_RESULT_FULL: as many messages as the channel has room for wait already: this one was not taken
 * @GRUN_SEND_RESULT_CLOSED: the channel was finished or closed, or its loop has ended: the message was not taken
 *
 * What became of a message that was sent. There is no corresponding Core Foundation type.
 */
typedef enum
{
  GRUN_SEND_RESULT_ENQUEUED,
  GRUN_SEND_RESULT_FULL,
  GRUN_SEND_RESULT_CLOSED
} GRunSendResult;

/**
 * GRunPostingStyle:
 * @GRUN_POSTING_STYLE_WHEN_IDLE: when the loop has nothing else to do at all, one notification a pass
 * @GRUN_POSTING_STYLE_ASAP: when the loop is about to sleep, or its run ends
 * @GRUN_POSTING_STYLE_NOW: before the call returns; on the loop's own thread only
 *
 * When a notification queue posts. `NSPostingStyle`, with the same values.
 */
typedef enum
{
  GRUN_POSTING_STYLE_WHEN_IDLE = 1,
  GRUN_POSTING_STYLE_ASAP = 2,
  GRUN_POSTING_STYLE_NOW = 3
} GRunPostingStyle;

/**
 * GRunCoalescing:
 * @GRUN_COALESCING_NONE: none
 * @GRUN_COALESCING_ON_NAME: those of the same name
 * @GRUN_COALESCING_ON_SENDER: those of the same sender, or of none if it has none
 *
 * Which notifications that wait are the same as another one. `NSNotificationCoalescing`, with the same values.
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
 * The domain of the errors of this library: see #GRunError.
 */
#define GRUN_ERROR (grun_error_quark ())

/**
 * GRunError:
 * @GRUN_ERROR_BAD_DESCRIPTOR: no open descriptor has the number
 * @GRUN_ERROR_NOT_POLLABLE: the kernel cannot wait for the descriptor: it is a regular file, a directory or a device as
 * /dev/null, always ready
 * @GRUN_ERROR_LIMIT_REACHED: the process or the system has no descriptor left
 * @GRUN_ERROR_SYSTEM: the kernel has refused for another reason, which the message tells
 * @GRUN_ERROR_LOOP_ENDED: the loop's thread has ended, so that what was asked of it can never happen
 * @GRUN_ERROR_NO_THREAD: the system has no thread left, or the process was forked and did not exec()
 * @GRUN_ERROR_SIGNAL_REFUSED: the signal is not for a run loop; the message tells what to do instead
 * @GRUN_ERROR_SIGNAL_HANDLED: somebody in the process has a handler of the signal
 * @GRUN_ERROR_NOT_A_CHILD: the process is no child of this one, or was reaped already
 * @GRUN_ERROR_STATUS_LOST: how the child ends is not kept, since SIGCHLD is ignored or SA_NOCLDWAIT is set; or somebody
 * else has reaped it
 * @GRUN_ERROR_NOT_SUPPORTED: a sandbox forbids a system call, which the message names, or the kernel does not have it;
 * or the process was forked and did not exec(), and listens to no signal and has no message port
 * @GRUN_ERROR_INVALID_NAME: the name of a message port is empty, or longer than 128 bytes
 * @GRUN_ERROR_NAME_TAKEN: a message port has this name already, in this process or in another one
 * @GRUN_ERROR_NOT_FOUND: no message port has this name
 * @GRUN_ERROR_NO_RUNTIME_DIRECTORY: `XDG_RUNTIME_DIR` is not set, or not to an absolute path
 * @GRUN_ERROR_UNSAFE_DIRECTORY: the directory of the names of message ports is not this user's, or others may enter it
 * @GRUN_ERROR_NOT_PERMITTED: what has the name of the message port is another user's
 * @GRUN_ERROR_INVALID_PORT: the message port is invalid
 * @GRUN_ERROR_UNKNOWN_USERS: the kernel does not tell this process which user a peer is
 *
 * What the environment can refuse. Misuse is no error but a g_critical() that names the function, which then does
 * nothing.
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
 * The quark behind %GRUN_ERROR.
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
 * The domain of what can become of a message that was sent: see #GRunMessageRequestError.
 */
#define GRUN_MESSAGE_REQUEST_ERROR (grun_message_request_error_quark ())

/**
 * GRunMessageRequestError:
 * @GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT: the port's queue was full until the limit; the message was not sent
 * @GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT: there was no reply until the limit; one that comes later is dropped
 * @GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID: the port was invalid already
 * @GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR: the message cannot be sent: it is too large or has too many descriptors,
 * one of them is not open, memory or descriptors are used up. The message tells
 * @GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID: the port has become invalid since, as when its process has ended
 * @GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED: whoever had the message let go of it without a reply
 * @GRUN_MESSAGE_REQUEST_ERROR_CANCELLED: grun_remote_message_port_cancel_request() was called
 * @GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED: the thread of the loop that was to receive the reply has ended
 *
 * Why a message was not sent, or has no answer. The results of `CFMessagePortSendRequest`, with the same values down to
 * -5.
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
 * The quark behind %GRUN_MESSAGE_REQUEST_ERROR.
 *
 * Threads: any.
 *
 * Returns: the domain
 */
GRUN_AVAILABLE_IN_1_0
GQuark grun_message_request_error_quark (void);

/* The types that GObject knows. The opaque ones are boxed; copying one takes a reference. */

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
 * @user_data: (closure): what was given with the function
 *
 * A function that is called once.
 */
typedef void (*GRunFunc) (gpointer user_data);

G_END_DECLS

#endif
