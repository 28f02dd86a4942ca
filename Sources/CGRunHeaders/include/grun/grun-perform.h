/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are called once on a loop's thread: blocks, and the perform family. */
#ifndef GRUN_PERFORM_H
#define GRUN_PERFORM_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Blocks. A block is a function that is called once, in the first of its modes that runs. Blocks are called in the
 * order in which they were enqueued. A block does not keep a mode from being finished, and does not count as a handled
 * source. If the loop's thread ends first, the block is dropped: only its @notify is called, on that thread. */

/**
 * grun_loop_perform_block:
 * @loop: a loop
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or when the block is dropped
 *
 * Enqueues a block. It does **not** wake a sleeping loop: call grun_loop_wake_up(), or see grun_loop_post().
 *
 * Threads: any. Core Foundation: `CFRunLoopPerformBlock`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_perform_block (GRunLoop *loop,
                              const char *mode,
                              GRunFunc func,
                              gpointer user_data,
                              GDestroyNotify notify);

/**
 * grun_loop_perform_block_in_modes:
 * @loop: a loop
 * @modes: (array zero-terminated=1): the modes, followed by %NULL; with an empty list @func is never called
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or when the block is dropped
 *
 * Enqueues a block for several modes. The block is called once, when the loop next runs in one of these modes. This
 * function does not wake a sleeping loop.
 *
 * Threads: any. Core Foundation: `CFRunLoopPerformBlock` with an array.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_perform_block_in_modes (GRunLoop *loop,
                                       const char *const *modes,
                                       GRunFunc func,
                                       gpointer user_data,
                                       GDestroyNotify notify);

/**
 * grun_loop_post:
 * @loop: a loop
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or when the block is dropped
 *
 * Enqueues a block and wakes the loop. Use it to call a function from another thread.
 *
 * Threads: any; not from a signal handler. Core Foundation: `CFRunLoopPerformBlock` and `CFRunLoopWakeUp`. GLib:
 * g_main_context_invoke_full(), which calls the function immediately if it can.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_post (GRunLoop *loop,
                     const char *mode,
                     GRunFunc func,
                     gpointer user_data,
                     GDestroyNotify notify);

/* Performs. A perform is also a function that is called once, but it keeps its modes from being finished until then.
 * Performs of grun_loop_perform_after() are served with the timers. All others are sources, and count as handled
 * sources. */

/**
 * grun_loop_perform_on_thread:
 * @loop: a loop
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, or when @func is dropped because the loop's thread ends
 * @error: a return location for %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Calls a function once on the loop's thread, and wakes the loop. This does not wait for the function. One pass calls
 * the functions that are queued for the mode, in order, until the loop's time slice is used up.
 *
 * Threads: any. Foundation: `-[NSObject performSelector:onThread:withObject:waitUntilDone:modes:]` without waiting.
 *
 * Returns: %FALSE if the loop's thread has ended: then @notify was called, and @func is never called
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_perform_on_thread (GRunLoop *loop,
                                      const char *mode,
                                      GRunFunc func,
                                      gpointer user_data,
                                      GDestroyNotify notify,
                                      GError **error);

/**
 * grun_loop_perform_and_wait:
 * @loop: a loop
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope call) (closure user_data): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @error: a return location for %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Calls a function on the loop's thread, and waits until it has returned. On the loop's own thread the function is
 * called immediately. The calling thread serves nothing while it waits.
 *
 * Threads: any. Foundation: `-[NSObject performSelector:onThread:withObject:waitUntilDone:modes:]`.
 *
 * Returns: %FALSE if the loop's thread has ended, or ends before @func has returned
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_perform_and_wait (GRunLoop *loop,
                                     const char *mode,
                                     GRunFunc func,
                                     gpointer user_data,
                                     GError **error);

/**
 * grun_loop_perform_after:
 * @loop: the current thread's loop
 * @seconds: the delay in seconds
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, when the call is cancelled, or when the loop's thread ends
 *
 * Calls a function once, after a delay. With a delay of zero or less, the function is called as soon as the loop runs
 * the mode, but never inside this call. A delay of 16 years or more, or infinity, means 16 years.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and @notify is called. Foundation: `-[NSObject
 * performSelector:withObject:afterDelay:inModes:]`.
 *
 * Returns: a number for grun_loop_cancel_perform(), unique in the loop; 0 if the function will not be called
 */
GRUN_AVAILABLE_IN_1_0
guint64 grun_loop_perform_after (GRunLoop *loop,
                                 gdouble seconds,
                                 const char *mode,
                                 GRunFunc func,
                                 gpointer user_data,
                                 GDestroyNotify notify);

/**
 * grun_loop_cancel_perform:
 * @loop: the current thread's loop
 * @id: the number that grun_loop_perform_after() has returned; 0 and unknown numbers are ignored
 *
 * Cancels a call that grun_loop_perform_after() has scheduled, and calls its `notify`.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(). GLib: g_source_remove().
 *
 * Returns: %TRUE if the call was cancelled; %FALSE if it was made, is being made, or was cancelled before
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_cancel_perform (GRunLoop *loop,
                                   guint64 id);

/**
 * grun_loop_perform_with_order:
 * @loop: the current thread's loop
 * @order: the position in the pass: functions of a lower order are called first, and functions of equal order in the
 *   order of these calls
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after @func, when grun_loop_cancel_performs() cancels the call, or when
 *   the loop's thread ends
 *
 * Calls a function once, at the start of the next pass in the mode.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and @notify is called. Foundation:
 * `-[NSRunLoop performSelector:target:argument:order:modes:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_perform_with_order (GRunLoop *loop,
                                   gint order,
                                   const char *mode,
                                   GRunFunc func,
                                   gpointer user_data,
                                   GDestroyNotify notify);

/**
 * grun_loop_cancel_performs: (skip)
 * @loop: the current thread's loop
 * @func: (nullable): the function of the calls to cancel; %NULL means every function
 * @user_data: (nullable): the user data of the calls to cancel
 *
 * Cancels the performs of grun_loop_perform_after() and grun_loop_perform_with_order() that this loop has not called
 * yet.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is cancelled. Foundation:
 * `+[NSObject cancelPreviousPerformRequestsWithTarget:selector:object:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_cancel_performs (GRunLoop *loop,
                                GRunFunc func,
                                gpointer user_data);

G_END_DECLS

#endif
