/* SPDX-License-Identifier: Apache-2.0 */
/* Message ports: processes of one user send messages to each other by name, and reply. */
#ifndef GRUN_MESSAGE_PORT_H
#define GRUN_MESSAGE_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* The port that receives */

/**
 * GRunMessagePortFunc:
 * @port: the port to which the message was sent
 * @message: what has come; take a reference to keep it, and to reply later
 * @user_data: (closure): what was given with the function
 *
 * Called on the loop's thread with each message. A message that wants a reply gets it by grun_message_reply(): here,
 * or later and from any thread by whoever has a reference. When the last reference goes without a reply, the one who
 * asked gets %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED.
 */
typedef void (*GRunMessagePortFunc) (GRunMessagePort *port,
                                     GRunMessage *message,
                                     gpointer user_data);

/**
 * GRunMessageReplyingFunc:
 * @port: the port to which the message was sent
 * @message: what has come; take a reference to keep it
 * @user_data: (closure): what was given with the function
 *
 * Called on the loop's thread with each message, and replies by what it returns alone. It need not look at
 * grun_message_wants_reply(): what it returns for a message that wants no reply is let go of.
 *
 * The corresponding Core Foundation type is `CFMessagePortCallBack`.
 *
 * Returns: (transfer full) (nullable): the reply; %NULL is one without data
 */
typedef GBytes *(*GRunMessageReplyingFunc) (GRunMessagePort *port,
                                             GRunMessage *message,
                                             gpointer user_data);

/**
 * grun_message_port_new:
 * @name: (nullable): 1 to 128 bytes; %NULL makes a port without a name, which grun_message_port_set_name() gives it
 * @func: (scope notified) (closure user_data) (destroy notify): what to call with each message
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the port is invalidated or goes, or cannot be made; while @func
 *   runs, after it
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a port whose function replies by grun_message_reply(). It can be found by its name at once; messages wait in
 * the kernel until it is in a loop, by grun_loop_add_message_port(), and a mode of it is run. They come one a pass; of
 * one sender in the order in which they were sent. A connection that comes or goes may be a pass without a message.
 *
 * A name belongs to one port of the user's at a time. It is free again when the port is invalidated, when nobody holds
 * it any more, and when the process ends, however that happens. The names are in `$XDG_RUNTIME_DIR`, which must be
 * this user's and have mode 0700. A forked child has neither the name nor the connections.
 *
 * A child of posix_spawn() or vfork() has copies of both until it calls exec(). If the process is killed meanwhile, the
 * name stays taken until then. grun_message_port_invalidate() frees the name in any case.
 *
 * A port is in one loop at a time, and in any number of its modes. It serves up to 4,096 senders; more are turned away.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`, which returns the existing
 * port of this process where this one fails with %GRUN_ERROR_NAME_TAKEN.
 *
 * Returns: (transfer full) (nullable): the port; %NULL with %GRUN_ERROR_INVALID_NAME, %GRUN_ERROR_NAME_TAKEN,
 *   %GRUN_ERROR_NO_RUNTIME_DIRECTORY, %GRUN_ERROR_UNSAFE_DIRECTORY, %GRUN_ERROR_UNKNOWN_USERS,
 *   %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM, or %GRUN_ERROR_NOT_SUPPORTED in a forked child or where a sandbox
 *   forbids it
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_new (const char *name,
                                        GRunMessagePortFunc func,
                                        gpointer user_data,
                                        GDestroyNotify notify,
                                        GError **error);

/**
 * grun_message_port_new_replying:
 * @name: (nullable): as with grun_message_port_new()
 * @func: (scope notified) (closure user_data) (destroy notify): what to call with each message, which returns the
 *   reply
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): as with grun_message_port_new()
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a port whose function returns the reply to each message. Otherwise it is as with grun_message_port_new().
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
 *
 * Returns: (transfer full) (nullable): the port; %NULL as with grun_message_port_new()
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
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_ref (GRunMessagePort *port);

/**
 * grun_message_port_unref:
 * @port: (transfer full): a message port
 *
 * Gives a reference back. After the last one the pointer must not be used: the port becomes invalid and goes, on this
 * thread. A loop holds a port that is in a mode.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_unref (GRunMessagePort *port);

/**
 * grun_message_port_copy_name:
 * @port: a message port
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
 *
 * Returns: (transfer full) (nullable): the name by which the port is found; %NULL if it has none, and after its end.
 *   Free it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_copy_name (GRunMessagePort *port);

/**
 * grun_message_port_set_name:
 * @port: a message port
 * @name: 1 to 128 bytes
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Gives the port another name, or its first one. Who has found it by the former one stays connected. The name that it
 * has already is no error.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSetName`.
 *
 * Returns: %FALSE with an error of grun_message_port_new(), or with %GRUN_ERROR_INVALID_PORT: then the port has the
 *   name that it had
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_port_set_name (GRunMessagePort *port,
                                     const char *name,
                                     GError **error);

/**
 * grun_message_port_on_invalidation:
 * @port: a message port
 * @func: (scope notified) (closure user_data) (destroy notify): what to call, once
 * @user_data: (nullable): what to give to @func. It must not hold the port, which that would keep
 * @notify: (nullable): called with @user_data after @func
 *
 * Has a function called when the port becomes invalid: on the thread that invalidates it or lets go of it, when its
 * name is free, before it leaves its modes. Several are called in the order in which they were given; of a port that is
 * invalid already it is called at once.
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
 * Gives up the name, ends all connections, tells those that asked for it, lets go of the function and its data, and
 * takes the port out of every mode, for good. Who waits for a reply gets %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID.
 * A function that is running goes on. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_invalidate (GRunMessagePort *port);

/**
 * grun_message_port_is_valid:
 * @port: a message port
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_port_is_valid (GRunMessagePort *port);

/**
 * grun_message_port_get_maximum_handler_depth:
 * @port: a message port
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
 * If @port's function runs the loop in one of the port's modes, the port calls it recursively for the next message.
 * grun_remote_message_port_request() runs the loop, too. Without a limit, a fast sender could exhaust the thread's
 * stack. At a depth of @depth the port is not served until a call returns. Its messages wait, and the loop sleeps.
 *
 * With 1 the function is never called recursively. If the function then waits for a message to its own port, it waits
 * until its timeout. A new value takes effect immediately.
 *
 * Threads: any. There is no corresponding Core Foundation function: `CFMessagePort` has no limit.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_set_maximum_handler_depth (GRunMessagePort *port,
                                                  guint depth);

/**
 * grun_message_port_set_label:
 * @port: a message port
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the port, for people who read grun_message_port_to_string() or a trace. Nobody finds it
 * by that: its name is another thing. Any text is a label, the empty text too. It is copied, and shown on one line, 120
 * characters of it at most. It can be set at any time, also once the port is invalid. One without a label costs
 * nothing.
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
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_copy_label (GRunMessagePort *port);

/**
 * grun_message_port_to_string:
 * @port: a message port
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the port is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_to_string (GRunMessagePort *port);

/* What comes: a message, or the reply to one */

