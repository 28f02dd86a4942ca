/* SPDX-License-Identifier: Apache-2.0 */
/* Remote message ports: the sending side of a message port. */
#ifndef GRUN_REMOTE_MESSAGE_PORT_H
#define GRUN_REMOTE_MESSAGE_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_remote_message_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_REMOTE_MESSAGE_PORT (grun_remote_message_port_get_type ())

/**
 * grun_remote_message_port_look_up:
 * @name: the name of the port, 1 to 128 bytes
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Finds the port that has a name, in this process or in another process of the same user, and connects to it.
 *
 * As long as a remote port is valid and referenced, every look-up of its name in this process returns the same remote
 * port, with one connection. A remote port needs one descriptor. It is in a loop only while a call or a request waits
 * there.
 *
 * Threads: any; it does not wait. Core Foundation: `CFMessagePortCreateRemote`.
 *
 * Returns: (transfer full) (nullable): the port; %NULL with %GRUN_ERROR_NOT_FOUND, %GRUN_ERROR_INVALID_NAME,
 *   %GRUN_ERROR_NO_RUNTIME_DIRECTORY, %GRUN_ERROR_UNSAFE_DIRECTORY, %GRUN_ERROR_NOT_PERMITTED,
 *   %GRUN_ERROR_UNKNOWN_USERS, %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or %GRUN_ERROR_NOT_SUPPORTED; the last one
 *   in a forked child, or if a sandbox forbids a system call
 */
GRUN_AVAILABLE_IN_1_0
GRunRemoteMessagePort *grun_remote_message_port_look_up (const char *name,
                                                         GError **error);

/**
 * grun_remote_message_port_ref:
 * @port: a remote message port
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunRemoteMessagePort *grun_remote_message_port_ref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_unref:
 * @port: (transfer full): a remote message port
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, the connection ends.
 * Messages that were already sent are still delivered.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_unref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_copy_name:
 * @port: a remote message port
 *
 * Returns a copy of the name that was passed to grun_remote_message_port_look_up(). An invalid port keeps this name.
 *
 * Threads: any. Core Foundation: `CFMessagePortGetName`.
 *
 * Returns: (transfer full): the name by which the port was looked up, even if the port has another name now; free it
 *   with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_remote_message_port_copy_name (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_request:
 * @port: a remote message port
 * @id: a number for the meaning of the message
 * @data: (nullable): the data to send, up to 1,610,612,736 bytes, which nobody may change; %NULL sends no data
 * @fds: (nullable) (array length=n_fds): the descriptors to send
 * @n_fds: the number of descriptors, up to 16
 * @send_timeout: the time to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds
 * @receive_timeout: the time to wait for the reply after the message was sent, in seconds
 * @mode: the mode to run the loop in, not %GRUN_MODE_COMMON
 * @error: a return location for a %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message, and runs the calling thread's loop in a mode until the reply is there. Meanwhile the loop serves the
 * mode's other items, including ports of this thread.
 *
 * With a @send_timeout of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 * With a @receive_timeout of zero or less, the loop makes one pass. With more than 16 years, there is no limit.
 *
 * The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * If nothing else may run while the thread waits, pass a mode of your own. This matters most in a port's function: in a
 * mode of that port, the next message would call the function recursively. See
 * grun_message_port_set_maximum_handler_depth().
 *
 * Threads: any. Core Foundation: `CFMessagePortSendRequest`.
 *
 * Returns: (transfer full) (nullable): the reply, which may be without data; %NULL with
 *   %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT, %GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT,
 *   %GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR,
 *   %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED,
 *   %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED or %GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED
 */
GRUN_AVAILABLE_IN_1_0
GRunMessage *grun_remote_message_port_request (GRunRemoteMessagePort *port,
                                               gint32 id,
                                               GBytes *data,
                                               const gint *fds,
                                               guint n_fds,
                                               gdouble send_timeout,
                                               gdouble receive_timeout,
                                               const char *mode,
                                               GError **error);

/**
 * GRunReplyFunc:
 * @port: the port to which the request was sent
 * @reply: (nullable): the reply, which may be without data; take a reference to keep it; %NULL if there is no reply
 * @error: (nullable): the reason why there is no reply, of the domain %GRUN_MESSAGE_REQUEST_ERROR; %NULL if there is a
 *   reply
 * @user_data: (closure): the data that was given with the function
 *
 * Called once on the loop's thread, when a request has ended.
 */
typedef void (*GRunReplyFunc) (GRunRemoteMessagePort *port,
                               GRunMessage *reply,
                               const GError *error,
                               gpointer user_data);

/**
 * grun_remote_message_port_start_request:
 * @port: a remote message port
 * @id: a number for the meaning of the message
 * @data: (nullable): the data to send, up to 1,610,612,736 bytes, which nobody may change; %NULL sends no data
 * @fds: (nullable) (array length=n_fds): the descriptors to send
 * @n_fds: the number of descriptors, up to 16
 * @send_timeout: the time to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds
 * @receive_timeout: the time to wait for the reply once the loop knows that the message was sent, in seconds
 * @loop: the loop that receives the reply; it must run, or be hosted
 * @mode: the mode in which @loop receives the reply, usually %GRUN_MODE_COMMON
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call with the reply, or with the reason
 *   why there is none; not called before grun_remote_message_port_start_request() has returned
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or without @func if @loop ends before the request
 * @error: a return location for a %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message, and calls a function with the reply later. This call neither runs a loop nor blocks the thread. The
 * request holds a reference to the port until it ends.
 *
 * With a @send_timeout of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 * With a @receive_timeout of zero or less, @func gets only a reply that is there when the loop next looks. With more
 * than 16 years, there is no limit.
 *
 * The receiver gets copies of the descriptors. The caller keeps its own, and may close them after this call.
 *
 * If there is no reply, @func gets one of these errors: %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT,
 * %GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR,
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED or
 * %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED.
 *
 * Threads: any. GLib: `g_dbus_connection_call`.
 *
 * Returns: the number of the request, for grun_remote_message_port_cancel_request(). 0 with
 *   %GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR or
 *   %GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED: then @func is never called, and @notify was called.
 */
