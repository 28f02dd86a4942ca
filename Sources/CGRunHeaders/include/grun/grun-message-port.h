/* SPDX-License-Identifier: Apache-2.0 */
/* Message ports: processes of one user send messages to each other by name, and reply. */
#ifndef GRUN_MESSAGE_PORT_H
#define GRUN_MESSAGE_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Message ports: the receiving side */

/**
 * GRunMessagePortFunc:
 * @port: the port to which the message was sent
 * @message: the message; take a reference to keep it, or to reply later
 * @user_data: (closure): the data that was given with the function
 *
 * Called on the loop's thread with each message. If the sender wants a reply, call grun_message_reply(): in this
 * function, or later on any thread that has a reference to @message. If the last reference is released without a reply,
 * the sender gets %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED.
 */
typedef void (*GRunMessagePortFunc) (GRunMessagePort *port,
                                     GRunMessage *message,
                                     gpointer user_data);

/**
 * GRunMessageReplyingFunc:
 * @port: the port to which the message was sent
 * @message: the message; take a reference to keep it
 * @user_data: (closure): the data that was given with the function
 *
 * Called on the loop's thread with each message. The function's return value is the reply. The function need not call
 * grun_message_wants_reply(): if the sender wants no reply, the returned data is released.
 *
 * The corresponding Core Foundation type is `CFMessagePortCallBack`.
 *
 * Returns: (transfer full) (nullable): the reply; %NULL is a reply without data
 */
typedef GBytes *(*GRunMessageReplyingFunc) (GRunMessagePort *port,
                                             GRunMessage *message,
                                             gpointer user_data);

