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
 * %GRUN_ACTIVITY_BEFORE_WAITING. If a host drives the loop, the host's other sources also come first, whatever their
 * priority. Another pass follows, in which everything else has its turn. So a function that enqueues itself again keeps
 * the loop awake, but does not starve other work. Several queues take turns. A run with a time limit of zero does not
 * sleep, and so does not call these functions.
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
 * Threads: any. GLib: g_idle_add(), which does not wait until nothing is ready.
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
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunIdleQueue *grun_idle_queue_ref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_unref:
 * @queue: (transfer full): an idle queue
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, the waiting
 * functions are dropped on this thread. A loop holds a reference to each queue in its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_unref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_get_time_per_pass:
 * @queue: an idle queue
 *
 * Returns the time that was passed to grun_idle_queue_new(). The result is 0 instead of a negative time, and the
 * longest possible time instead of a longer one.
 *
 * Threads: any.
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
 * @notify: (nullable): called with @user_data after @func, or when @func is dropped
 *
 * Enqueues a function behind the others. If the loop sleeps in one of the queue's modes, it wakes.
 *
 * Threads: any.
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
 * Threads: any.
 *
 * Returns: the number of functions that wait to be called
 */
GRUN_AVAILABLE_IN_1_0
guint grun_idle_queue_get_length (GRunIdleQueue *queue);

/**
 * grun_idle_queue_remove_all:
 * @queue: an idle queue
 *
 * Drops the functions that wait, and calls the `notify` of each on this thread. A function that is being called is not
 * affected.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_remove_all (GRunIdleQueue *queue);

/**
 * grun_idle_queue_invalidate:
 * @queue: an idle queue
 *
 * Removes the queue from every mode, permanently, and drops the functions that wait. A second call does nothing.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_invalidate (GRunIdleQueue *queue);

/**
 * grun_idle_queue_is_valid:
 * @queue: an idle queue
 *
 * Returns whether the queue is valid. An invalid queue is in no mode, and accepts no functions.
 *
 * Threads: any.
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
 * Sets a label, which grun_idle_queue_to_string(), traces and stall reports show on one line, cut to 120 characters.
 * The text is copied whole, and may be empty. An invalid queue can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_set_label (GRunIdleQueue *queue,
                                const char *label);

/**
 * grun_idle_queue_copy_label:
 * @queue: an idle queue
 *
 * Returns a copy of the queue's label. An invalid queue keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the queue has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_copy_label (GRunIdleQueue *queue);

/**
 * grun_idle_queue_to_string:
 * @queue: an idle queue
 *
 * Describes the queue and its state for people, for example in a log. An invalid queue can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_to_string (GRunIdleQueue *queue);

/**
 * grun_loop_add_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds an idle queue to a mode, or to every common mode. The loop takes a reference. If the queue holds functions, a
 * loop that sleeps in the mode wakes. Adding a queue again, or adding an invalid queue, does nothing. A queue that is
 * in another loop is refused with a g_critical().
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_idle_queue (GRunLoop *loop,
                               GRunIdleQueue *queue,
                               const char *mode);

/**
 * grun_loop_remove_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes an idle queue from a mode, or from every common mode. The queue keeps its functions. If the queue is not in
 * the mode, nothing happens.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_idle_queue (GRunLoop *loop,
                                  GRunIdleQueue *queue,
                                  const char *mode);

/**
 * grun_loop_contains_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether an idle queue is in a mode of the loop. An invalid queue is in no mode.
 *
 * Threads: any.
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
