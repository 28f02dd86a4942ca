/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: version-1 sources by which threads send messages to a loop. */
#ifndef GRUN_PORT_H
#define GRUN_PORT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Ports */

/**
 * GRunPortFunc:
 * @message: what has come; take a reference to keep it
 * @user_data: (closure): what was given with the function
 *
 * Called on the loop's thread with each message, in the order in which they were sent. It may run the loop, send, and
 * invalidate the port, which is grun_port_message_get_receive_port().
 */
typedef void (*GRunPortFunc) (GRunPortMessage *message,
                              gpointer user_data);

/**
 * grun_port_new:
 * @capacity: how many messages may wait. Zero and negative mean one, %G_MAXINT64 is no limit
 * @func: (nullable) (scope notified) (closure user_data) (destroy notify): what to call with each message; %NULL:
 * messages are dropped when their turn comes
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the port goes, with the last reference to it
 *
 * Makes a port, which is in no loop yet; messages can be sent, and wait: while no mode of the port's is run, and until
 * it is their turn, one a pass. A message wakes a loop that sleeps in one of these modes. While @func runs the loop,
 * the nested run goes on with the next message.
 *
 * A port is in one loop at a time, and in any number of its modes. It keeps such a mode from being finished though no
 * message ever comes: by that a thread can be kept alive. When the loop's thread ends the port leaves its modes with
 * what waits, and can be added to another loop. It needs no descriptor.
 *
 * The loop holds a port that is in a mode, and so does a message that carries it. One that waits in its own queue holds
 * itself, until it is delivered or the port is invalidated.
 *
 * Threads: any. The corresponding Foundation functions are `-[NSPort init]` and `-[NSPort setDelegate:]`, Core
 * Foundation's is `CFMachPortCreate`.
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
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same port
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_ref (GRunPort *port);

/**
 * grun_port_unref:
 * @port: (transfer full): a port
 *
 * Gives a reference back. After the last one the pointer must not be used: what waits in the port is let go, on this
 * thread, and those that grun_port_on_invalidation() has noted are called.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_unref (GRunPort *port);

/**
 * grun_port_send:
 * @port: a port
 * @message: what to send. The receiver gets a message of its own, with the same bytes and ports: what is added to this
 * one later goes with the next time that it is sent
 *
 * Sends a message, without waiting: also on the loop's own thread, and in the function that handles messages.
 *
 * Threads: any; not from a signal handler. The corresponding Foundation function is
 * `-[NSPort sendBeforeDate:msgid:components:from:reserved:]` with a date that has passed.
 *
 * Returns: %TRUE if the message waits to be delivered; %FALSE if the port is full or invalid. It is not delivered if
 *   the port is invalidated before its turn
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_port_send (GRunPort *port,
                         GRunPortMessage *message);

/**
 * grun_port_send_before:
 * @port: a port
 * @message: what to send, as with grun_port_send()
 * @limit: until when to wait for room, in microseconds of g_get_monotonic_time(). A date that has passed, 0 and
 * negative: not at all; %G_MAXINT64: as long as it takes
 *
 * Sends a message. While the port is full the thread waits; but not the thread of the port's own loop, where nobody
 * else could make room. Threads that wait are served in the order in which they came; an invalidation ends their wait.
 *
 * Threads: any; not from a signal handler. The corresponding Foundation function is
 * `-[NSPort sendBeforeDate:msgid:components:from:reserved:]`.
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
 * Threads: any.
 *
 * Returns: how many messages may wait, at least one
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_port_get_capacity (GRunPort *port);

/**
 * grun_port_get_count:
 * @port: a port
 *
 * Threads: any.
 *
 * Returns: how many messages wait; it may have changed when this returns
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_port_get_count (GRunPort *port);

/**
 * grun_port_on_invalidation:
 * @port: a port
 * @func: (scope notified) (closure user_data) (destroy notify): what to call, once
 * @user_data: (nullable): what to give to @func. It must not hold the port, which that would keep
 * @notify: (nullable): called with @user_data after @func
 *
 * Has a function called when the port becomes invalid: on the thread that invalidates it or lets go of it, after the
 * port has left its modes. Several are called in the order in which they were given; of a port that is invalid already
 * it is called at once.
 *
 * Threads: any. The corresponding Core Foundation function is `CFMachPortSetInvalidationCallBack`; Foundation posts
 * `NSPortDidBecomeInvalidNotification`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_on_invalidation (GRunPort *port,
                                GRunFunc func,
                                gpointer user_data,
                                GDestroyNotify notify);

/**
 * grun_port_invalidate:
 * @port: a port
 *
 * Takes the port out of every mode, for good. Nothing can be sent to it any more, who waits to send is told, and what
 * was not delivered is let go, on this thread. A function that is handling a message goes on. The second time it does
 * nothing.
 *
 * Threads: any. The corresponding Foundation function is `-[NSPort invalidate]`, Core Foundation's is
 * `CFMachPortInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_invalidate (GRunPort *port);

/**
 * grun_port_is_valid:
 * @port: a port
 *
 * Threads: any. The corresponding Foundation property is `NSPort.valid`, Core Foundation's function is
 * `CFMachPortIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_port_is_valid (GRunPort *port);

/**
 * grun_port_set_label:
 * @port: a port
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the port, for people who read grun_port_to_string() or a trace. Any text is a label, the
 * empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any time, also
 * once the port is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_set_label (GRunPort *port,
                          const char *label);

/**
 * grun_port_copy_label:
 * @port: a port
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_port_copy_label (GRunPort *port);

/**
 * grun_port_to_string:
 * @port: a port
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the port is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_port_to_string (GRunPort *port);

/* Messages */