/**
 * grun_message_ref:
 * @message: a message
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same message
 */
GRUN_AVAILABLE_IN_1_0
GRunMessage *grun_message_ref (GRunMessage *message);

/**
 * grun_message_unref:
 * @message: (transfer full): a message
 *
 * Gives a reference back. After the last one the pointer must not be used: descriptors that nobody has taken are
 * closed, and one who still waits for a reply is told that there will be none.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_unref (GRunMessage *message);

/**
 * grun_message_get_id:
 * @message: a message
 *
 * Threads: any. In Core Foundation it is an argument of the `CFMessagePortCallBack`.
 *
 * Returns: what the message means, for both sides to agree on; of a reply, the number of what was asked
 */
GRUN_AVAILABLE_IN_1_0
gint32 grun_message_get_id (GRunMessage *message);

/**
 * grun_message_get_data:
 * @message: a message
 *
 * Data of more than 65,536 bytes is not copied: it is memory of the sender, which nobody can change any more. The first
 * call checks that all of this memory is there, which takes some 40 ms for 1 GiB. To refuse large data cheaply, call
 * grun_message_get_size() first. If a page was never written, all of the memory reads as zeros. No sender of this
 * library makes such memory.
 *
 * Threads: any. In Core Foundation it is an argument of the `CFMessagePortCallBack`.
 *
 * Returns: (transfer none): the bytes, none if none were sent; take a reference to keep them longer than the message
 */
GRUN_AVAILABLE_IN_1_0
GBytes *grun_message_get_data (GRunMessage *message);

/**
 * grun_message_get_size:
 * @message: a message
 *
 * It takes constant time. Threads: any. The corresponding Core Foundation function is `CFDataGetLength`, GLib's is
 * g_bytes_get_size().
 *
 * Returns: how many bytes grun_message_get_data() has
 */
GRUN_AVAILABLE_IN_1_0
gsize grun_message_get_size (GRunMessage *message);

