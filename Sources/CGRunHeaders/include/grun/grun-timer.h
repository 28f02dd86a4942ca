/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: one-shot or repeating on a fixed grid, movable, with a tolerance. CFRunLoopTimer. */
#ifndef GRUN_TIMER_H
#define GRUN_TIMER_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_timer_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_TIMER (grun_timer_get_type ())

/**
 * GRunTimerFunc:
 * @timer: the timer that fires
 * @user_data: (closure): the data that was passed when the timer was created
 *
 * A function that is called when a timer fires: on the loop's thread, or on the thread that calls grun_timer_fire().
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the timer; a one-shot timer is invalidated in any case
 */
typedef gboolean (*GRunTimerFunc) (GRunTimer *timer,
                                   gpointer user_data);

/**
 * grun_timer_new:
 * @seconds: the time until the timer first fires and, in a repeating timer, the time between two dates, in seconds
 * @repeats: whether the timer repeats; %FALSE makes a one-shot timer
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the timer is invalidated or freed; a one-shot timer is invalidated
 *   after it has fired
 *
 * Creates a timer whose first fire date is @seconds from now. The timer fires only while it is in a loop: see
 * grun_loop_add_timer().
 *
 * Zero or negative @seconds mean 0.1 ms in a repeating timer, and now in a one-shot timer. Infinity means 16 years, the
 * longest time.
 *
 * A timer never fires before its date. A repeating timer keeps to its grid of dates. Its next date is the first date of
 * the grid after @func has returned: missed dates are skipped.
 *
 * A timer is in one loop at a time, and in any number of the loop's modes. It does not fire in a nested run that its
 * own function starts.
 *
 * Threads: any. Foundation: `-[NSTimer timerWithTimeInterval:repeats:block:]`.
 *
 * Returns: (transfer full): the timer
 */
GRUN_AVAILABLE_IN_1_0
GRunTimer *grun_timer_new (gdouble seconds,
                           gboolean repeats,
                           GRunTimerFunc func,
                           gpointer user_data,
                           GDestroyNotify notify);

/**
 * grun_timer_new_at:
 * @fire_date: the first fire date, in microseconds as g_get_monotonic_time() counts them; a date that has passed means
 *   now
 * @seconds: the time between two dates, in seconds; zero or negative makes a one-shot timer; infinity means 16 years,
 *   the longest time
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the timer is invalidated or freed; a one-shot timer is invalidated
 *   after it has fired
 *
 * Creates a timer whose first fire date is a point in time. See grun_timer_new().
 *
 * If @fire_date is more than 16 years ahead, the timer fires in 16 years, but grun_timer_get_next_fire_date() returns
 * the date as it was given.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerCreate`.
 *
 * Returns: (transfer full): the timer
 */
GRUN_AVAILABLE_IN_1_0
GRunTimer *grun_timer_new_at (gint64 fire_date,
                              gdouble seconds,
                              GRunTimerFunc func,
                              gpointer user_data,
                              GDestroyNotify notify);

/**
 * grun_timer_ref:
 * @timer: a timer
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same timer
 */
GRUN_AVAILABLE_IN_1_0
GRunTimer *grun_timer_ref (GRunTimer *timer);