/**
 * grun_message_port_new:
 * @name: (nullable): the name of the port, 1 to 128 bytes; %NULL makes a port without a name, which
 *   grun_message_port_set_name() can name later
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call with each message
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data when the port is invalidated or freed, or cannot be
 *   made; not while @func runs
 * @error: the return location for an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a port that receives messages under a name. @func replies by calling grun_message_reply().
 *
 * Other processes find the port by its name immediately. Messages wait in the kernel until the port is in a loop and
 * the loop runs in a mode of the port: see grun_loop_add_message_port(). The port calls @func with one message in a
 * pass. Messages of one sender arrive in the order in which they were sent. A pass may also handle only a new or ended
 * connection, without a message.
 *
 * A name belongs to one port of the user at a time. The name is free again when the port is invalidated, when its last
 * reference is released, and when the process ends, however it ends. The names are in `$XDG_RUNTIME_DIR`, which must
 * belong to this user and have the mode 0700. A forked child has neither the name nor the connections.
 *
 * A child of posix_spawn() or vfork() has copies of the name's lock and of the connections until it calls exec(). If
 * the port's process is killed before that, the name stays taken until the child calls exec().
 * grun_message_port_invalidate() frees the name in any case.
 *
 * A port is in one loop at a time, and in any number of the loop's modes. It serves up to 4,096 senders, and closes the
 * connections of further senders.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`. If a port of this process has
 * the name, that function returns the existing port, and this one fails with %GRUN_ERROR_NAME_TAKEN.
 *
 * Returns: (transfer full) (nullable): the port; %NULL with %GRUN_ERROR_INVALID_NAME, %GRUN_ERROR_NAME_TAKEN,
 *   %GRUN_ERROR_NO_RUNTIME_DIRECTORY, %GRUN_ERROR_UNSAFE_DIRECTORY, %GRUN_ERROR_UNKNOWN_USERS,
 *   %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or %GRUN_ERROR_NOT_SUPPORTED; the last one in a forked child, or if a
 *   sandbox forbids a system call
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_new (const char *name,
                                        GRunMessagePortFunc func,
                                        gpointer user_data,
                                        GDestroyNotify notify,
                                        GError **error);

/**
 * grun_message_port_new_replying:
 * @name: (nullable): the name of the port, as in grun_message_port_new()
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call with each message, which returns
 *   the reply
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data, as in grun_message_port_new()
 * @error: the return location for an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a port whose function returns the reply to each message. Otherwise the port works as one of
 * grun_message_port_new().
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
 *
 * Returns: (transfer full) (nullable): the port; %NULL with the errors of grun_message_port_new()
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_new_replying (const char *name,
                                                  GRunMessageReplyingFunc func,
                                                  gpointer user_data,
                                                  GDestroyNotify notify,
                                                  GError **error);

/**
 * grun_message_port_ref:
 * @port: a message port
 *
 * Takes a reference.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_ref (GRunMessagePort *port);

/**
 * grun_message_port_unref:
 * @port: (transfer full): a message port
 *
 * Releases a reference. After the last one the pointer must not be used: the port becomes invalid and is freed, on this
 * thread. A loop holds a reference to the port while the port is in one of the loop's modes.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_unref (GRunMessagePort *port);

/**
 * grun_message_port_copy_name:
 * @port: a message port
 *
 * Returns a copy of the port's name, because another thread may change the name meanwhile. The name was set by
 * grun_message_port_new() or grun_message_port_set_name().
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
 *
 * Returns: (transfer full) (nullable): the name by which other processes find the port; %NULL if the port has no name,
 *   or is invalid. Free it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_copy_name (GRunMessagePort *port);

/**
 * grun_message_port_set_name:
 * @port: a message port
 * @name: the new name, 1 to 128 bytes
 * @error: the return location for an error of the domain %GRUN_ERROR, or %NULL
 *
 * Gives the port another name, or its first name. Processes that found the port by its former name stay connected. It
 * is not an error to set the current name again.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSetName`.
 *
 * Returns: %FALSE with an error of grun_message_port_new(), or with %GRUN_ERROR_INVALID_PORT; after an error the port
 *   keeps its former name
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_port_set_name (GRunMessagePort *port,
                                     const char *name,
                                     GError **error);

/**
 * grun_message_port_on_invalidation:
 * @port: a message port
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call once
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data after @func
 *
 * Calls a function once when the port becomes invalid, on the thread that invalidates the port or releases its last
 * reference. At that time the name is free, and the port is still in its modes. Several functions are called in the
 * order in which they were given. If the port is already invalid, @func is called immediately.
 *
 * The data in @user_data must not own a reference to @port: that would be a reference cycle.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSetInvalidationCallBack`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_on_invalidation (GRunMessagePort *port,
                                        GRunFunc func,
                                        gpointer user_data,
                                        GDestroyNotify notify);

/**
 * grun_message_port_invalidate:
 * @port: a message port
 *
 * Ends the port permanently. It releases the name and ends all connections. Requests that wait for a reply get
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID. Then it calls the functions of grun_message_port_on_invalidation(),
 * releases the port's function and data, and removes the port from every mode. If the port's function is running, it
 * continues. A second call does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_invalidate (GRunMessagePort *port);

/**
 * grun_message_port_is_valid:
 * @port: a message port
 *
 * Returns whether the port is valid. An invalid port has no name, and receives no messages.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once the port was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_port_is_valid (GRunMessagePort *port);

/**
 * grun_message_port_get_maximum_handler_depth:
 * @port: a message port
 *
 * Returns how deeply the port may call its function recursively. See grun_message_port_set_maximum_handler_depth(). An
 * invalid port keeps this number.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the maximum recursion depth of the port's function: 16 unless it was set; 0 in a forked child
 */
GRUN_AVAILABLE_IN_1_0
guint grun_message_port_get_maximum_handler_depth (GRunMessagePort *port);