/**
 * grun_message_take_fds:
 * @message: a message
 * @n_fds: (out) (optional): how many there are
 *
 * Takes the descriptors that came with the message. They are close-on-exec, in the order in which they were sent, and
 * the caller's from now on, who closes them. The second time there are none. What nobody takes is closed with the
 * message.
 *
 * Threads: any. Core Foundation has nothing of the kind; the corresponding GLib function is
 * g_unix_fd_message_steal_fds().
 *
 * Returns: (transfer full) (array length=n_fds) (nullable): the descriptors, with a -1 behind the last; %NULL if there
 *   are none. Free it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
gint *grun_message_take_fds (GRunMessage *message,
                             guint *n_fds);

/**
 * grun_message_wants_reply:
 * @message: a message
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: whether whoever sent it waits for a reply: %FALSE of one that was sent by grun_remote_message_port_send(),
 *   and of a reply; %TRUE also after it was replied to
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_wants_reply (GRunMessage *message);

/**
 * grun_message_reply:
 * @message: a message that wants a reply
 * @data: (nullable): up to 1,610,612,736 bytes, which nobody changes; %NULL is a reply without data
 * @fds: (nullable) (array length=n_fds): descriptors, of which the receiver gets copies. They stay the caller's
 * @n_fds: how many, up to 16
 * @error: where to put an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Replies, without waiting. A second reply is refused by a g_critical(). The reply waits in the port's queue while the
 * client's queue is full, and while memory or descriptors are short. It also waits while the client's process has not
 * taken 16 MiB of earlier replies, or one larger reply. The port disconnects a client when 64 MiB, 1,024 replies or 64
 * descriptors wait for its process. It also does so when all processes together have left 256 MiB and a reply to this
 * process waits already.
 *
 * Threads: any. In Core Foundation the `CFMessagePortCallBack` returns the reply.
 *
 * Returns: %TRUE if the reply is on its way; %FALSE with %GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR, after which
 *   another reply can be tried, or with %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID if who asked has gone
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_reply (GRunMessage *message,
                              GBytes *data,
                              const gint *fds,
                              guint n_fds,
                              GError **error);

/* The port to send to */

/**
 * grun_remote_message_port_look_up:
 * @name: 1 to 128 bytes
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Finds the port that has a name, in this process or another one of the same user, and connects to it. All that look up
 * a name in a process share one connection.
 *
 * Nothing of it is in a loop but while a request waits, and it needs one descriptor.
 *
 * Threads: any; it does not wait. The corresponding Core Foundation function is `CFMessagePortCreateRemote`.
 *
 * Returns: (transfer full) (nullable): the port: the same one as before, as long as that is valid and somebody holds
 *   it; %NULL with %GRUN_ERROR_NOT_FOUND, %GRUN_ERROR_INVALID_NAME, %GRUN_ERROR_NO_RUNTIME_DIRECTORY,
 *   %GRUN_ERROR_UNSAFE_DIRECTORY, %GRUN_ERROR_NOT_PERMITTED, %GRUN_ERROR_UNKNOWN_USERS, %GRUN_ERROR_LIMIT_REACHED,
 *   %GRUN_ERROR_SYSTEM, or %GRUN_ERROR_NOT_SUPPORTED in a forked child or where a sandbox
 *   forbids it
 */
GRUN_AVAILABLE_IN_1_0
GRunRemoteMessagePort *grun_remote_message_port_look_up (const char *name,
                                                         GError **error);

/**
 * grun_remote_message_port_ref:
 * @port: a remote message port
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunRemoteMessagePort *grun_remote_message_port_ref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_unref:
 * @port: (transfer full): a remote message port
 *
 * Gives a reference back. After the last one the pointer must not be used, and the connection ends. What was sent is
 * still delivered.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_unref (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_copy_name:
 * @port: a remote message port
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
 *
 * Returns: (transfer full): the name by which it was looked up, which stays, also if the port itself gets another one;
 *   free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_remote_message_port_copy_name (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_request:
 * @port: a remote message port
 * @id: what the message means
 * @data: (nullable): up to 1,610,612,736 bytes, which nobody changes; %NULL is none
 * @fds: (nullable) (array length=n_fds): descriptors, of which the receiver gets copies. They stay the caller's
 * @n_fds: how many, up to 16
 * @send_timeout: how long to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds. Less than a millisecond: it is tried once. Ten days and more: no limit
 * @receive_timeout: how long to wait for the reply from then on, in seconds. Zero or negative: one pass. 16 years and
 *   more: no limit
 * @mode: the mode to run in, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message and waits for the reply. Meanwhile the calling thread's loop is run in the mode: its other items go
 * on, and so does a port of this thread that is in that mode.
 *
 * If nothing else may run while the thread waits, pass a mode of your own. Do so above all in the function of a port:
 * in a mode of that port, the port would call the function recursively for the next message. See
 * grun_message_port_set_maximum_handler_depth().
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSendRequest`.
 *
 * Returns: (transfer full) (nullable): the reply, which may be without data; %NULL with an error
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
 * @port: the port that was asked
 * @reply: (nullable): the reply, which may be without data; take a reference to keep it. %NULL if there is none
 * @error: (nullable): why there is none, of the domain %GRUN_MESSAGE_REQUEST_ERROR; else %NULL
 * @user_data: (closure): what was given with the function
 *
 * Called on the loop's thread, once, when a request has ended.
 */
