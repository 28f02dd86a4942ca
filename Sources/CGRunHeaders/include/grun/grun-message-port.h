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
 * @message: the message; to keep it or to reply later, take a reference
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
 * Called on the loop's thread with each message. It returns the reply. It need not call grun_message_wants_reply(): if
 * the sender wants no reply, the returned data is released.
 *
 * Core Foundation: `CFMessagePortCallBack`.
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
 * @notify: (nullable): called with @user_data when the port is invalidated or freed, or cannot be made; it is never
 *   called while @func runs
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Makes a port that receives messages. @func replies by calling grun_message_reply().
 *
 * Other processes find the port by its name immediately. Messages wait in the kernel until the port is in a loop and
 * the loop runs in a mode of the port: see grun_loop_add_message_port(). The port calls @func with one message in a
 * pass. Messages of one sender arrive in the order in which they were sent. A pass may also handle only a new or ended
 * connection, without a message.
 *
 * A name belongs to one port of the user at a time. It is free again when the port is invalidated, when the port's last
 * reference is released, and when the process ends, even by a crash. The names are in `$XDG_RUNTIME_DIR`, which must
 * belong to this user and have the mode 0700. A forked child has neither the name nor the connections.
 *
 * A child of posix_spawn() or vfork() has copies of the name's lock and of the connections until it calls exec(). If
 * the port's process is killed before that, the name stays taken until the child calls exec().
 * grun_message_port_invalidate() frees the name in any case.
 *
 * A port is in one loop at a time, and in any number of the loop's modes. It serves up to 4,096 senders, and closes the
 * connections of further senders.
 *
 * Threads: any. Core Foundation: `CFMessagePortCreateLocal`, which returns the existing port if a port of this process
 * has the name. grun_message_port_new() fails with %GRUN_ERROR_NAME_TAKEN instead.
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
 * @notify: (nullable): called with @user_data, as in grun_message_port_new()
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Makes a port whose function returns the reply to each message. Otherwise it is like a port of
 * grun_message_port_new().
 *
 * Threads: any. Core Foundation: `CFMessagePortCreateLocal`.
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
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunMessagePort *grun_message_port_ref (GRunMessagePort *port);

/**
 * grun_message_port_unref:
 * @port: (transfer full): a message port
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, the port becomes
 * invalid and is freed, on this thread. A loop holds a reference to each port in its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_unref (GRunMessagePort *port);

/**
 * grun_message_port_copy_name:
 * @port: a message port
 *
 * Returns a copy of the name that grun_message_port_new() or grun_message_port_set_name() has set.
 *
 * Threads: any. Core Foundation: `CFMessagePortGetName`.
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
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Gives the port another name, or its first name. Processes that found the port by its former name stay connected. It
 * is not an error to set the current name again.
 *
 * Threads: any. Core Foundation: `CFMessagePortSetName`.
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
 * @notify: (nullable): called with @user_data after @func
 *
 * Adds a function that is called once when the port becomes invalid. It is called on the thread that invalidates the
 * port or releases its last reference. At that time the name is free, and the port is still in its modes. Functions are
 * called in the order in which they were added. If the port is already invalid, @func is called immediately.
 *
 * The data in @user_data must not own a reference to @port: that would be a reference cycle.
 *
 * Threads: any. Core Foundation: `CFMessagePortSetInvalidationCallBack`.
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
 * releases the port's function and data, and removes the port from every mode. A running call of the port's function
 * continues. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFMessagePortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_invalidate (GRunMessagePort *port);

/**
 * grun_message_port_is_valid:
 * @port: a message port
 *
 * Returns whether the port is valid. An invalid port has no name, and receives no messages.
 *
 * Threads: any. Core Foundation: `CFMessagePortIsValid`.
 *
 * Returns: %FALSE once the port was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_message_port_is_valid (GRunMessagePort *port);

/**
 * grun_message_port_get_maximum_handler_depth:
 * @port: a message port
 *
 * Returns how deeply the port may call its function recursively. An invalid port keeps this number.
 *
 * Threads: any.
 *
 * Returns: the maximum recursion depth, 16 unless grun_message_port_set_maximum_handler_depth() has set it; 0 in a
 *   forked child
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
 * limit, a fast sender could exhaust the thread's stack. When the calls have reached this depth, the loop does not
 * serve the port until a call returns. Messages wait, and the loop sleeps.
 *
 * With a @depth of 1 the function is never called recursively. If the function then waits for a message to its own
 * port, it waits until its timeout. A new value takes effect immediately.
 *
 * Threads: any. `CFMessagePort` has no limit.
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_set_maximum_handler_depth (GRunMessagePort *port,
                                                  guint depth);

/**
 * grun_message_port_set_label:
 * @port: a message port
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_message_port_to_string(), traces and stall reports show on one line, cut to 120 characters.
 * Nobody finds the port by its label: it is not the port's name. The text is copied whole, and may be empty. An invalid
 * port can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_message_port_set_label (GRunMessagePort *port,
                                  const char *label);

/**
 * grun_message_port_copy_label:
 * @port: a message port
 *
 * Returns a copy of the port's label. An invalid port keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the port has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_copy_label (GRunMessagePort *port);

/**
 * grun_message_port_to_string:
 * @port: a message port
 *
 * Describes the port and its state for people, for example in a log. An invalid port can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_message_port_to_string (GRunMessagePort *port);

/**
 * grun_loop_add_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Adds a message port to a mode, or to every common mode. The loop takes a reference. Adding a port again, or adding an
 * invalid port, does nothing. A port that is in another loop, or has no name, is refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFMessagePortCreateRunLoopSource` and `CFRunLoopAddSource`.
 *
 * Returns: %TRUE if the port is in the mode. %FALSE without an error if the call was refused, the port is invalid, or
 *   the loop has ended. %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the port, usually
 *   %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. The port has then
 *   joined none of the common modes, if you named %GRUN_MODE_COMMON.
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
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a message port from a mode, or from every common mode. The port keeps its name, and messages wait. If the
 * port is not in the mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_message_port (GRunLoop *loop,
                                    GRunMessagePort *port,
                                    const char *mode);

/**
 * grun_loop_contains_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a message port is in a mode of the loop. At the end of grun_message_port_invalidate(), the port
 * leaves its modes.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
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