GRUN_AVAILABLE_IN_1_0
guint32 grun_remote_message_port_start_request (GRunRemoteMessagePort *port,
                                                gint32 id,
                                                GBytes *data,
                                                const gint *fds,
                                                guint n_fds,
                                                gdouble send_timeout,
                                                gdouble receive_timeout,
                                                GRunLoop *loop,
                                                const char *mode,
                                                GRunReplyFunc func,
                                                gpointer user_data,
                                                GDestroyNotify notify,
                                                GError **error);

/**
 * grun_remote_message_port_cancel_request:
 * @port: a remote message port
 * @request: the number that grun_remote_message_port_start_request() has returned
 *
 * Cancels a request. Its function is called with %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED, later, on the thread of the
 * request's loop. A reply that comes later is dropped.
 *
 * Threads: any. GLib: `g_cancellable_cancel`.
 *
 * Returns: %TRUE if the request was cancelled; %FALSE if it had already ended, although its function may not have been
 *   called yet
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_cancel_request (GRunRemoteMessagePort *port,
                                                  guint32 request);

/**
 * grun_remote_message_port_cancel_wait:
 *
 * Cancels the innermost wait of the calling thread: the call of grun_remote_message_port_request(), or of
 * grun_remote_message_port_send() with a mode, fails with %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED. A later reply is
 * dropped. Call it in a function that the loop calls during the wait.
 *
 * Threads: the thread that waits.
 *
 * Returns: %TRUE if a wait was cancelled; %FALSE if the thread does not wait, or if the reply is already there
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_cancel_wait (void);

/**
 * grun_remote_message_port_send:
 * @port: a remote message port
 * @id: a number for the meaning of the message
 * @data: (nullable): the data to send, up to 1,610,612,736 bytes, which nobody may change; %NULL sends no data
 * @fds: (nullable) (array length=n_fds): the descriptors to send
 * @n_fds: the number of descriptors, up to 16
 * @send_timeout: the time to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds
 * @mode: (nullable): the mode in which the calling thread's loop runs during the wait, not %GRUN_MODE_COMMON; %NULL
 *   blocks the thread instead
 * @error: a return location for a %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message that wants no reply. If there is room in the port's queue, the call does not wait. With a
 * @send_timeout of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 *
 * The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * Threads: any. Core Foundation: `CFMessagePortSendRequest` without a reply mode.
 *
 * Returns: %TRUE if the message is in the port's queue; %FALSE with %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT,
 *   %GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR or
 *   %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, or with %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED or
 *   %GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED if @mode is not %NULL
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_send (GRunRemoteMessagePort *port,
                                        gint32 id,
                                        GBytes *data,
                                        const gint *fds,
                                        guint n_fds,
                                        gdouble send_timeout,
                                        const char *mode,
                                        GError **error);

/**
 * GRunRemoteMessagePortInvalidationFunc:
 * @port: (nullable): the port; %NULL if the port became invalid because its last reference was released
 * @user_data: (closure): the data that was given with the function
 *
 * Called once when a remote message port has become invalid.
 */
typedef void (*GRunRemoteMessagePortInvalidationFunc) (GRunRemoteMessagePort *port,
                                                       gpointer user_data);

/**
 * grun_remote_message_port_add_invalidation_func:
 * @port: a remote message port
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call once
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func
 *
 * Adds a function that is called once when the port becomes invalid. It is called on the thread that invalidates the
 * port, releases its last reference, or notices that the other side has gone. A thread can notice this when it sends a
 * message or waits for a reply, and in grun_remote_message_port_look_up(), grun_remote_message_port_is_valid() and
 * grun_remote_message_port_to_string(). Functions are called in the order in which they were added. If the port is
 * already invalid, @func is called immediately.
 *
 * The data in @user_data must not own a reference to @port: that would be a reference cycle.
 *
 * Threads: any. Core Foundation: `CFMessagePortSetInvalidationCallBack`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_add_invalidation_func (GRunRemoteMessagePort *port,
                                                     GRunRemoteMessagePortInvalidationFunc func,
                                                     gpointer user_data,
                                                     GDestroyNotify notify);

/**
 * grun_remote_message_port_invalidate:
 * @port: a remote message port
 *
 * Ends the connection, for all callers in the process that share it. Waiting requests and messages get
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, and the functions of grun_remote_message_port_add_invalidation_func() are
 * called. Messages that were already sent are still delivered. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFMessagePortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_invalidate (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_is_valid:
 * @port: a remote message port
 *
 * Asks the kernel whether the other side has gone. If it has gone, the call first receives the replies that have
 * already come, and then invalidates the port.
 *
 * Threads: any. Core Foundation: `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once the other side has gone, or the port was invalidated; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_is_valid (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_to_string:
 * @port: a remote message port
 *
 * Describes the port and its state for people, for example in a log. The call first checks the port as
 * grun_remote_message_port_is_valid() does, which may invalidate it.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_remote_message_port_to_string (GRunRemoteMessagePort *port);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunRemoteMessagePort, grun_remote_message_port_unref)

G_END_DECLS

#endif
