/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, which carry pointers or values from any thread to a loop. */
#ifndef GRUN_CHANNEL_H
#define GRUN_CHANNEL_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunSendResult:
 * @GRUN_SEND_RESULT_ENQUEUED: the channel accepted the message, which is delivered once, or passed to `undelivered` if
 *   the channel ends first
 * @GRUN_SEND_RESULT_FULL: as many messages wait as the capacity allows; the message was not accepted
 * @GRUN_SEND_RESULT_CLOSED: the channel was closed or invalidated, or its loop has ended; the message was not accepted
 *
 * The result of sending a message to a channel.
 */
typedef enum
{
  GRUN_SEND_RESULT_ENQUEUED,
  GRUN_SEND_RESULT_FULL,
  GRUN_SEND_RESULT_CLOSED
} GRunSendResult;

GRUN_AVAILABLE_IN_1_0
GType grun_send_result_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SEND_RESULT (grun_send_result_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_channel_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_CHANNEL (grun_channel_get_type ())

/**
 * GRunChannelFunc:
 * @message: the message that was sent, or a pointer to the copy of a value; the function owns it
 * @user_data: (closure): the data that was given to grun_channel_receive()
 *
 * Called on the loop's thread with each message, in the order in which the messages came.
 */
typedef void (*GRunChannelFunc) (gpointer message,
                                 gpointer user_data);

/**
 * GRunChannelValueFunc:
 * @value: the value, which is valid during the call; do not unset it, because the channel does so. A pointer that
 *   grun_channel_send() sent arrives as a %G_TYPE_POINTER, and this callback must free it if necessary
 * @user_data: (closure): the data that was passed with the function
 *
 * Called with a value of a channel.
 */
typedef void (*GRunChannelValueFunc) (GValue *value,
                                      gpointer user_data);

/**
 * grun_channel_new: (skip)
 * @capacity: the number of messages that may wait; zero or less means one, %G_MAXINT64 means no limit
 * @undelivered: (nullable): called with each accepted message that was not delivered when the channel ended
 *
 * Makes a channel, which carries pointers from any thread to a loop: the fast path between threads. You can send
 * messages before you call grun_channel_receive(): they wait for the receiver. A burst of messages wakes the loop once.
 * Messages that the loop has taken for delivery do not count towards @capacity.
 *
 * @undelivered also gets the copies that grun_channel_send_value() made: free a copy with `g_boxed_free (G_TYPE_VALUE,
 * message)`. @undelivered is called on the thread that invalidates the channel or releases its last reference, or on
 * the ending thread of the loop. If the loop is delivering a message at that time, @undelivered is called on the loop's
 * thread instead, after the receiving function has returned.
 *
 * Threads: any. GLib: `g_async_queue_new_full`.
 *
 * Returns: (transfer full): the channel
 */
GRUN_AVAILABLE_IN_1_0
GRunChannel *grun_channel_new (gint64 capacity,
                               GDestroyNotify undelivered);

/**
 * grun_channel_new_for_values:
 * @capacity: the number of values that may wait; zero or less means one, %G_MAXINT64 means no limit
 * @undelivered: (nullable) (scope notified) (closure user_data) (destroy notify): called with each accepted value that
 *   was not delivered when the channel ended; if it is %NULL, these values are freed
 * @user_data: (nullable): the data to pass to @undelivered
 * @notify: (nullable): called with @user_data when the channel is freed, after its last reference was released and its
 *   messages were delivered
 *
 * Makes a channel whose function @undelivered gets each message as a #GValue. Use it if you send with
 * grun_channel_send_value(), and in languages that have no pointers.
 * Otherwise the channel is like one of grun_channel_new(), and every function of #GRunChannel accepts it.
 *
 * Threads: any. GLib: `g_async_queue_new_full`.
 *
 * Returns: (transfer full): the channel
 */
GRUN_AVAILABLE_IN_1_0
GRunChannel *grun_channel_new_for_values (gint64 capacity,
                                          GRunChannelValueFunc undelivered,
                                          gpointer user_data,
                                          GDestroyNotify notify);

/**
 * grun_channel_ref:
 * @channel: a channel
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same channel
 */
GRUN_AVAILABLE_IN_1_0
GRunChannel *grun_channel_ref (GRunChannel *channel);

/**
 * grun_channel_unref:
 * @channel: (transfer full): a channel
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, a channel that is in
 * a mode is closed, as by grun_channel_close(). A channel that is in no mode is invalidated.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_unref (GRunChannel *channel);

/**
 * grun_channel_receive: (skip)
 * @channel: a channel
 * @loop: the loop whose thread receives
 * @mode: the mode in which the loop receives; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call with each message
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after the last call of @func, when the channel has ended; immediately if
 *   the channel has a receiver already
 *
 * Calls a function with each message. A channel has one receiver, which is never replaced: a second one is refused with
 * a g_critical(). If the loop has ended, the channel is invalidated immediately.
 *
 * The loop treats the channel as a version-0 source. A pass delivers the messages that wait when the channel's turn
 * comes. When the loop's time slice is used up, other ready work has its turn, and a later pass delivers the rest. If
 * @func runs the loop in one of the channel's modes, the nested run delivers the rest.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceCreate` and `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_receive (GRunChannel *channel,
                           GRunLoop *loop,
                           const char *mode,
                           GRunChannelFunc func,
                           gpointer user_data,
                           GDestroyNotify notify);

/**
 * grun_channel_receive_values:
 * @channel: a channel
 * @loop: the loop whose thread receives
 * @mode: the mode in which the loop receives; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call with each value
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after the last call of @func, when the channel has ended; immediately if
 *   the channel has a receiver already
 *
 * Calls a function with each value that is sent, as grun_channel_receive() does with each pointer. The channel frees
 * the value after the call.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceCreate` and `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_receive_values (GRunChannel *channel,
                                  GRunLoop *loop,
                                  const char *mode,
                                  GRunChannelValueFunc func,
                                  gpointer user_data,
                                  GDestroyNotify notify);

/**
 * grun_channel_send: (skip)
 * @channel: a channel
 * @message: (nullable): the message to send; the channel owns it if the result is %GRUN_SEND_RESULT_ENQUEUED
 *
 * Sends a message if there is room, and never waits. You can also call it on the loop's own thread, and in the function
 * that receives.
 *
 * Threads: any; not from a signal handler. GLib: `g_async_queue_push`.
 *
 * Returns: %GRUN_SEND_RESULT_ENQUEUED if the channel has accepted the message, otherwise the reason why not
 */
GRUN_AVAILABLE_IN_1_0
GRunSendResult grun_channel_send (GRunChannel *channel,
                                  gpointer message);

/**
 * grun_channel_send_value:
 * @channel: a channel
 * @value: the value to send, of any type
 *
 * Sends a copy of a value if there is room, and never waits. You can also call it on the loop's own thread, and in the
 * function that receives. A function of grun_channel_receive() gets a pointer to the copy, and frees it with
 * `g_boxed_free (G_TYPE_VALUE, message)`.
 *
 * Threads: any; not from a signal handler. GLib: `g_async_queue_push`.
 *
 * Returns: %GRUN_SEND_RESULT_ENQUEUED if the channel has accepted the value, otherwise the reason why not
 */
GRUN_AVAILABLE_IN_1_0
GRunSendResult grun_channel_send_value (GRunChannel *channel,
                                        const GValue *value);

/**
 * grun_channel_close:
 * @channel: a channel
 *
 * Ends the channel after its messages are delivered. The channel accepts no more messages. After the last delivery it
 * leaves its modes, which wakes the loop. If the mode of its run has no other items, the run finishes. A second call
 * does nothing.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_close (GRunChannel *channel);

/**
 * grun_channel_invalidate:
 * @channel: a channel
 *
 * Ends the channel immediately: it accepts and delivers no more messages. Accepted messages that were not delivered are
 * passed to the function `undelivered` of grun_channel_new() or grun_channel_new_for_values(). The channel leaves its
 * modes, which wakes the loop. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceInvalidate`, which does not wake the loop.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_invalidate (GRunChannel *channel);

/**
 * grun_channel_is_open:
 * @channel: a channel
 *
 * Returns whether the channel accepts messages. A closed channel may still deliver its last messages.
 *
 * Threads: any.
 *
 * Returns: %TRUE if the channel accepts messages; %FALSE once it was closed or invalidated, or its loop has ended
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_channel_is_open (GRunChannel *channel);

/**
 * grun_channel_set_label:
 * @channel: a channel
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_loop_to_string(), traces and stall reports show on one line, cut to 120 characters. The text
 * is copied whole, and may be empty. An invalid channel can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_set_label (GRunChannel *channel,
                             const char *label);

/**
 * grun_channel_copy_label:
 * @channel: a channel
 *
 * Returns a copy of the channel's label, which stays after the channel has ended.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the channel has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_channel_copy_label (GRunChannel *channel);

/**
 * grun_channel_get_capacity:
 * @channel: a channel
 *
 * Returns the capacity that was passed to grun_channel_new() or grun_channel_new_for_values(). If that number was zero
 * or negative, the result is 1.
 *
 * Threads: any.
 *
 * Returns: the number of messages that may wait, at least one
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_channel_get_capacity (GRunChannel *channel);

/**
 * grun_channel_get_count:
 * @channel: a channel
 *
 * Returns how many messages wait in the channel. Other threads may change this number at any time.
 *
 * Threads: any. GLib: `g_async_queue_length`.
 *
 * Returns: the number of messages that the loop has not taken yet
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_channel_get_count (GRunChannel *channel);

/**
 * grun_loop_add_channel:
 * @loop: the loop that receives from the channel
 * @channel: a channel
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds a channel to another mode of its loop, or to every common mode. Adding a channel again, or adding an invalid
 * channel, does nothing. A channel that another loop receives from, or that has no receiver yet, is refused with a
 * g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_channel (GRunLoop *loop,
                            GRunChannel *channel,
                            const char *mode);

/**
 * grun_loop_remove_channel:
 * @loop: a loop
 * @channel: a channel
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a channel from a mode, or from every common mode. Nothing more is delivered in that mode, not even the rest
 * of a delivery that is under way. The messages wait until the channel is added to a mode again.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_channel (GRunLoop *loop,
                               GRunChannel *channel,
                               const char *mode);

/**
 * grun_loop_contains_channel:
 * @loop: a loop
 * @channel: a channel
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a channel is in a mode of the loop. A channel leaves its modes when it ends.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the channel is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_channel (GRunLoop *loop,
                                     GRunChannel *channel,
                                     const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunChannel, grun_channel_unref)

G_END_DECLS

#endif
