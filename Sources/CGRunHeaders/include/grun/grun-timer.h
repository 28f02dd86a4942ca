/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: one-shot or repeating on a fixed grid, movable, with a tolerance. CFRunLoopTimer. */
#ifndef GRUN_TIMER_H
#define GRUN_TIMER_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Spans are in seconds (gdouble), to the nearest nanosecond; a positive one is at least that long. Dates are in
 * microseconds (gint64) of the clock of g_get_monotonic_time(); what is finer is lost. */

/**
 * GRunTimerFunc:
 * @timer: the timer whose date has come
 * @user_data: (closure): what the timer was made with
 *
 * Called on the loop's thread.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the timer; one that does not repeat is invalidated in
 *   any case
 */
typedef gboolean (*GRunTimerFunc) (GRunTimer *timer,
                                   gpointer user_data);

/**
 * grun_timer_new:
 * @seconds: the time until the first fire, and between two of a timer that repeats, where zero and less mean 0.1 ms;
 *   infinity means the longest time there is, 16 years
 * @repeats: whether it fires again and again
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the timer is invalidated, or after the only fire of one that does
 *   not repeat
 *
 * Makes a timer that first fires a time from now. It does so once it was added to a loop, by grun_loop_add_timer().
 *
 * A timer never fires before its date. One that repeats keeps to its grid: after each fire the next date is the first
 * one of the grid that lies after the end of @func; dates that were missed are skipped. A timer is in one loop at a
 * time, and in any number of its modes. While its function runs a nested loop, it does not fire there.
 *
 * Threads: any. The corresponding Foundation method is `-[NSTimer timerWithTimeInterval:repeats:block:]`.
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
 * @fire_date: the first date, in microseconds as g_get_monotonic_time() counts them; one that has passed means now, one
 *   that is more than 16 years ahead fires in 16 years, and is returned as it was given
 * @seconds: the time between two dates; zero or negative: the timer fires once; infinity means the longest time there
 *   is, 16 years
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the timer is invalidated, or after the only fire of one that does
 *   not repeat
 *
 * Makes a timer that first fires at a point in time. See grun_timer_new().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerCreate`.
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
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same timer
 */
GRUN_AVAILABLE_IN_1_0
GRunTimer *grun_timer_ref (GRunTimer *timer);

/**
 * grun_timer_unref:
 * @timer: (transfer full): a timer
 *
 * Gives a reference back. A loop that the timer is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_unref (GRunTimer *timer);

/**
 * grun_timer_get_next_fire_date:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetNextFireDate`.
 *
 * Returns: when it fires next, in microseconds as g_get_monotonic_time() counts them; -1 once it is invalid
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_timer_get_next_fire_date (GRunTimer *timer);

/**
 * grun_timer_set_next_fire_date:
 * @timer: a timer
 * @fire_date: a date, in microseconds as g_get_monotonic_time() counts them; one that has passed fires at once, one
 * that is more than 16 years ahead in 16 years
 *
 * Moves the timer, in all its modes. Inside its own function it replaces the next date of the grid; a timer that does
 * not repeat cannot be moved from there. An invalid one ignores it. From another thread it wakes the loop.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerSetNextFireDate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_next_fire_date (GRunTimer *timer,
                                    gint64 fire_date);

/**
 * grun_timer_get_interval:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetInterval`.
 *
 * Returns: the seconds between two dates; 0 in a timer that fires once
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_timer_get_interval (GRunTimer *timer);

/**
 * grun_timer_does_repeat:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerDoesRepeat`.
 *
 * Returns: whether it fires more than once
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timer_does_repeat (GRunTimer *timer);

/**
 * grun_timer_get_tolerance:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetTolerance`.
 *
 * Returns: how many seconds later than its date it may fire
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_timer_get_tolerance (GRunTimer *timer);

/**
 * grun_timer_set_tolerance:
 * @timer: a timer
 * @seconds: how much later than its date it may fire, so that several wake-ups become one; negative means none, and one
 *   that repeats takes at most half its interval
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerSetTolerance`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_tolerance (GRunTimer *timer,
                               gdouble seconds);

/**
 * grun_timer_fire:
 * @timer: a timer
 *
 * Calls its function now, on this thread. A timer that repeats keeps its schedule; one that does not is invalidated. An
 * invalid one ignores it.
 *
 * Threads: any. The corresponding Foundation method is `-[NSTimer fire]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_fire (GRunTimer *timer);

/**
 * grun_timer_invalidate:
 * @timer: a timer
 *
 * Takes the timer out of every mode, for good, and calls @notify on this thread; if its function is running just now,
 * after that. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_invalidate (GRunTimer *timer);

/**
 * grun_timer_is_valid:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerIsValid`.
 *
 * Returns: %FALSE once it was invalidated, and after the only fire of one that does not repeat
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_timer_is_valid (GRunTimer *timer);

/**
 * grun_timer_set_label:
 * @timer: a timer
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the timer, for people who read grun_timer_to_string() or a trace. Any text is a label,
 * the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any time,
 * also once the timer is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_timer_set_label (GRunTimer *timer,
                           const char *label);

/**
 * grun_timer_copy_label:
 * @timer: a timer
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_timer_copy_label (GRunTimer *timer);

/**
 * grun_timer_to_string:
 * @timer: a timer
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the timer is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_timer_to_string (GRunTimer *timer);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunTimer, grun_timer_unref)

G_END_DECLS

#endif
