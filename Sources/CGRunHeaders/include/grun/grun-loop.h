/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop of a thread: functions to get, run, stop, wake and trace it. CFRunLoop. */
#ifndef GRUN_LOOP_H
#define GRUN_LOOP_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunResult:
 * @GRUN_RESULT_FINISHED: the mode has nothing to wait for, or the call was refused
 * @GRUN_RESULT_STOPPED: grun_loop_stop() was called
 * @GRUN_RESULT_TIMED_OUT: the time limit has passed
 * @GRUN_RESULT_HANDLED_SOURCE: a source was handled, and the caller has asked to return after that
 *
 * The reason why a run returned. Core Foundation: `CFRunLoopRunResult`, with the same values.
 *
 * While the main loop serves the main dispatch queue, its common modes, such as the default mode, have something to
 * wait for. So on the main thread, a run in these modes is finished only inside a block of that queue, or if another
 * thread serves the queue.
 */
typedef enum
{
  GRUN_RESULT_FINISHED = 1,
  GRUN_RESULT_STOPPED = 2,
  GRUN_RESULT_TIMED_OUT = 3,
  GRUN_RESULT_HANDLED_SOURCE = 4
} GRunResult;

GRUN_AVAILABLE_IN_1_0
GType grun_result_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_RESULT (grun_result_get_type ())

GRUN_AVAILABLE_IN_1_0
GType grun_loop_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_LOOP (grun_loop_get_type ())

/* Getting a loop */

/**
 * grun_loop_get_current:
 *
 * Gets the loop of the calling thread, and creates it if there is none yet.
 *
 * Threads: any. Core Foundation: `CFRunLoopGetCurrent`.
 *
 * Returns: (transfer none): the loop, which belongs to its thread: take a reference to keep it longer
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_get_current (void);

/**
 * grun_loop_get_main:
 *
 * Gets the loop of the process's main thread.
 *
 * In a program of GLib, call this function once, on any thread. From then on, every iteration of the default
 * #GMainContext serves the main run loop and the main dispatch queue.
 *
 * Threads: any. Core Foundation: `CFRunLoopGetMain`.
 *
 * Returns: (transfer none): the loop
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_get_main (void);

/**
 * grun_serve_main_queue:
 *
 * Makes the main run loop if there is none yet, and returns whether it serves libdispatch's main queue.
 *
 * A library that serves the main queue itself, but must not depend on this library, declares this function as a weak
 * symbol. If the symbol exists and the function returns %TRUE, the library leaves the main queue to the main run loop.
 * Each program in Swift and in C that contains this library has the function.
 *
 * |[<!-- language="C" -->
 * extern gboolean grun_serve_main_queue (void) __attribute__ ((weak));
 *
 * if (grun_serve_main_queue != NULL && grun_serve_main_queue ())
 *   return;
 * ]|
 *
 * Threads: any. Core Foundation: none.
 *
 * Returns: %TRUE if the main run loop serves the main queue, in its common modes; %FALSE if another thread owns the
 *   queue, or in a forked child
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_serve_main_queue (void);

/**
 * grun_loop_ref:
 * @loop: a loop
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same loop
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_loop_ref (GRunLoop *loop);

/**
 * grun_loop_unref:
 * @loop: (transfer full): a loop
 *
 * Releases a reference. Do not use the pointer after your last release.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_unref (GRunLoop *loop);

/**
 * grun_loop_to_string:
 * @loop: a loop
 *
 * Describes the loop, its modes and all their items for people, for example to find out why a run does not end.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_to_string (GRunLoop *loop);

/* Running. Runs nest: every callback may run the loop. */

/**
 * grun_loop_run:
 * @loop: the current thread's loop
 *
 * Runs the loop in the default mode until it is stopped or has nothing to wait for. The main loop usually waits for the
 * main dispatch queue: see #GRunResult.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Core Foundation:
 * `CFRunLoopRun`.
 *
 * Returns: %GRUN_RESULT_STOPPED or %GRUN_RESULT_FINISHED
 */
GRUN_AVAILABLE_IN_1_0
GRunResult grun_loop_run (GRunLoop *loop);

/**
 * grun_loop_run_in_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @seconds: the time limit, in seconds; zero or negative means one pass, which services what is ready without sleeping;
 *   infinity, or 16 years and more, means no limit
 * @return_after_source_handled: whether to return after the pass in which a source was performed, the main dispatch
 *   queue was served or a context was dispatched; blocks, timers and wake-ups do not count
 *
 * Runs the loop in a mode until the time limit has passed, the run is stopped, or the mode has nothing to wait for: see
 * #GRunResult.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Core Foundation:
 * `CFRunLoopRunInMode`.
 *
 * Returns: the reason why the run returned
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
 * @usec: the time limit, in microseconds; zero or negative means one pass without sleeping; %G_MAXINT64 means no limit
 * @return_after_source_handled: as in grun_loop_run_in_mode()
 *
 * Runs the loop as grun_loop_run_in_mode() does, with a time limit in whole microseconds.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Core Foundation:
 * `CFRunLoopRunInMode`.
 *
 * Returns: the reason why the run returned
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
 * On the main thread, the call returns only if the loop does not serve the main dispatch queue: see #GRunResult.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Foundation: `-[NSRunLoop
 * run]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_finished (GRunLoop *loop);

/**
 * grun_loop_run_until_date:
 * @loop: the current thread's loop
 * @limit: the date at which to return, in microseconds as g_get_monotonic_time() counts them; a date that has passed
 *   means one pass; %G_MAXINT64 means no limit
 *
 * Runs the loop in the default mode until a point in time, or until there is nothing to wait for. grun_loop_stop() does
 * not end it.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Foundation: `-[NSRunLoop
 * runUntilDate:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_date (GRunLoop *loop,
                               gint64 limit);

/**
 * grun_loop_run_mode_before_date:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @limit: the date at which to return, in microseconds as g_get_monotonic_time() counts them; a date that has passed
 *   means one pass; %G_MAXINT64 means no limit
 *
 * Runs the loop in a mode until a source was handled, until a point in time, or until it is stopped.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Foundation: `-[NSRunLoop
 * runMode:beforeDate:]`.
 *
 * Returns: whether the mode was run; %FALSE if there was nothing to wait for
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
 * Runs the loop in a mode as grun_loop_run_mode_before_date() does, without a result.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Foundation: `-[NSRunLoop
 * acceptInputForMode:beforeDate:]`.
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
 * Makes one pass without sleeping, and returns the date until which a run of the mode could sleep afterwards.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is run. Foundation: `-[NSRunLoop
 * limitDateForMode:]`.
 *
 * Returns: the date of the mode's next timer or delayed perform, in microseconds as g_get_monotonic_time() counts them;
 *   %G_MAXINT64 if the mode has none; -1 if there is nothing to wait for
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_poll_limit_date (GRunLoop *loop,
                                  const char *mode);

/* Stopping and waking */