typedef void (*GRunReplyFunc) (GRunRemoteMessagePort *port,
                               GRunMessage *reply,
                               const GError *error,
                               gpointer user_data);

/**
 * grun_remote_message_port_start_request:
 * @port: a remote message port
 * @id: what the message means
 * @data: (nullable): up to 1,610,612,736 bytes, which nobody changes; %NULL is none
 * @fds: (nullable) (array length=n_fds): descriptors, of which the receiver gets copies. They stay the caller's, who
 *   may close them once this has returned
 * @n_fds: how many, up to 16
 * @send_timeout: how long to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds. Less than a millisecond: it is tried once. Ten days and more: no limit
 * @receive_timeout: how long to wait for the reply once the loop knows that the message was sent, in seconds. Zero or
 *   negative: what is there when the loop next looks. 16 years and more: no limit
 * @loop: who receives the reply: it must run, or be hosted
 * @mode: in which mode it does so, %GRUN_MODE_COMMON as a rule
 * @func: (scope notified) (closure user_data) (destroy notify): what to call with the reply, or with the reason why
 *   there is none; not before this has returned
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func; also if @loop ends before the request, when @func is not
 *   called
 * @error: where to put an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message, and has a function called with the reply. Nothing is run or blocked meanwhile. The port is kept
 * until then.
 *
 * Threads: any. There is no corresponding Core Foundation function; GLib's way is `g_dbus_connection_call`.
 *
 * Returns: the number of the request, for grun_remote_message_port_cancel_request(); 0 with an error: then @func is
 *   not called, and @notify was
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
 * @request: what grun_remote_message_port_start_request() has returned
 *
 * Ends a request: its function is called, on its loop's thread and not in here, with
 * %GRUN_MESSAGE_REQUEST_ERROR_CANCELLED. A reply that comes later is dropped.
 *
 * Threads: any. GLib's counterpart is `g_cancellable_cancel`.
 *
 * Returns: %FALSE if it has ended, and if its function is about to be called with a reply
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_cancel_request (GRunRemoteMessagePort *port,
                                                  guint32 request);

/**
 * grun_remote_message_port_send:
 * @port: a remote message port
 * @id: what the message means
 * @data: (nullable): up to 1,610,612,736 bytes, which nobody changes; %NULL is none
 * @fds: (nullable) (array length=n_fds): descriptors, of which the receiver gets copies. They stay the caller's
 * @n_fds: how many, up to 16
 * @send_timeout: how long to wait for room in the port's queue, or for memory and descriptors that are short, in
 *   seconds. Less than a millisecond: it is tried once. Ten days and more: no limit
 * @mode: (nullable): the mode in which the calling thread's loop is run meanwhile, not %GRUN_MODE_COMMON; %NULL: the
 *   loop is not run, and the thread is blocked
 * @error: where to put an error of the domain %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends a message that wants no reply. If there is room in the port's queue it does not wait.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortSendRequest` without a reply mode.
 *
 * Returns: %TRUE if the message is in the port's queue; %FALSE with an error
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
 * @func: (scope notified) (closure user_data) (destroy notify): what to call, once
 * @user_data: (nullable): what to give to @func. It must not hold the port, which that would keep
 * @notify: (nullable): called with @user_data after @func
 *
 * Has a function called when the port becomes invalid: on the thread that notices it, in a request, a message that is
 * sent, or grun_remote_message_port_is_valid(). Several are called in the order in which they were given; of a port
 * that is invalid already it is called at once.
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
 * Ends the connection, for all that share it: who waits for a reply gets
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID, and those that asked for it are told. What was sent is still delivered.
 * The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_remote_message_port_invalidate (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_is_valid:
 * @port: a remote message port
 *
 * Asks the kernel, and invalidates a port whose other side has gone. Threads: any. The corresponding Core Foundation
 * function is `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once the other side has gone and what it has sent was received, and once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_remote_message_port_is_valid (GRunRemoteMessagePort *port);

/**
 * grun_remote_message_port_to_string:
 * @port: a remote message port
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the port is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_remote_message_port_to_string (GRunRemoteMessagePort *port);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessagePort, grun_message_port_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessage, grun_message_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunRemoteMessagePort, grun_remote_message_port_unref)

G_END_DECLS

#endif
