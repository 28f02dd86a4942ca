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
 * GRunActivity:
 * @GRUN_ACTIVITY_ENTRY: a run begins
 * @GRUN_ACTIVITY_BEFORE_TIMERS: a pass begins
 * @GRUN_ACTIVITY_BEFORE_SOURCES: the version-0 sources are performed next
 * @GRUN_ACTIVITY_BEFORE_WAITING: the loop is about to sleep
 * @GRUN_ACTIVITY_AFTER_WAITING: the loop has woken up
 * @GRUN_ACTIVITY_EXIT: a run ends
 * @GRUN_ACTIVITY_ALL: every stage
 *
 * The stages of a run at which observers can be called. Core Foundation: `CFRunLoopActivity`, with the same values.
 */
typedef enum /*< flags >*/
{
  GRUN_ACTIVITY_ENTRY = 1 << 0,
  GRUN_ACTIVITY_BEFORE_TIMERS = 1 << 1,
  GRUN_ACTIVITY_BEFORE_SOURCES = 1 << 2,
  GRUN_ACTIVITY_BEFORE_WAITING = 1 << 5,
  GRUN_ACTIVITY_AFTER_WAITING = 1 << 6,
  GRUN_ACTIVITY_EXIT = 1 << 7,
  GRUN_ACTIVITY_ALL = 0x0FFFFFFF
} GRunActivity;

GRUN_AVAILABLE_IN_1_0
GType grun_activity_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_ACTIVITY (grun_activity_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_observer_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_OBSERVER (grun_observer_get_type ())

/**
 * GRunObserverFunc:
 * @observer: the observer
 * @activity: the stage, which is one of the observer's stages
 * @user_data: (closure): the data that was passed to grun_observer_new()
 *
 * A function that is called on the loop's thread at the stages of its observer.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the observer
 */
typedef gboolean (*GRunObserverFunc) (GRunObserver *observer,
                                      GRunActivity activity,
                                      gpointer user_data);

/**
 * grun_observer_new:
 * @activities: the stages at which the observer is called
 * @repeats: whether the observer is called more than once; %FALSE means once in all, at the first stage that matches,
 *   after which the observer is invalidated
 * @order: the order of the observer: observers are called in ascending order, and observers of equal order in the order
 *   in which they were added
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the observer is invalidated or freed
 *
 * Creates an observer, which is in one loop at a time, and in any number of the loop's modes. An observer does not keep
 * a mode from being finished. While its function runs a nested loop, the observer is not called there.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverCreate`.
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
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same observer
 */
GRUN_AVAILABLE_IN_1_0
GRunObserver *grun_observer_ref (GRunObserver *observer);

/**
 * grun_observer_unref:
 * @observer: (transfer full): an observer
 *
 * Releases a reference. Do not use the pointer after your last release. A loop holds a reference to each observer in
 * its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_unref (GRunObserver *observer);

/**
 * grun_observer_get_activities:
 * @observer: an observer
 *
 * Returns the stages that were passed to grun_observer_new(). An invalid observer keeps its stages.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverGetActivities`.
 *
 * Returns: the stages at which the observer is called
 */
GRUN_AVAILABLE_IN_1_0
GRunActivity grun_observer_get_activities (GRunObserver *observer);

/**
 * grun_observer_does_repeat:
 * @observer: an observer
 *
 * Returns whether the observer repeats. If not, it is invalidated after its first call.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverDoesRepeat`.
 *
 * Returns: whether the observer is called more than once
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_observer_does_repeat (GRunObserver *observer);

/**
 * grun_observer_get_order:
 * @observer: an observer
 *
 * Returns the order of the observer. Observers are called in ascending order.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverGetOrder`.
 *
 * Returns: the order that was passed to grun_observer_new()
 */
GRUN_AVAILABLE_IN_1_0
gint grun_observer_get_order (GRunObserver *observer);

/**
 * grun_observer_invalidate:
 * @observer: an observer
 *
 * Removes the observer from every mode, permanently, and calls its `notify` on this thread. If the observer's function
 * is running, `notify` is called after that function has returned, perhaps on the thread that ran it. A second call
 * does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_invalidate (GRunObserver *observer);

/**
 * grun_observer_is_valid:
 * @observer: an observer
 *
 * Returns whether the observer is valid. An invalid observer is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopObserverIsValid`.
 *
 * Returns: %FALSE once the observer was invalidated. An observer that does not repeat is invalidated after its call.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_observer_is_valid (GRunObserver *observer);

/**
 * grun_observer_set_label:
 * @observer: an observer
 * @label: (nullable): the label, a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_observer_to_string(), traces and stall reports show on one line, cut to 120 characters. The
 * text is copied whole, and may be empty. An invalid observer can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_observer_set_label (GRunObserver *observer,
                              const char *label);

/**
 * grun_observer_copy_label:
 * @observer: an observer
 *
 * Returns a copy of the observer's label. An invalid observer keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the observer has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_observer_copy_label (GRunObserver *observer);

/**
 * grun_observer_to_string:
 * @observer: an observer
 *
 * Describes the observer and its state for people, for example in a log. An invalid observer can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): a text for people: whether the observer is valid and repeats, its stages and its order;
 *   free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_observer_to_string (GRunObserver *observer);

/**
 * grun_loop_add_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds an observer to a mode, or to every common mode. The loop takes a reference. Adding an observer again, or adding
 * an invalid observer, does nothing. An observer that is in another loop is refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_observer (GRunLoop *loop,
                             GRunObserver *observer,
                             const char *mode);

/**
 * grun_loop_remove_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes an observer from a mode, or from every common mode. The observer stays valid. If the observer is not in the
 * mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_observer (GRunLoop *loop,
                                GRunObserver *observer,
                                const char *mode);

/**
 * grun_loop_contains_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether an observer is in a mode of the loop. An invalid observer is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsObserver`.
 *
 * Returns: whether the observer is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_observer (GRunLoop *loop,
                                      GRunObserver *observer,
                                      const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunObserver, grun_observer_unref)

G_END_DECLS

GRUN_DEFINE_FLAG_OPERATORS (GRunActivity)

#endif