/**
 * grun_timer_unref:
 * @timer: (transfer full): a timer
 *
 * Releases a reference. Do not use the pointer after your last release. A loop holds a reference to each timer in its
 * modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_unref (GRunTimer *timer);

/**
 * grun_timer_get_next_fire_date:
 * @timer: a timer
 *
 * Returns the date at which the timer fires next, without the timer's tolerance. A date that has passed means that the
 * timer is overdue, or that its function is running.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerGetNextFireDate`.
 *
 * Returns: the timer's next fire date, in microseconds as g_get_monotonic_time() counts them; -1 once the timer is
 *   invalid
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_timer_get_next_fire_date (GRunTimer *timer);

/**
 * grun_timer_set_next_fire_date:
 * @timer: a timer
 * @fire_date: the new date, in microseconds as g_get_monotonic_time() counts them; a date that has passed means now
 *
 * Moves the timer to a new date, in all its modes. On an invalid timer, this does nothing. A call on another thread
 * than the loop's wakes the loop. If @fire_date is more than 16 years ahead, the timer fires in 16 years.
 *
 * Inside the timer's own function, the new date replaces the next date of the grid. A one-shot timer cannot be moved
 * from inside its function.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerSetNextFireDate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_next_fire_date (GRunTimer *timer,
                                    gint64 fire_date);

/**
 * grun_timer_get_interval:
 * @timer: a timer
 *
 * Returns the time between two dates of a repeating timer, which is at most 16 years. An invalid timer keeps its
 * interval.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerGetInterval`.
 *
 * Returns: the seconds between two dates of the timer; 0 in a one-shot timer
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_timer_get_interval (GRunTimer *timer);

/**
 * grun_timer_does_repeat:
 * @timer: a timer
 *
 * Returns whether the timer repeats. A timer that does not repeat is invalidated after it has fired.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerDoesRepeat`.
 *
 * Returns: whether the timer fires more than once
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timer_does_repeat (GRunTimer *timer);

/**
 * grun_timer_get_tolerance:
 * @timer: a timer
 *
 * Returns how much later than its date the timer may fire, as grun_timer_set_tolerance() has limited it.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerGetTolerance`.
 *
 * Returns: the tolerance, in seconds
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_timer_get_tolerance (GRunTimer *timer);

/**
 * grun_timer_set_tolerance:
 * @timer: a timer
 * @seconds: how many seconds after its date the timer may fire; a negative number means 0; a repeating timer uses at
 *   most half its interval
 *
 * Sets how much later than its date the timer may fire. With a tolerance, the loop can handle several timers in one
 * wake-up. The tolerance of a new timer is 0.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerSetTolerance`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_tolerance (GRunTimer *timer,
                               gdouble seconds);

/**
 * grun_timer_fire:
 * @timer: a timer
 *
 * Calls the timer's function now, on this thread. A repeating timer keeps its dates. A one-shot timer is invalidated
 * after the call. An invalid timer ignores the call.
 *
 * Threads: any. Foundation: `-[NSTimer fire]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_fire (GRunTimer *timer);

/**
 * grun_timer_invalidate:
 * @timer: a timer
 *
 * Removes the timer from every mode, permanently, and calls its `notify` on this thread. If the timer's function is
 * running, `notify` is called after that function has returned, perhaps on the thread that ran it. A second call does
 * nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_invalidate (GRunTimer *timer);

/**
 * grun_timer_is_valid:
 * @timer: a timer
 *
 * Returns whether the timer is valid. An invalid timer is in no mode, and does not fire.
 *
 * Threads: any. Core Foundation: `CFRunLoopTimerIsValid`.
 *
 * Returns: %FALSE once the timer was invalidated. A one-shot timer is invalidated when it fires.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timer_is_valid (GRunTimer *timer);

/**
 * grun_timer_set_label:
 * @timer: a timer
 * @label: (nullable): the label, a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_timer_to_string(), traces and stall reports show on one line, cut to 120 characters. The
 * text is copied whole, and may be empty. An invalid timer can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_label (GRunTimer *timer,
                           const char *label);

/**
 * grun_timer_copy_label:
 * @timer: a timer
 *
 * Returns a copy of the timer's label. An invalid timer keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the timer has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_timer_copy_label (GRunTimer *timer);

/**
 * grun_timer_to_string:
 * @timer: a timer
 *
 * Describes the timer and its state for people, for example in a log. An invalid timer can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): a text for people: whether the timer is valid and firing, its interval, its tolerance and
 *   its next fire date; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_timer_to_string (GRunTimer *timer);

/**
 * grun_loop_add_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds a timer to a mode, or to every common mode. The loop takes a reference. Adding a timer again, or adding an
 * invalid timer, does nothing. A timer that is in another loop is refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_timer (GRunLoop *loop,
                          GRunTimer *timer,
                          const char *mode);

/**
 * grun_loop_remove_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a timer from a mode, or from every common mode. The timer stays valid. If the timer is not in the mode,
 * nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_timer (GRunLoop *loop,
                             GRunTimer *timer,
                             const char *mode);

/**
 * grun_loop_contains_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a timer is in a mode of the loop. An invalid timer is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsTimer`.
 *
 * Returns: whether the timer is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_timer (GRunLoop *loop,
                                   GRunTimer *timer,
                                   const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunTimer, grun_timer_unref)

G_END_DECLS

#endif
