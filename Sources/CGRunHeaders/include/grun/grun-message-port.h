/* SPDX-License-Identifier: Apache-2.0 */
/* Message ports: processes of one user send messages to each other by name, and reply. */
#ifndef GRUN_MESSAGE_PORT_H
#define GRUN_MESSAGE_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_message_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE_PORT (grun_message_port_get_type ())

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
 *   made; it is never called while @func runs
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
 * GRunMessagePortInvalidationFunc:
 * @port: (nullable): the port; %NULL if the port became invalid because its last reference was released
 * @user_data: (closure): the data that was given with the function
 *
 * Called once when a message port has become invalid.
 */
typedef void (*GRunMessagePortInvalidationFunc) (GRunMessagePort *port,
                                                 gpointer user_data);

/**
 * grun_message_port_add_invalidation_func:
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
void grun_message_port_add_invalidation_func (GRunMessagePort *port,
                                              GRunMessagePortInvalidationFunc func,
                                              gpointer user_data,
                                              GDestroyNotify notify);

/**
 * grun_message_port_invalidate:
 * @port: a message port
 *
 * Ends the port permanently. It releases the name and ends all connections. Requests that wait for a reply get
 * %GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID. Then it calls the functions of grun_message_port_add_invalidation_func(),
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

/**
 * grun_loop_add_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Adds a message port to a mode, or to every common mode. The loop takes a reference. Adding a port again, or adding an
 * invalid port, does nothing. A port that is in another loop, or has no name, is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation functions are `CFMessagePortCreateRunLoopSource` and
 * `CFRunLoopAddSource`.
 *
 * Returns: %TRUE if the port is in the mode. %FALSE without an error if the call was refused, the port is invalid, or
 *   the loop has ended. %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the port. The
 *   usual error is %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the port has joined none of the
 *   modes.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_message_port (GRunLoop *loop,
                                     GRunMessagePort *port,
                                     const char *mode,
                                     GError **error);

/**
 * grun_loop_remove_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a message port from a mode, or from every common mode. The port keeps its name, and messages wait. If the
 * port is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_message_port (GRunLoop *loop,
                                    GRunMessagePort *port,
                                    const char *mode);

/**
 * grun_loop_contains_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a message port is in a mode of the loop. A port leaves its modes at the end of
 * grun_message_port_invalidate().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the port is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_message_port (GRunLoop *loop,
                                          GRunMessagePort *port,
                                          const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessagePort, grun_message_port_unref)

G_END_DECLS

#endif