/**
 * grun_message_port_set_maximum_handler_depth:
 * @port: a message port
 * @depth: the maximum recursion depth of the port's function; 0 counts as 1
 *
 * Sets the maximum recursion depth of the port's function. If this function runs the loop in one of the port's modes,
 * the port calls it recursively for the next message. grun_remote_message_port_request() runs the loop, too. Without a
 * limit, a fast sender could exhaust the thread's stack. At a depth of @depth the port is not served until a call
 * returns. Its messages wait, and the loop sleeps.
 *
 * With a @depth of 1 the function is never called recursively. If the function then waits for a message to its own
 * port, it waits until its timeout. A new value takes effect immediately.
 *
 * Threads: any. There is no corresponding Core Foundation function: `CFMessagePort` has no limit.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_set_maximum_handler_depth (GRunMessagePort *port,
                                                  guint depth);

/**
 * grun_message_port_set_label:
 * @port: a message port
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label for people who read grun_message_port_to_string() or a trace. The label is not the port's name: nobody
 * finds the port by its label. Any text is a label, even the empty text. The text is copied. It is shown on one line,
 * 120 characters of it at most. You can set the label at any time, also after the port became invalid. A port without a
 * label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_set_label (GRunMessagePort *port,
                                  const char *label);

/**
 * grun_message_port_copy_label:
 * @port: a message port
 *
 * Returns a copy of the port's label, because another thread may change the label meanwhile. An invalid port keeps its
 * label.
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): a copy of the whole label; %NULL if the port has no label. Free it with
 *   g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_copy_label (GRunMessagePort *port);

/**
 * grun_message_port_to_string:
 * @port: a message port
 *
 * Describes the port for people, for example in a log. An invalid port can be described, too.
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): a description of the port and its state, for people to read; its format may change. Free it
 *   with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_to_string (GRunMessagePort *port);

/* Received messages and replies */

/**
 * grun_message_ref:
 * @message: a message
 *
 * Takes a reference.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRetain`.
 *
 * Returns: (transfer full): the same message
 */
GRUN_AVAILABLE_IN_1_0
GRunMessage *grun_message_ref (GRunMessage *message);

/**
 * grun_message_unref:
 * @message: (transfer full): a message
 *
 * Releases a reference. After the last one the pointer must not be used. Descriptors that were not taken are then
 * closed. If the sender still waits for a reply, it learns that there will be none.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_unref (GRunMessage *message);

/**
 * grun_message_get_id:
 * @message: a message
 *
 * Returns the number that the sender has given to the message. A reply has the number of its request.
 *
 * Threads: any. In Core Foundation the number is an argument of the `CFMessagePortCallBack`.
 *
 * Returns: the number that tells the meaning of the message, on which both sides agree; for a reply, the number of the
 *   request
 */
GRUN_AVAILABLE_IN_1_0
gint32 grun_message_get_id (GRunMessage *message);

/**
 * grun_message_get_data:
 * @message: a message
 *
 * Returns the data of the message.
 *
 * Data of more than 65,536 bytes is not copied: it is memory of the sender, which nobody can change any more. The first
 * call checks that all of this memory is there, which takes some 40 ms for 1 GiB. To refuse large data cheaply, call
 * grun_message_get_size() first. If a page was never written, all of the memory reads as zeros. No sender of this
 * library makes such memory.
 *
 * Threads: any. In Core Foundation the data is an argument of the `CFMessagePortCallBack`.
 *
 * Returns: (transfer none): the bytes, empty if none were sent; take a reference to keep them longer than the message
 */
GRUN_AVAILABLE_IN_1_0
GBytes *grun_message_get_data (GRunMessage *message);

/**
 * grun_message_get_size:
 * @message: a message
 *
 * Gets the size of the data, in constant time.
 *
 * Threads: any. The corresponding Core Foundation function is `CFDataGetLength`, GLib's is g_bytes_get_size().
 *
 * Returns: the number of bytes that grun_message_get_data() returns
 */
GRUN_AVAILABLE_IN_1_0
gsize grun_message_get_size (GRunMessage *message);

/**
 * grun_message_take_fds:
 * @message: a message
 * @n_fds: (out) (optional): the return location for the number of descriptors
 *
 * Takes the descriptors that came with the message, in the order in which they were sent. They are close-on-exec. From
 * now on the caller owns them, and closes them. A second call returns none. Descriptors that nobody takes are closed
 * when the message is freed.
 *
 * Threads: any. There is no corresponding Core Foundation function; the corresponding GLib function is
 * g_unix_fd_message_steal_fds().
 *
 * Returns: (transfer full) (array length=n_fds) (nullable): the descriptors, followed by -1; %NULL if there are none.
 *   Free the array with g_free().
 */
