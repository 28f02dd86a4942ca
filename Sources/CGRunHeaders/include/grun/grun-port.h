/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: version-1 sources through which any thread sends messages to a loop. */
#ifndef GRUN_PORT_H
#define GRUN_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_port_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_PORT (grun_port_get_type ())

/**
 * GRunPortFunc:
 * @message: the message; take a reference to keep it
 * @user_data: (closure): the data that was given with the function
 *
 * Called on the loop's thread with each message, in the order in which the messages were sent. The function may run the
 * loop, send messages, and invalidate the port. Call grun_port_message_get_receive_port() to get the port.
 */
typedef void (*GRunPortFunc) (GRunPortMessage *message,
                              gpointer user_data);

/**
 * grun_port_new:
 * @capacity: the number of messages that may wait; zero or less means one, %G_MAXINT64 means no limit
 * @func: (nullable) (scope notified) (closure user_data) (destroy notify): the function to call with each message; with
 *   %NULL, each message is dropped when its turn comes
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when no reference to the port is left
 *
 * Makes a port that is in no loop yet. You can send messages already: they wait until a loop runs in one of the port's
 * modes. A pass delivers one message. A message wakes a loop that sleeps in one of these modes. If @func runs the loop,
 * the nested run delivers the next message.
 *
 * A port is in one loop at a time, and in any number of the loop's modes. A port keeps its modes from being finished,
 * even if no message ever comes. So you can keep a thread alive with a port. When the loop's thread ends, the port
 * leaves its modes and keeps its waiting messages. It can then be added to another loop. A port needs no file
 * descriptor.
 *
 * A loop holds a reference to each port in its modes, and a message holds a reference to each port that it carries. A
 * port that was sent in a message to itself stays alive until the message is delivered or the port is invalidated.
 *
 * Threads: any. Foundation: `-[NSPort init]` and `-[NSPort setDelegate:]`. Core Foundation: `CFMachPortCreate`.
 *
 * Returns: (transfer full): the port
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_new (gint64 capacity,
                         GRunPortFunc func,
                         gpointer user_data,
                         GDestroyNotify notify);

/**
 * grun_port_ref:
 * @port: a port
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_ref (GRunPort *port);

/**
 * grun_port_unref:
 * @port: (transfer full): a port
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, the waiting messages
 * are released, and the functions of grun_port_add_invalidation_func() are called, on this thread.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_unref (GRunPort *port);

/**
 * grun_port_send:
 * @port: a port
 * @message: the message to send
 *
 * Sends a message if there is room, and never waits. You can also call it on the loop's own thread, and in the function
 * that handles messages.
 *
 * The receiver gets another message object with the same bytes and ports. Components that are added to @message later
 * are sent only if @message is sent again.
 *
 * Threads: any; not from a signal handler. Foundation: `-[NSPort sendBeforeDate:msgid:components:from:reserved:]` with
 * a date that has passed.
 *
 * Returns: %TRUE if the message waits to be delivered; %FALSE if the port is full or invalid. If the port is
 *   invalidated before the message's turn, the message is not delivered.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_port_send (GRunPort *port,
                         GRunPortMessage *message);

/**
 * grun_port_send_before:
 * @port: a port
 * @message: the message to send, as in grun_port_send()
 * @limit: the time at which the call stops waiting for room, in microseconds of g_get_monotonic_time()
 *
 * Sends a message, and blocks the thread while the port is full, until @limit at most. If @limit is zero, negative or a
 * time that has passed, the call does not wait. %G_MAXINT64 means no limit. On the thread of the port's own loop the
 * call does not wait, because no other thread could make room. Waiting threads get room in the order in which they
 * began to wait. If the port is invalidated, they stop waiting.
 *
 * Threads: any; not from a signal handler. Foundation: `-[NSPort sendBeforeDate:msgid:components:from:reserved:]`.
 *
 * Returns: %TRUE if the message waits to be delivered; %FALSE if the port is full or invalid
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_port_send_before (GRunPort *port,
                                GRunPortMessage *message,
                                gint64 limit);

/**
 * grun_port_get_capacity:
 * @port: a port
 *
 * Returns the capacity that was passed to grun_port_new(). If that number was zero or negative, the result is 1.
 *
 * Threads: any.
 *
 * Returns: the number of messages that may wait, at least one
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_port_get_capacity (GRunPort *port);

/**
 * grun_port_get_count:
 * @port: a port
 *
 * Returns how many messages wait in the port. A message that is being handled does not count. An invalid port has no
 * messages.
 *
 * Threads: any.
 *
 * Returns: the number of messages that wait, which other threads may change at any time
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_port_get_count (GRunPort *port);

/**
 * GRunPortInvalidationFunc:
 * @port: (nullable): the port; %NULL if the port became invalid because its last reference was released
 * @user_data: (closure): the data that was given with the function
 *
 * Called once when a port has become invalid.
 */
