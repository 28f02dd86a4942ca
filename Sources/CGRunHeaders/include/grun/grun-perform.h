/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are called once, on a loop's thread: blocks, and the perform family. */
#ifndef GRUN_PERFORM_H
#define GRUN_PERFORM_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Blocks: a function is called once, in the first of its modes that runs, in the order in which they were enqueued. It
 * does not keep a mode from being finished, and does not count as a handled source. One that is still waiting when the
 * loop's thread ends is dropped; only @notify is called then, on the ending thread. */

/**
 * grun_loop_perform_block:
 * @loop: a loop
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is dropped
 *
 * Enqueues a block. It does **not** wake a sleeping loop: call grun_loop_wake_up(), or see grun_loop_post().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopPerformBlock`.
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
 * @modes: (array zero-terminated=1): the modes, and %NULL at the end; an empty list means never
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is dropped
 *
 * Enqueues a block for the first of several modes that runs.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopPerformBlock` with an array.
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
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is dropped
 *
 * Enqueues a block and wakes the loop: what to call from another thread.
 *
 * Threads: any; not from a signal handler. The corresponding Core Foundation functions are `CFRunLoopPerformBlock` and
 * `CFRunLoopWakeUp`, the GLib function g_main_context_invoke_full(), which calls at once where it can.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_post (GRunLoop *loop,
                     const char *mode,
                     GRunFunc func,
                     gpointer user_data,
                     GDestroyNotify notify);

/* Performs keep their modes from being finished until they were performed. Those on a thread and in order are sources,
 * and count as handled sources; those after a delay are served with the timers. */

/**
 * grun_loop_perform_on_thread:
 * @loop: a loop
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is dropped because the thread ends before
 * @error: where to put %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Has a function called on the loop's thread, and wakes the loop. What was queued is performed in one pass, in order.
 *
 * Threads: any. The corresponding Foundation method is `-[NSObject
 * performSelector:onThread:withObject:waitUntilDone:modes:]` without waiting.
 *
 * Returns: %FALSE if the loop's thread has ended: then @notify was called, and @func never is
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
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope call) (closure user_data): what to call
 * @user_data: (nullable): what to give to @func
 * @error: where to put %GRUN_ERROR_LOOP_ENDED, or %NULL
 *
 * Has a function called on the loop's thread, and waits until it has returned; on the loop's own thread it is called at
 * once. While it waits this thread serves nothing.
 *
 * Threads: any. The corresponding Foundation method is `-[NSObject
 * performSelector:onThread:withObject:waitUntilDone:modes:]`.
 *
 * Returns: %FALSE if the loop's thread has ended, or ends before: then @func was not called
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
 * @seconds: how long from now; zero and negative mean as soon as the loop runs the mode, never at once; infinity means
 * in 16 years
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is taken back by grun_loop_cancel_performs() or
 *   the loop's thread ends
 *
 * Has a function called once, after a delay.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and @notify is called. The corresponding Foundation
 * method is `-[NSObject performSelector:withObject:afterDelay:inModes:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_perform_after (GRunLoop *loop,
                              gdouble seconds,
                              const char *mode,
                              GRunFunc func,
                              gpointer user_data,
                              GDestroyNotify notify);

/**
 * grun_loop_perform_with_order:
 * @loop: the current thread's loop
 * @order: lower first; equal ones in the order of these calls
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after @func, or when it is taken back by grun_loop_cancel_performs()
 *
 * Has a function called once, at the start of the next pass in the mode.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and @notify is called. The corresponding Foundation
 * method is `-[NSRunLoop performSelector:target:argument:order:modes:]`.
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
 * @func: (nullable): the function of those to take back; %NULL means any
 * @user_data: (nullable): the user data of those to take back
 *
 * Takes back what grun_loop_perform_after() and grun_loop_perform_with_order() of this loop have not called yet.
 *
 * Threads: the loop's own. The corresponding Foundation method is `+[NSObject
 * cancelPreviousPerformRequestsWithTarget:selector:object:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_cancel_performs (GRunLoop *loop,
                                GRunFunc func,
                                gpointer user_data);

G_END_DECLS

#endif
