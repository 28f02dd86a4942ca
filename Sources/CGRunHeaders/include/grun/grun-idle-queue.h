/* SPDX-License-Identifier: Apache-2.0 */
/* Idle work: functions that are called when a loop has nothing else to do. */
#ifndef GRUN_IDLE_QUEUE_H
#define GRUN_IDLE_QUEUE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * grun_idle_queue_new:
 * @seconds: for how long functions are called in a pass: after each the next one is called if the time is not used up,
 * and nothing else has become ready; those that are enqueued meanwhile wait for another pass. 0 and less: one function
 * a pass. A time that is too long is no limit, nor is any in virtual time. Not a number is a g_critical(), and %NULL is
 * returned
 *
 * Makes a queue of functions that are called when the loop is about to sleep, and never while anything else is ready:
 * after every observer of %GRUN_ACTIVITY_BEFORE_WAITING, and where a host drives after each of its sources, whatever
 * their priority. Another pass follows, in which everything else has its turn: a function that enqueues itself again
 * keeps the loop awake, but keeps nobody from being served. Several queues take turns. A run that only looks does not
 * sleep, and calls none.
 *
 * A queue is in one loop at a time, and in any number of its modes; in others its functions wait, and so they do while
 * the queue is in no loop. As long as one waits in a mode, that is not finished. While a function runs a nested loop
 * the queue's others wait, and the nested run's mode is finished without them. An empty queue costs nothing. When the
 * loop's thread ends the queue leaves its modes with what it holds.
 *
 * Threads: any. There is no corresponding Core Foundation function; the GLib function g_idle_add() does not wait until
 * nothing is ready.
 *
 * Returns: (transfer full): the queue
 */
GRUN_AVAILABLE_IN_1_0
GRunIdleQueue *grun_idle_queue_new (gdouble seconds);

/**
 * grun_idle_queue_ref:
 * @queue: an idle queue
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same queue
 */
GRUN_AVAILABLE_IN_1_0
GRunIdleQueue *grun_idle_queue_ref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_unref:
 * @queue: (transfer full): an idle queue
 *
 * Gives a reference back. A loop that the queue is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any; with the last reference what the queue holds is dropped, on this thread. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_unref (GRunIdleQueue *queue);

/**
 * grun_idle_queue_get_time_per_pass:
 * @queue: an idle queue
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: for how long its functions are called in a pass, in seconds; 0: one a pass
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_idle_queue_get_time_per_pass (GRunIdleQueue *queue);

/**
 * grun_idle_queue_enqueue:
 * @queue: an idle queue
 * @func: (scope notified) (closure user_data) (destroy notify): what to call, once, on the loop's thread
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is dropped
 *
 * Enqueues a function behind the others. A loop that sleeps in one of the queue's modes wakes.
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
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: how many functions wait to be called
 */
GRUN_AVAILABLE_IN_1_0
guint grun_idle_queue_get_length (GRunIdleQueue *queue);

/**
 * grun_idle_queue_remove_all:
 * @queue: an idle queue
 *
 * Drops the functions that wait, and calls the notify of each on this thread. One that is being called is not
 * concerned.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_remove_all (GRunIdleQueue *queue);

/**
 * grun_idle_queue_invalidate:
 * @queue: an idle queue
 *
 * Takes the queue out of every mode, for good, and drops the functions that wait. The second time it does nothing.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_idle_queue_invalidate (GRunIdleQueue *queue);

/**
 * grun_idle_queue_is_valid:
 * @queue: an idle queue
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_idle_queue_is_valid (GRunIdleQueue *queue);

/**
 * grun_idle_queue_set_label:
 * @queue: an idle queue
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the queue, for people who read grun_idle_queue_to_string() or a trace. Any text is a
 * label, the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any
 * time, also once the queue is invalid. One without a label costs nothing.
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
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_copy_label (GRunIdleQueue *queue);

/**
 * grun_idle_queue_to_string:
 * @queue: an idle queue
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the queue is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_idle_queue_to_string (GRunIdleQueue *queue);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunIdleQueue, grun_idle_queue_unref)

G_END_DECLS

#endif