/**
 * grun_loop_stop:
 * @loop: a loop
 *
 * Stops the innermost run: it returns %GRUN_RESULT_STOPPED at the end of its pass. Wakes the loop if it sleeps.
 *
 * If the loop does not run, or only a host serves it, there is no run to stop, and the call does nothing.
 *
 * Threads: any; not from a signal handler. Core Foundation: `CFRunLoopStop`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_stop (GRunLoop *loop);

/**
 * grun_loop_wake_up:
 * @loop: a loop
 *
 * Wakes the loop if it sleeps. The loop then makes another pass, and handles all that was signalled, enqueued or
 * removed meanwhile. Several calls have the effect of one.
 *
 * Threads: any; not from a signal handler. Core Foundation: `CFRunLoopWakeUp`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_wake_up (GRunLoop *loop);

/**
 * grun_loop_is_waiting:
 * @loop: a loop
 *
 * Returns whether the loop sleeps. The state may change at any time.
 *
 * Threads: any. Core Foundation: `CFRunLoopIsWaiting`.
 *
 * Returns: whether the loop waits in the kernel now, by itself or in a host; always %FALSE on the loop's own thread
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_is_waiting (GRunLoop *loop);

/* The time slice */

/**
 * grun_loop_get_time_slice:
 * @loop: a loop
 *
 * Returns the loop's time slice. If a negative time was set, the result is 0.
 *
 * Threads: any.
 *
 * Returns: the time slice in seconds: see grun_loop_set_time_slice()
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_loop_get_time_slice (GRunLoop *loop);

/**
 * grun_loop_set_time_slice:
 * @loop: a loop
 * @seconds: the time slice, in seconds; zero or negative means one item
 *
 * Sets how long the loop serves its own items in a row before other ready work has its turn.
 *
 * After the slice, each kind of the loop's own work that has waited gets one turn. If a host drives, GTK's drawing and
 * other GLib sources then get up to three dispatches, or fewer if these take as long as the slice.
 *
 * The slice is 0.004 seconds at first, with which GTK draws every frame. More than 0.008 seconds costs frames.
 *
 * Threads: any; a change takes effect at the next step of a pass.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_set_time_slice (GRunLoop *loop,
                               gdouble seconds);

/* The end of a loop's thread */

/**
 * grun_loop_add_end_func:
 * @loop: a loop
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or when @func was removed or refused
 * @error: a return location for %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Adds a function that is called once, on the loop's thread, when that thread ends. Use it for operations outside the
 * loop's items, such as a GIO operation that can no longer complete.
 *
 * The function that was added last is called first, as with atexit(). At that time the loop is still complete: its
 * items are there, and it can be run. More functions can be added, and are called next.
 *
 * The functions are called when the thread returns from its main function or calls pthread_exit(). For the loop of
 * grun_with_virtual_time() they are called at the end of that function. They are not called when the process exits, nor
 * in a child after fork().
 *
 * Threads: any.
 *
 * Returns: a number for grun_loop_remove_end_func(). 0 if the loop's thread has ended, or has already called all these
 *   functions. After 0, @func is never called, and @notify was called.
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
 * @id: the number that grun_loop_add_end_func() returned
 *
 * Removes an end function, and calls its `notify`.
 *
 * Call this function when an operation completes, and continue only if it returns %TRUE. Then the operation ends
 * exactly once: by its completion or by the end function.
 *
 * Threads: any.
 *
 * Returns: %TRUE if the function was not called and never will be; %FALSE if it was removed before, or if the ending
 *   thread has taken it: then it was called, is being called or is about to be called
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_remove_end_func (GRunLoop *loop,
                                    guint64 id);

/* Tracing */

/**
 * grun_loop_start_tracing:
 * @loop: the current thread's loop
 * @limit: the number of events to keep; later events are not recorded; with 0, no event is recorded
 *
 * Records what the loop does from now on: every stage of every pass, and every callback. A new trace replaces an
 * earlier one.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is recorded.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_start_tracing (GRunLoop *loop,
                              guint limit);

/**
 * grun_loop_stop_tracing:
 * @loop: the current thread's loop
 *
 * Ends the trace that grun_loop_start_tracing() began, and returns its events.
 *
 * Threads: the loop's own; a call from another thread is a g_critical().
 *
 * Returns: (transfer full) (array zero-terminated=1): the events, one line each, indented by the depth of nesting; free
 *   them with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_stop_tracing (GRunLoop *loop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunLoop, grun_loop_unref)

G_END_DECLS

#endif