GRUN_AVAILABLE_IN_1_0
gint *grun_message_take_fds (GRunMessage *message,
                             guint *n_fds);

/**
 * grun_message_wants_reply:
 * @message: a message
 *
 * Returns whether the message is a request. If the message is not a request, grun_message_reply() is a g_critical().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %TRUE if the message is a request, even if a reply was already sent. %FALSE if it came from
 *   grun_remote_message_port_send(), or is a reply itself.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_wants_reply (GRunMessage *message);

/**
 * grun_message_reply:
 * @message: a message that wants a reply
 * @data: (nullable): the data of the reply, up to 1,610,612,736 bytes, which nobody may change; %NULL is a reply
 *   without data
 * @fds: (nullable) (array length=n_fds): the descriptors to send
 * @n_fds: the number of descriptors, up to 16
 * @error: the return location for an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends the reply to a message, without waiting. A message has one reply: a second one is not sent, and logs a
 * g_critical(). The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * The reply waits in the port's queue while the client's queue is full, and while memory or descriptors are short. It
 * also waits while the client's process has not taken 16 MiB of earlier replies, or one larger reply. The port
 * disconnects a client when 64 MiB, 1,024 replies or 64 descriptors wait for the client's process. It also does so when
 * all processes together have not taken 256 MiB, and a reply to the client's process already waits.
 *
 * Threads: any. In Core Foundation the `CFMessagePortCallBack` returns the reply.
 *
 * Returns: %TRUE if the reply is on its way. %FALSE with %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR if the reply could
 *   be neither sent nor queued; you can send another reply then. %FALSE with %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID
 *   if the client has gone or was disconnected, the port is invalid, or an earlier reply is on its way.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_reply (GRunMessage *message,
                              GBytes *data,
                              const gint *fds,
                              guint n_fds,
                              GError **error);

/* Remote message ports: the sending side */