/**
 * grun_port_message_new:
 * @id: what the message means: for sender and receiver to agree on
 *
 * Makes a message without components, which can be sent any number of times, also while others are adding to it.
 *
 * Threads: any. The corresponding Foundation function is `-[NSPortMessage initWithSendPort:receivePort:components:]`.
 *
 * Returns: (transfer full): the message
 */
GRUN_AVAILABLE_IN_1_0
GRunPortMessage *grun_port_message_new (guint32 id);

/**
 * grun_port_message_ref:
 * @message: a message
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same message
 */
GRUN_AVAILABLE_IN_1_0
GRunPortMessage *grun_port_message_ref (GRunPortMessage *message);

/**
 * grun_port_message_unref:
 * @message: (transfer full): a message
 *
 * Gives a reference back. After the last one the pointer must not be used.
 *
 * Threads: any; with the last reference the bytes and ports that nobody else holds are let go, on this thread.
 * `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_unref (GRunPortMessage *message);

/**
 * grun_port_message_add_bytes:
 * @message: a message
 * @bytes: what to add as the last component
 *
 * Adds bytes, of which the message takes a reference. They are not copied: a receiver in C gets these.
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.components`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_add_bytes (GRunPortMessage *message,
                                  GBytes *bytes);

/**
 * grun_port_message_add_port:
 * @message: a message
 * @port: what to add as the last component. One that is invalid is carried like any other: it may become so on the way
 *
 * Adds a port, to which the receiver can send.
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.components`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_add_port (GRunPortMessage *message,
                                 GRunPort *port);

/**
 * grun_port_message_set_reply_port:
 * @message: a message
 * @port: (nullable): where the sender wants its answer; %NULL: nowhere, as at first
 *
 * Says where to answer.
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.sendPort` of a message that was received, and
 * `receivePort` of one to be sent.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_set_reply_port (GRunPortMessage *message,
                                       GRunPort *port);

/**
 * grun_port_message_get_id:
 * @message: a message
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.msgid`.
 *
 * Returns: what it was made with
 */
GRUN_AVAILABLE_IN_1_0
guint32 grun_port_message_get_id (GRunPortMessage *message);

/**
 * grun_port_message_get_n_components:
 * @message: a message
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.components`.
 *
 * Returns: how many components it has
 */
GRUN_AVAILABLE_IN_1_0
guint grun_port_message_get_n_components (GRunPortMessage *message);

/**
 * grun_port_message_get_bytes:
 * @message: a message
 * @index: which component, below grun_port_message_get_n_components()
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.components`.
 *
 * Returns: (transfer full) (nullable): the component: the bytes that C has added; of those that Swift has sent a copy,
 *   each time; %NULL if it is a port
 */
GRUN_AVAILABLE_IN_1_0
GBytes *grun_port_message_get_bytes (GRunPortMessage *message,
                                     guint index);

/**
 * grun_port_message_get_port:
 * @message: a message
 * @index: which component, below grun_port_message_get_n_components()
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.components`.
 *
 * Returns: (transfer full) (nullable): the component; %NULL if it is bytes
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_port (GRunPortMessage *message,
                                      guint index);

/**
 * grun_port_message_get_reply_port:
 * @message: a message
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.sendPort` of a message that was received, and
 * `receivePort` of one to be sent.
 *
 * Returns: (transfer full) (nullable): where the sender wants its answer; %NULL: nowhere
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_reply_port (GRunPortMessage *message);

/**
 * grun_port_message_get_receive_port:
 * @message: a message
 *
 * Threads: any. The corresponding Foundation property is `NSPortMessage.receivePort`.
 *
 * Returns: (transfer full) (nullable): the port through which it came; %NULL of one that was not delivered
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_receive_port (GRunPortMessage *message);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunPort, grun_port_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunPortMessage, grun_port_message_unref)

G_END_DECLS

#endif