typedef void (*GRunPortInvalidationFunc) (GRunPort *port,
                                          gpointer user_data);

/**
 * grun_port_add_invalidation_func:
 * @port: a port
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call once
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func
 *
 * Adds a function that is called once when the port becomes invalid. It is called on the thread that invalidates the
 * port or releases its last reference, after the port has left its modes. Functions are called in the order in which
 * they were added. If the port is already invalid, @func is called immediately.
 *
 * The data in @user_data must not own a reference to @port: that would be a reference cycle.
 *
 * Threads: any. Core Foundation: `CFMachPortSetInvalidationCallBack`; Foundation posts
 * `NSPortDidBecomeInvalidNotification`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_add_invalidation_func (GRunPort *port,
                                      GRunPortInvalidationFunc func,
                                      gpointer user_data,
                                      GDestroyNotify notify);

/**
 * grun_port_invalidate:
 * @port: a port
 *
 * Removes the port from every mode, permanently. Sending to the port then fails, also for threads that wait for room.
 * Messages that were not delivered are released on this thread. Then the functions of grun_port_add_invalidation_func()
 * are called. A running call of the port's function continues. A second call does nothing.
 *
 * Threads: any. Foundation: `-[NSPort invalidate]`. Core Foundation: `CFMachPortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_invalidate (GRunPort *port);

/**
 * grun_port_is_valid:
 * @port: a port
 *
 * Returns whether the port is valid. An invalid port is in no mode, and accepts no messages.
 *
 * Threads: any. Foundation: `NSPort.valid`. Core Foundation: `CFMachPortIsValid`.
 *
 * Returns: %FALSE once the port was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_port_is_valid (GRunPort *port);

/**
 * grun_port_set_label:
 * @port: a port
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_port_to_string(), traces and stall reports show on one line, cut to 120 characters. The text
 * is copied whole, and may be empty. An invalid port can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_set_label (GRunPort *port,
                          const char *label);

/**
 * grun_port_copy_label:
 * @port: a port
 *
 * Returns a copy of the port's label. An invalid port keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the port has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_port_copy_label (GRunPort *port);

/**
 * grun_port_to_string:
 * @port: a port
 *
 * Describes the port and its state for people, for example in a log. An invalid port can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_port_to_string (GRunPort *port);

/**
 * grun_loop_add_port:
 * @loop: a loop
 * @port: a port
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds a port to a mode, or to every common mode. The loop takes a reference. If messages wait, a loop that sleeps in
 * the mode wakes. Adding a port again, or adding an invalid port, does nothing. A port that is in another loop is
 * refused with a g_critical().
 *
 * Threads: any. Foundation: `-[NSRunLoop addPort:forMode:]`. Core Foundation: `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_port (GRunLoop *loop,
                         GRunPort *port,
                         const char *mode);

/**
 * grun_loop_remove_port:
 * @loop: a loop
 * @port: a port
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a port from a mode, or from every common mode. Messages that were sent wait until the port is added to a mode
 * again. If the port is not in the mode, nothing happens.
 *
 * Threads: any. Foundation: `-[NSRunLoop removePort:forMode:]`. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_port (GRunLoop *loop,
                            GRunPort *port,
                            const char *mode);

/**
 * grun_loop_contains_port:
 * @loop: a loop
 * @port: a port
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a port is in a mode of the loop. An invalid port is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the port is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_port (GRunLoop *loop,
                                  GRunPort *port,
                                  const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunPort, grun_port_unref)

G_END_DECLS

#endif