/**
 * grun_remote_message_port_look_up:
 * @name: the name of the port, 1 to 128 bytes
 * @error: the return location for an error of the domain %GRUN_ERROR, or %NULL
 *
 * Finds the port that has a name, in this process or in another process of the same user, and connects to it.
 *
 * While somebody holds a valid remote port, all look-ups of its name in this process return that remote port, and share
 * its connection. A remote port is in a loop only while a call or a request waits there. It needs one descriptor.
 *
 * Threads: any; it does not wait. The corresponding Core Foundation function is `CFMessagePortCreateRemote`.
 *
 * Returns: (transfer full) (nullable): the port. It is the one that an earlier call returned, if that one is valid and
 *   somebody still holds it. %NULL with %GRUN_ERROR_NOT_FOUND, %GRUN_ERROR_INVALID_NAME,
 *   %GRUN_ERROR_NO_RUNTIME_DIRECTORY, %GRUN_ERROR_UNSAFE_DIRECTORY, %GRUN_ERROR_NOT_PERMITTED,
 *   %GRUN_ERROR_UNKNOWN_USERS, %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or %GRUN_ERROR_NOT_SUPPORTED; the last one
 *   in a forked child, or if a sandbox forbids a system call.
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
 * Threads: any. The corresponding Core Foundation function is `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunRemoteMessagePort *grun_remote_message_port_ref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_unref:
 * @port: (transfer full): a remote message port
 *
 * Releases a reference. After the last one the pointer must not be used, and the connection ends. Messages that were
 * already sent are still delivered.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_unref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_copy_name:
 * @port: a remote message port
 *
 * Returns a copy of the name that was passed to grun_remote_message_port_look_up(). An invalid port keeps this name.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
 *
 * Returns: (transfer full): the name by which the port was looked up, which stays even if the port gets another name.
 *   Free it with g_free().
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
 * @error: the return location for an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message, and runs the calling thread's loop in a mode until the reply is there. The other items in the mode
 * continue to work meanwhile. So does a port of this thread that is in the mode.
 *
 * With a @send_timeout of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 * With a @receive_timeout of zero or less, the loop makes one pass. With more than 16 years, there is no limit.
 *
 * The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * If nothing else may run while the thread waits, pass a mode of your own. This matters most in the function of a port:
 * in a mode of that port, the port would call the function recursively for the next message. See
 * grun_message_port_set_maximum_handler_depth().
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSendRequest`.
 *
 * Returns: (transfer full) (nullable): the reply, which may be without data; %NULL with
 *   %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT, %GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT,
 *   %GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR,
 *   %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED or
 *   %GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED
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
 *   why there is none; not called before this has returned
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data after @func, or without @func if @loop ends before the
 *   request
 * @error: the return location for an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message, and calls a function with the reply later. This call neither runs a loop nor blocks the thread. The
 * request holds a reference to the port until it ends.
 *
 * With a @send_timeout of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 * With a @receive_timeout of zero or less, only a reply that is there when the loop next looks is passed to @func. With
 * more than 16 years, there is no limit.
 *
 * The receiver gets copies of the descriptors. The caller keeps its own, and may close them once this has returned.
 *
 * If there is no reply, @func gets one of these errors: %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT,
 * %GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR,
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED or
 * %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED.
 *
 * Threads: any. There is no corresponding Core Foundation function; the corresponding GLib function is
 * `g_dbus_connection_call`.
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
 * Threads: any. The corresponding GLib function is `g_cancellable_cancel`.
 *
 * Returns: %TRUE if the request was cancelled; %FALSE if it had already ended, even if its function was not called yet
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_cancel_request (GRunRemoteMessagePort *port,
                                                  guint32 request);

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
 * @error: the return location for an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message that wants no reply. If there is room in the port's queue, this does not wait. With a @send_timeout
 * of less than a millisecond, sending is tried once. With ten days or more, there is no limit.
 *
 * The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSendRequest` without a reply mode.
 *
 * Returns: %TRUE if the message is in the port's queue; %FALSE with %GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT,
 *   %GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID, %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR or
 *   %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, or with %GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED if @mode is not %NULL
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
 * grun_remote_message_port_on_invalidation:
 * @port: a remote message port
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call once
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data after @func
 *
 * Calls a function once when the port becomes invalid. It is called on the thread that invalidates the port, releases
 * its last reference, or notices that the other side has gone. A thread can notice this when it sends a message or
 * waits for a reply. It can also notice this in grun_remote_message_port_look_up(), grun_remote_message_port_is_valid()
 * and grun_remote_message_port_to_string(). Several functions are called in the order in which they were given. If the
 * port is already invalid, @func is called immediately.
 *
 * The data in @user_data must not own a reference to @port: that would be a reference cycle.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSetInvalidationCallBack`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_on_invalidation (GRunRemoteMessagePort *port,
                                               GRunFunc func,
                                               gpointer user_data,
                                               GDestroyNotify notify);

/**
 * grun_remote_message_port_invalidate:
 * @port: a remote message port
 *
 * Ends the connection, for all callers in the process that share it. Requests and messages that wait get
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, and the functions of grun_remote_message_port_on_invalidation() are
 * called. Messages that were already sent are still delivered. A second call does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
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
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once the other side has gone, or the port was invalidated; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_is_valid (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_to_string:
 * @port: a remote message port
 *
 * Describes the port for people, for example in a log. The call first asks the kernel whether the other side has gone,
 * as grun_remote_message_port_is_valid() does. If the other side has gone, the call invalidates the port.
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): a description of the port and its state, for people to read; its format may change. Free it
 *   with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_remote_message_port_to_string (GRunRemoteMessagePort *port);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessagePort, grun_message_port_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessage, grun_message_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunRemoteMessagePort, grun_remote_message_port_unref)

G_END_DECLS

#endif
