/* SPDX-License-Identifier: Apache-2.0 */
/* Idle work: functions that are called when a loop has nothing else to do. */
#ifndef GRUN_IDLE_QUEUE_H
#define GRUN_IDLE_QUEUE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_idle_queue_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_IDLE_QUEUE (grun_idle_queue_get_type ())

/**
 * grun_idle_queue_new:
 * @seconds: the time for which a pass calls functions, in seconds; zero or less means one function in each pass
 *
 * Makes a queue of functions that are called when the loop is about to sleep, and never while anything else is ready.
 *
 * The functions are called in the order in which they were enqueued, after every observer of
 * %GRUN_ACTIVITY_BEFORE_WAITING. Where a host drives the loop, the host's other sources also come first, whatever their
 * priority. Another pass follows, in which everything else has its turn. So a function that enqueues itself again keeps
 * the loop awake, but does not starve other work. Several queues take turns. A run with a time limit of zero does not
 * sleep, and calls no function.
 *
 * If @seconds is positive, a pass may call several functions. The next function is called if the time is not used up
 * and nothing else has become ready. Functions that are enqueued meanwhile wait for another pass. A time that is too
 * long to represent means no limit. In virtual time, every positive time means no limit. If @seconds is not a number,
 * that is a g_critical().
 *
 * A queue is in one loop at a time, and in any number of the loop's modes. Functions wait while the loop runs in other
 * modes, and while the queue is in no loop. A mode is not finished while functions wait in one of its queues. If a
 * function runs a nested loop, the queue's other functions wait, and do not keep the nested run's mode from being
 * finished. An empty queue costs nothing. When the loop's thread ends, the queue leaves its modes and keeps its
 * functions.
 *
 * Threads: any. There is no corresponding Core Foundation function. The corresponding GLib function is g_idle_add(),
 * which does not wait until nothing is ready.
 *
 * Returns: (transfer full): the queue
 */
GRUN_AVAILABLE_IN_1_0
GRunIdleQueue *grun_idle_queue_new (gdouble seconds);

/**
 * grun_idle_queue_ref:
 * @queue: an idle queue
 *
 * Takes a reference.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunIdleQueue *grun_idle_queue_ref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_unref:
 * @queue: (transfer full): an idle queue
 *
 * Releases a reference. After the last one the pointer must not be used, and the functions that wait in the queue are
 * dropped, on this thread. A loop holds a reference to the queue while the queue is in one of the loop's modes.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_unref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_get_time_per_pass:
 * @queue: an idle queue
 *
 * Returns the time that was passed to grun_idle_queue_new(). If that time was negative, the result is 0. If that time
 * was too long to represent, the result is the longest time that can be represented.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the time for which a pass calls functions of the queue, in seconds; 0 means one function in each pass
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_idle_queue_get_time_per_pass (GRunIdleQueue *queue);

/**
 * grun_idle_queue_enqueue:
 * @queue: an idle queue
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call once, on the loop's thread
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): a function that is called with @user_data after @func, or when @func is dropped
 *
 * Enqueues a function behind the others. If the loop sleeps in one of the queue's modes, it wakes.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %FALSE if the queue is invalid: then @func is dropped
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_idle_queue_enqueue (GRunIdleQueue *queue,
                                  GRunFunc func,
                                  gpointer user_data,
                                  GDestroyNotify notify);

/**
 * grun_idle_queue_get_length:
 * @queue: an idle queue
 *
 * Returns how many functions wait in the queue. A function that is being called does not count. An invalid queue is
 * empty.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the number of functions that wait to be called
 */
GRUN_AVAILABLE_IN_1_0
guint grun_idle_queue_get_length (GRunIdleQueue *queue);

/**
 * grun_idle_queue_remove_all:
 * @queue: an idle queue
 *
 * Drops the functions that wait, and calls the notify function of each on this thread. A function that is being called
 * is not affected.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_remove_all (GRunIdleQueue *queue);

/**
 * grun_idle_queue_invalidate:
 * @queue: an idle queue
 *
 * Removes the queue from every mode, permanently, and drops the functions that wait. A second call does nothing.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_invalidate (GRunIdleQueue *queue);

/**
 * grun_idle_queue_is_valid:
 * @queue: an idle queue
 *
 * Returns whether the queue is valid. An invalid queue is in no mode, and accepts no functions.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %FALSE once the queue was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_idle_queue_is_valid (GRunIdleQueue *queue);

/**
 * grun_idle_queue_set_label:
 * @queue: an idle queue
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label for people who read grun_idle_queue_to_string() or a trace. Any text is a label, even the empty text.
 * The text is copied. It is shown on one line, 120 characters of it at most. You can set the label at any time, also
 * after the queue became invalid. A queue without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_set_label (GRunIdleQueue *queue,
                                const char *label);

/**
 * grun_idle_queue_copy_label:
 * @queue: an idle queue
 *
 * Returns a copy of the queue's label, because another thread may change the label meanwhile. An invalid queue keeps
 * its label.
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): a copy of the whole label; %NULL if the queue has no label. Free it with
 *   g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_copy_label (GRunIdleQueue *queue);

/**
 * grun_idle_queue_to_string:
 * @queue: an idle queue
 *
 * Describes the queue for people, for example in a log. An invalid queue can be described, too.
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): a description of the queue and its state, for people to read; its format may change. Free
 *   it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_to_string (GRunIdleQueue *queue);

/**
 * grun_loop_add_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds an idle queue to a mode, or to every common mode. The loop takes a reference. If the queue holds functions, a
 * loop that sleeps in the mode wakes. Adding a queue again, or adding an invalid queue, does nothing. A queue that is
 * in another loop is refused with a g_critical().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_idle_queue (GRunLoop *loop,
                               GRunIdleQueue *queue,
                               const char *mode);

/**
 * grun_loop_remove_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes an idle queue from a mode, or from every common mode. The queue keeps its functions. If the queue is not in
 * the mode, nothing happens.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_idle_queue (GRunLoop *loop,
                                  GRunIdleQueue *queue,
                                  const char *mode);

/**
 * grun_loop_contains_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether an idle queue is in a mode of the loop. An invalid queue is in no mode.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: whether the queue is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_idle_queue (GRunLoop *loop,
                                        GRunIdleQueue *queue,
                                        const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunIdleQueue, grun_idle_queue_unref)

G_END_DECLS

#endif
