/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: pointers from any thread to a loop. */
#ifndef GRUN_CHANNEL_H
#define GRUN_CHANNEL_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunChannelFunc:
 * @message: what was sent; the function owns it
 * @user_data: (closure): what was given to grun_channel_receive()
 *
 * Called on the loop's thread with each message, in the order in which they came.
 */
typedef void (*GRunChannelFunc) (gpointer message,
                                 gpointer user_data);

/**
 * grun_channel_new: (skip)
 * @capacity: how many messages may wait; those that the loop has taken to deliver do not count any more. Zero and
 * negative mean one, %G_MAXINT64 is no limit
 * @undelivered: (nullable): called with each message that was accepted and is not delivered when the channel ends: on
 * the thread that closes it or lets go of it, on the ending thread of the loop, or, if the loop is delivering just
 * then, on its thread once the function has returned
 *
 * Makes a channel, which carries pointers from any thread to a loop: the fast path between threads. Nothing receives
 * from it before grun_channel_receive(); messages can be sent, and wait. A burst wakes the loop once.
 *
 * Threads: any. The corresponding GLib function is `g_async_queue_new_full`.
 *
 * Returns: (transfer full): the channel
 */
GRUN_AVAILABLE_IN_1_0
GRunChannel *grun_channel_new (gint64 capacity,
                               GDestroyNotify undelivered);

/**
 * grun_channel_ref:
 * @channel: a channel
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same channel
 */
GRUN_AVAILABLE_IN_1_0
GRunChannel *grun_channel_ref (GRunChannel *channel);

/**
 * grun_channel_unref:
 * @channel: (transfer full): a channel
 *
 * Gives a reference back. The last one finishes the channel, as grun_channel_finish(); if it is in no mode, it closes
 * it. After that the pointer must not be used.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_unref (GRunChannel *channel);

/**
 * grun_channel_receive: (skip)
 * @channel: a channel
 * @loop: whose thread receives
 * @mode: the mode in which it does; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call with each message
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the channel has ended, or at once if it has a receiver already
 *
 * Has a function called with each message. A channel has one receiver, for good: a second is refused by a g_critical().
 * Of a loop that has ended the channel is closed at once.
 *
 * In a pass the channel is a version-0 source. A pass delivers what was there when its turn came; after the loop's time
 * slice whatever else is ready has its turn, and the rest comes in a later pass. A run that is nested in @func goes on
 * with the rest.
 *
 * Threads: any. The corresponding Core Foundation functions are `CFRunLoopSourceCreate` and `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_receive (GRunChannel *channel,
                           GRunLoop *loop,
                           const char *mode,
                           GRunChannelFunc func,
                           gpointer user_data,
                           GDestroyNotify notify);

/**
 * grun_channel_send: (skip)
 * @channel: a channel
 * @message: (nullable): what to send; with %GRUN_SEND_RESULT_ENQUEUED the channel owns it
 *
 * Sends a message, without waiting: also on the loop's own thread, and in the function that receives.
 *
 * Threads: any; not from a signal handler. The corresponding GLib function is `g_async_queue_push`.
 *
 * Returns: what became of the message
 */
GRUN_AVAILABLE_IN_1_0
GRunSendResult grun_channel_send (GRunChannel *channel,
                                  gpointer message);

/**
 * grun_channel_finish:
 * @channel: a channel
 *
 * Accepts nothing from now on. What was accepted is delivered; then the channel leaves its modes. The second time it
 * does nothing.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_finish (GRunChannel *channel);

/**
 * grun_channel_close:
 * @channel: a channel
 *
 * Accepts and delivers nothing from now on. What was accepted goes to the function `undelivered`, and the channel
 * leaves its modes. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_close (GRunChannel *channel);

/**
 * grun_channel_is_open:
 * @channel: a channel
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
 *
 * Returns: whether messages are accepted: %FALSE once it was finished or closed, or its loop has ended
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_channel_is_open (GRunChannel *channel);

/**
 * grun_channel_set_label:
 * @channel: a channel
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the channel, for people who read grun_loop_to_string() or a trace. Any text is a label,
 * the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any time,
 * also once the channel is closed. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_channel_set_label (GRunChannel *channel,
                             const char *label);

/**
 * grun_channel_copy_label:
 * @channel: a channel
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_channel_copy_label (GRunChannel *channel);

/**
 * grun_channel_get_capacity:
 * @channel: a channel
 *
 * Threads: any.
 *
 * Returns: how many messages may wait, at least one
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_channel_get_capacity (GRunChannel *channel);

/**
 * grun_channel_get_count:
 * @channel: a channel
 *
 * Threads: any. The corresponding GLib function is `g_async_queue_length`.
 *
 * Returns: how many messages wait to be taken by the loop
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_channel_get_count (GRunChannel *channel);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunChannel, grun_channel_unref)

G_END_DECLS

#endif
