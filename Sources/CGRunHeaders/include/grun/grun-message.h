/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of message ports, and the replies to requests. */
#ifndef GRUN_MESSAGE_H
#define GRUN_MESSAGE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRUN_MESSAGE_REQUEST_ERROR:
 *
 * The error domain of messages and requests to message ports: see #GRunMessageRequestError.
 */
#define GRUN_MESSAGE_REQUEST_ERROR (grun_message_request_error_quark ())

/**
 * GRunMessageRequestError:
 * @GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT: the port's queue was full until the send timeout; the message was not sent
 * @GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT: no reply came before the receive timeout; a reply that comes later is
 *   dropped
 * @GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID: the port is invalid, or became so before the message was sent; the port has
 *   not handled the message
 * @GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR: the message cannot be sent: it is too large or has too many descriptors,
 *   a descriptor is not open, or memory or descriptors are used up; the error's message names the reason
 * @GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID: the port became invalid after the message was sent, for example because
 *   its process ended
 * @GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED: the receiver released the message without a reply
 * @GRUN_MESSAGE_REQUEST_ERROR_CANCELLED: grun_remote_message_port_cancel_request() or
 *   grun_remote_message_port_cancel_wait() was called
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

GRUN_AVAILABLE_IN_1_0
GType grun_message_request_error_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE_REQUEST_ERROR (grun_message_request_error_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_message_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_MESSAGE (grun_message_get_type ())

/**
 * grun_message_ref:
 * @message: a message
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same message
 */
GRUN_AVAILABLE_IN_1_0
GRunMessage *grun_message_ref (GRunMessage *message);

/**
 * grun_message_unref:
 * @message: (transfer full): a message
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, descriptors that
 * were not taken are closed. A sender that still waits for a reply then gets %GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED.
 *
 * Threads: any. Core Foundation: `CFRelease`.
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
 * grun_message_get_size() first. If the sender has left out a page, which this library never does, all bytes read as
 * zeros.
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
 * Threads: any. Core Foundation: `CFDataGetLength`. GLib: g_bytes_get_size().
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
 * Takes the descriptors that came with the message, in the order in which they were sent. They are close-on-exec. The
 * caller owns them and closes them. A second call returns none. When the message is freed, it closes descriptors that
 * were not taken.
 *
 * Threads: any. GLib: g_unix_fd_message_steal_fds().
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
 * Returns whether the message is a request. grun_message_reply() on another message is a g_critical().
 *
 * Threads: any.
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
 * @error: a return location for a %GRUN_MESSAGE_REQUEST_ERROR, or %NULL
 *
 * Sends the reply to a message, without waiting. A message has one reply: a second one is not sent, and logs a
 * g_critical(). The receiver gets copies of the descriptors, and the caller keeps its own.
 *
 * The reply waits in the port's queue while the client's queue is full, and while memory or descriptors are short. The
 * reply also waits while 16 MiB of earlier replies, or one larger reply, are not taken yet by the client's process. The
 * port disconnects a client when 64 MiB, 1,024 replies or 64 descriptors wait for the client's process. The port also
 * disconnects a client for which a reply waits already, if the untaken replies of all clients would exceed 256 MiB.
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

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunMessage, grun_message_unref)

G_END_DECLS

#endif
