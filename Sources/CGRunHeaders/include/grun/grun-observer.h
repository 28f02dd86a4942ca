/* SPDX-License-Identifier: Apache-2.0 */
/* Observers: functions that are called at given stages of a run. CFRunLoopObserver. */
#ifndef GRUN_OBSERVER_H
#define GRUN_OBSERVER_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunObserverFunc:
 * @observer: the observer
 * @activity: the stage: one of those that it was made for
 * @user_data: (closure): what was given to grun_observer_new()
 *
 * Called on the loop's thread.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the observer
 */
typedef gboolean (*GRunObserverFunc) (GRunObserver *observer,
                                      GRunActivity activity,
                                      gpointer user_data);

/**
 * grun_observer_new:
 * @activities: the stages to be called at
 * @repeats: %FALSE means that it is called once in all, for the first stage that matches, and invalidated after that
 * @order: observers are called in ascending order; equal ones in the order in which they were added
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the observer is invalidated
 *
 * Makes an observer. It is in one loop at a time, and in any number of its modes. It does not keep a mode from being
 * finished. While its function runs a nested loop, it is not called there.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverCreate`.
 *
 * Returns: (transfer full): the observer
 */
GRUN_AVAILABLE_IN_1_0
GRunObserver *grun_observer_new (GRunActivity activities,
                                 gboolean repeats,
                                 gint order,
                                 GRunObserverFunc func,
                                 gpointer user_data,
                                 GDestroyNotify notify);

/**
 * grun_observer_ref:
 * @observer: an observer
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same observer
 */
GRUN_AVAILABLE_IN_1_0
GRunObserver *grun_observer_ref (GRunObserver *observer);

/**
 * grun_observer_unref:
 * @observer: (transfer full): an observer
 *
 * Gives a reference back. A loop that the observer is in holds one of its own. After the last one the pointer must not
 * be used.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_unref (GRunObserver *observer);

/**
 * grun_observer_get_activities:
 * @observer: an observer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverGetActivities`.
 *
 * Returns: the stages that it was made for
 */
GRUN_AVAILABLE_IN_1_0
GRunActivity grun_observer_get_activities (GRunObserver *observer);

/**
 * grun_observer_does_repeat:
 * @observer: an observer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverDoesRepeat`.
 *
 * Returns: whether it is called more than once
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_observer_does_repeat (GRunObserver *observer);

/**
 * grun_observer_get_order:
 * @observer: an observer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverGetOrder`.
 *
 * Returns: the order that it was made with
 */
GRUN_AVAILABLE_IN_1_0
gint grun_observer_get_order (GRunObserver *observer);

/**
 * grun_observer_invalidate:
 * @observer: an observer
 *
 * Takes the observer out of every mode, for good, and calls @notify on this thread; if its function is running just
 * now, after that. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_invalidate (GRunObserver *observer);

/**
 * grun_observer_is_valid:
 * @observer: an observer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_observer_is_valid (GRunObserver *observer);

/**
 * grun_observer_set_label:
 * @observer: an observer
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the observer, for people who read grun_observer_to_string() or a trace. Any text is a
 * label, the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any
 * time, also once the observer is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_set_label (GRunObserver *observer,
                              const char *label);

/**
 * grun_observer_copy_label:
 * @observer: an observer
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_observer_copy_label (GRunObserver *observer);

/**
 * grun_observer_to_string:
 * @observer: an observer
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the observer is, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_observer_to_string (GRunObserver *observer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunObserver, grun_observer_unref)

G_END_DECLS

#endif
