/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of ports. */
#ifndef GRUN_PORT_MESSAGE_H
#define GRUN_PORT_MESSAGE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_port_message_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_PORT_MESSAGE (grun_port_message_get_type ())

/**
 * grun_port_message_new:
 * @id: a number for the meaning of the message, on which sender and receiver agree
 *
 * Makes a message without components. It can be sent any number of times, also while other threads add components.
 *
 * Threads: any. Foundation: `-[NSPortMessage initWithSendPort:receivePort:components:]`.
 *
 * Returns: (transfer full): the message
 */
GRUN_AVAILABLE_IN_1_0
GRunPortMessage *grun_port_message_new (guint32 id);

/**
 * grun_port_message_ref:
 * @message: a message
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same message
 */
GRUN_AVAILABLE_IN_1_0
GRunPortMessage *grun_port_message_ref (GRunPortMessage *message);

/**
 * grun_port_message_unref:
 * @message: (transfer full): a message
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, the message releases
 * its bytes and ports, on this thread.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_unref (GRunPortMessage *message);

/**
 * grun_port_message_add_bytes:
 * @message: a message
 * @bytes: the bytes to add as the last component
 *
 * Adds bytes to a message, which takes a reference to them. The bytes are not copied: C code gets the same #GBytes.
 *
 * Threads: any. Foundation: `NSPortMessage.components`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_add_bytes (GRunPortMessage *message,
                                  GBytes *bytes);

/**
 * grun_port_message_add_port:
 * @message: a message
 * @port: the port to add as the last component
 *
 * Adds a port to a message, so that the receiver can send to this port. The port may be invalid.
 *
 * Threads: any. Foundation: `NSPortMessage.components`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_add_port (GRunPortMessage *message,
                                 GRunPort *port);

/**
 * grun_port_message_set_reply_port:
 * @message: a message
 * @port: (nullable): the port for the reply; %NULL, as in a new message, if the sender wants none
 *
 * Sets the port for the reply.
 *
 * Threads: any. Foundation: `NSPortMessage.sendPort` in a received message, `receivePort` in a message to be sent.
 */
GRUN_AVAILABLE_IN_1_0
void grun_port_message_set_reply_port (GRunPortMessage *message,
                                       GRunPort *port);

/**
 * grun_port_message_get_id:
 * @message: a message
 *
 * Returns the number of the message. A received message has the number of the message that was sent.
 *
 * Threads: any. Foundation: `NSPortMessage.msgid`.
 *
 * Returns: the number that was given to grun_port_message_new()
 */
GRUN_AVAILABLE_IN_1_0
guint32 grun_port_message_get_id (GRunPortMessage *message);

/**
 * grun_port_message_get_n_components:
 * @message: a message
 *
 * Returns how many components the message has, bytes and ports together.
 *
 * Threads: any. Foundation: `NSPortMessage.components`.
 *
 * Returns: the number of components of the message
 */
GRUN_AVAILABLE_IN_1_0
guint grun_port_message_get_n_components (GRunPortMessage *message);

/**
 * grun_port_message_get_bytes:
 * @message: a message
 * @index: the index of the component, below grun_port_message_get_n_components()
 *
 * Returns the bytes of a component. If @index is too large, that is a g_critical(), and %NULL is returned.
 *
 * Threads: any. Foundation: `NSPortMessage.components`.
 *
 * Returns: (transfer full) (nullable): the bytes; %NULL if the component is a port. If C code has added the bytes, they
 *   are not copied. If Swift code has sent them, each call returns a new copy.
 */
GRUN_AVAILABLE_IN_1_0
GBytes *grun_port_message_get_bytes (GRunPortMessage *message,
                                     guint index);

/**
 * grun_port_message_get_port:
 * @message: a message
 * @index: the index of the component, below grun_port_message_get_n_components()
 *
 * Returns the port of a component, which may be invalid. If @index is too large, that is a g_critical(), and %NULL is
 * returned.
 *
 * Threads: any. Foundation: `NSPortMessage.components`.
 *
 * Returns: (transfer full) (nullable): the port; %NULL if the component is bytes
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_port (GRunPortMessage *message,
                                      guint index);

/**
 * grun_port_message_get_reply_port:
 * @message: a message
 *
 * Returns the port to which the receiver sends its reply. The port may be invalid.
 *
 * Threads: any. Foundation: `NSPortMessage.sendPort` in a received message, `receivePort` in a message to be sent.
 *
 * Returns: (transfer full) (nullable): the port for the reply; %NULL if the sender wants none
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_reply_port (GRunPortMessage *message);

/**
 * grun_port_message_get_receive_port:
 * @message: a message
 *
 * Returns the port that has received the message.
 *
 * Threads: any. Foundation: `NSPortMessage.receivePort`.
 *
 * Returns: (transfer full) (nullable): the port; %NULL if no port has passed the message to its function
 */
GRUN_AVAILABLE_IN_1_0
GRunPort *grun_port_message_get_receive_port (GRunPortMessage *message);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunPortMessage, grun_port_message_unref)

G_END_DECLS

#endif
