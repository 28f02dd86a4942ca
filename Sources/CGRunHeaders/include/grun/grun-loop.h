/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop of a thread: getting it, running it, stopping it, seeing what it does. CFRunLoop. */
#ifndef GRUN_LOOP_H
#define GRUN_LOOP_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Who */

/**
 * grun_loop_get_current:
 *
 * The loop of the calling thread, made if it has none yet. Threads: any. The corresponding Core Foundation function is
 * `CFRunLoopGetCurrent`.
 *
 * Returns: (transfer none): the loop, which belongs to its thread: take a reference to keep it longer
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_get_current (void);

/**
 * grun_loop_get_main:
 *
 * The loop of the process's main thread. Calling this once, from any thread, is all the set-up that a program needs
 * whose main loop is GLib's: from then on whoever iterates the default #GMainContext serves the main run loop and the
 * main dispatch queue.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopGetMain`.
 *
 * Returns: (transfer none): the loop
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_get_main (void);

/**
 * grun_loop_ref:
 * @loop: a loop
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same loop
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_ref (GRunLoop *loop);

/**
 * grun_loop_unref:
 * @loop: (transfer full): a loop
 *
 * Gives a reference back. After the last one the pointer must not be used. Threads: any. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_unref (GRunLoop *loop);

/**
 * grun_loop_to_string:
 * @loop: a loop
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): the loop, its modes and everything that is in them, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_to_string (GRunLoop *loop);

/* Running. Runs nest: they may be made from every callback. */

/**
 * grun_loop_run:
 * @loop: the current thread's loop
 *
 * Runs the loop in the default mode until it is stopped, or has nothing to wait for.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Core Foundation
 * function is `CFRunLoopRun`.
 *
 * Returns: %GRUN_RESULT_STOPPED or %GRUN_RESULT_FINISHED
 */
GRUN_AVAILABLE_IN_1_0
GRunResult grun_loop_run (GRunLoop *loop);

/**
 * grun_loop_run_in_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @seconds: how long: zero or negative: one pass, which services what is ready without sleeping; infinity, or 16 years
 * and more: no limit
 * @return_after_source_handled: whether to return after the pass in which a source was performed, the main dispatch
 *   queue served or a context dispatched; blocks, timers and wake-ups do not count
 *
 * Runs the loop in a mode until the time is up, it is stopped, or the mode has nothing to wait for.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Core Foundation
 * function is `CFRunLoopRunInMode`.
 *
 * Returns: why it has returned
 */
GRUN_AVAILABLE_IN_1_0
GRunResult grun_loop_run_in_mode (GRunLoop *loop,
                                  const char *mode,
                                  gdouble seconds,
                                  gboolean return_after_source_handled);

/**
 * grun_loop_run_in_mode_usec:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @usec: how many microseconds: zero or negative: one pass, without sleeping; %G_MAXINT64: no limit
 * @return_after_source_handled: as in grun_loop_run_in_mode()
 *
 * Runs the loop as grun_loop_run_in_mode() does, for whole microseconds.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Core Foundation
 * function is `CFRunLoopRunInMode`.
 *
 * Returns: why it has returned
 */
GRUN_AVAILABLE_IN_1_0
GRunResult grun_loop_run_in_mode_usec (GRunLoop *loop,
                                       const char *mode,
                                       gint64 usec,
                                       gboolean return_after_source_handled);

/**
 * grun_loop_run_until_finished:
 * @loop: the current thread's loop
 *
 * Runs the loop in the default mode for as long as there is something to wait for. grun_loop_stop() does not end it.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Foundation
 * method is `-[NSRunLoop run]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_finished (GRunLoop *loop);

/**
 * grun_loop_run_until_date:
 * @loop: the current thread's loop
 * @limit: a date, in microseconds as g_get_monotonic_time() counts them; %G_MAXINT64: none
 *
 * Runs the loop in the default mode until a point in time, or until there is nothing to wait for.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Foundation
 * method is `-[NSRunLoop runUntilDate:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_date (GRunLoop *loop,
                               gint64 limit);

/**
 * grun_loop_run_mode_before_date:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @limit: a date, in microseconds as g_get_monotonic_time() counts them; one that has passed means one pass;
 *   %G_MAXINT64: none
 *
 * Runs the loop in a mode until a source was handled, or until a point in time.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Foundation
 * method is `-[NSRunLoop runMode:beforeDate:]`.
 *
 * Returns: whether the mode was run: there was something to wait for
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_run_mode_before_date (GRunLoop *loop,
                                         const char *mode,
                                         gint64 limit);

/**
 * grun_loop_accept_input:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @limit: as in grun_loop_run_mode_before_date()
 *
 * Runs the loop in a mode until a source was handled, or until a point in time.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Foundation
 * method is `-[NSRunLoop acceptInputForMode:beforeDate:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_accept_input (GRunLoop *loop,
                             const char *mode,
                             gint64 limit);

/**
 * grun_loop_poll_limit_date:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 *
 * Makes one pass without sleeping, and tells how long a run of the mode could sleep.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is run. The corresponding Foundation
 * method is `-[NSRunLoop limitDateForMode:]`.
 *
 * Returns: the date of the mode's first timer, in microseconds as g_get_monotonic_time() counts them; %G_MAXINT64 if it
 *   has none; -1 if there is nothing to wait for
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_poll_limit_date (GRunLoop *loop,
                                  const char *mode);

/* Stopping and waking */

/**
 * grun_loop_stop:
 * @loop: a loop
 *
 * Has the innermost run return %GRUN_RESULT_STOPPED at the end of its pass, and wakes it. A loop that does not run
 * ignores it, and so does one that is served by a host: there is no run to stop.
 *
 * Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopStop`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_stop (GRunLoop *loop);

/**
 * grun_loop_wake_up:
 * @loop: a loop
 *
 * Wakes the loop if it sleeps: it makes another pass, in which whatever was signalled, enqueued or removed meanwhile
 * counts. Several calls are one wake-up.
 *
 * Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_wake_up (GRunLoop *loop);

/**
 * grun_loop_is_waiting:
 * @loop: a loop
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopIsWaiting`.
 *
 * Returns: whether it waits in the kernel now, by itself or in a host; on its own thread always %FALSE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_is_waiting (GRunLoop *loop);

/* Whose turn it is */

/**
 * grun_loop_get_time_slice:
 * @loop: a loop
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the seconds that grun_loop_set_time_slice() sets
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_loop_get_time_slice (GRunLoop *loop);

/**
 * grun_loop_set_time_slice:
 * @loop: a loop
 * @seconds: how long: 0.004 at first, at which GTK draws every frame; more than 0.008 costs frames; zero and negative:
 *   one item
 *
 * Sets how long the loop serves its own items in a row before others that are ready have their turn, whoever drives:
 * those of the loop's own kinds of work that have waited, each once; and where a host drives, GTK's drawing and other
 * sources of GLib, for up to three dispatches, fewer once they have taken as long.
 *
 * Threads: any; it takes effect at the next item. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_set_time_slice (GRunLoop *loop,
                               gdouble seconds);

/* Its end */

/**
 * grun_loop_add_end_func:
 * @loop: a loop
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when that was taken back or refused
 * @error: where to put %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Has a function called once, on the loop's thread, when that thread ends: for what waits outside the loop's own items,
 * like an operation of GIO's that can complete no more.
 *
 * The last one that was added is called first, as with atexit(). Nothing of the loop has been taken down then: its
 * items are there, it can be run, and more may be added, which are called next. It is called when the thread returns
 * from its function or calls pthread_exit(); at the end of grun_with_virtual_time() for the loop of that; not when the
 * process exits, and not in a child after fork().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: what grun_loop_remove_end_func() knows it by; 0 if the loop's thread has ended, or has called its last one:
 *   then @notify was called, and @func never is
 */
GRUN_AVAILABLE_IN_1_0
guint64 grun_loop_add_end_func (GRunLoop *loop,
                                GRunFunc func,
                                gpointer user_data,
                                GDestroyNotify notify,
                                GError **error);

/**
 * grun_loop_remove_end_func:
 * @loop: a loop
 * @id: what grun_loop_add_end_func() has returned
 *
 * Takes a function back, and calls the notify of its data. An operation whose completion calls this, and goes on only
 * where this returns %TRUE, ends exactly once: by its completion or by the function, whichever comes first.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %TRUE if it was not called and never is; %FALSE if it was taken back before, or the ending thread has it: it
 *   was called, is being called or will be at once
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_remove_end_func (GRunLoop *loop,
                                    guint64 id);

/* What the loop does, for people */

/**
 * grun_loop_start_tracing:
 * @loop: the current thread's loop
 * @limit: how many events are kept; later ones are not recorded, with 0 none
 *
 * Has the loop record what it does from now on: every stage of every pass, and every callback.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is recorded. There is no corresponding
 * Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_start_tracing (GRunLoop *loop,
                              guint limit);

/**
 * grun_loop_stop_tracing:
 * @loop: the current thread's loop
 *
 * Ends what grun_loop_start_tracing() has begun.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and %NULL is returned. There is no corresponding Core
 * Foundation function.
 *
 * Returns: (transfer full) (array zero-terminated=1): the events, a line each, indented by the depth of nesting; free
 *   it with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_stop_tracing (GRunLoop *loop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunLoop, grun_loop_unref)

G_END_DECLS

#endif
