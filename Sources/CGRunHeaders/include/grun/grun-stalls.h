/* SPDX-License-Identifier: Apache-2.0 */
/* Reports about callouts that take too long. */
#ifndef GRUN_STALLS_H
#define GRUN_STALLS_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunStallFunc:
 * @loop: the loop that has stalled
 * @report: a line that names the callout that has stalled, and, unless the stall is over, a backtrace of the loop's
 *   thread, one function on each line
 * @seconds: the time since the callout began; after it has returned, its total time
 * @is_over: whether the callout has returned
 * @user_data: (closure): the data that was passed to grun_loop_watch_stalls()
 *
 * Called on a separate thread when a stall is noticed, and again when the stall is over.
 */
typedef void (*GRunStallFunc) (GRunLoop *loop,
                               const char *report,
                               gdouble seconds,
                               gboolean is_over,
                               gpointer user_data);

/**
 * grun_loop_watch_stalls:
 * @loop: a loop
 * @seconds: the time that a callout may take, in seconds; less than 0.001, zero and negative numbers mean 0.001
 * @func: (nullable) (scope notified) (closure user_data) (destroy notify): the function to call; with %NULL, stalls are
 *   logged as warnings
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data after the last call of @func, on any thread; immediately if @func is
 *   %NULL or on an error
 * @error: a return location for %GRUN_ERROR_NO_THREAD, %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or, in a forked
 *   child or if a sandbox forbids a system call, %GRUN_ERROR_NOT_SUPPORTED; or %NULL
 *
 * Reports callouts that take longer than @seconds. A callout is a call of a function of the program by the loop. A
 * stall is noticed at most @seconds / 8 late, or a millisecond if that is longer. The report names the callout and
 * holds a backtrace of the loop's thread, which is taken with the signal SIGURG.
 *
 * Waiting is not a stall. A callback of the host that takes long is a stall: the report names its GSource, if that has
 * a name (see g_source_set_name()). If the program has its own handler for SIGURG, reports have no backtrace, and
 * callbacks of the host are not reported.
 *
 * A report does not wait for a lock that the stalled thread holds, such as the lock of the dynamic linker, of the log
 * or of a stream. If the stalled thread holds the lock of malloc(), @func is called only when this lock is free. If the
 * lock is not free after 50 milliseconds, the library writes a line to standard error by write(), with addresses
 * instead of names. Without @func, it also writes this line if the log does not return within 50 milliseconds.
 *
 * @func must not wait for a lock that the loop's thread holds. For example, printf() waits if that thread holds the
 * lock of standard output.
 *
 * A signal ends a nanosleep() or usleep() of the loop's thread early, with EINTR. g_usleep() sleeps on.
 *
 * The handler of SIGURG needs 2,048 bytes on the stack of the loop's thread (x86-64), besides the kernel's frame of
 * getauxval(AT_MINSIGSTKSZ) bytes. It runs on the alternate stack of a thread that has one: see sigaltstack(2).
 *
 * The watch ends when you call grun_loop_unwatch_stalls(), or when the loop's thread ends. If the thread has ended
 * already, the watch ends immediately. A loop can have several watches.
 *
 * To log the stalls of all loops, start the program with GRUN_STALLS=200ms in its environment.
 *
 * Threads: any.
 *
 * Returns: a number for grun_loop_unwatch_stalls(), greater than 0; 0 on an error
 */
GRUN_AVAILABLE_IN_1_0
guint64 grun_loop_watch_stalls (GRunLoop *loop,
                                gdouble seconds,
                                GRunStallFunc func,
                                gpointer user_data,
                                GDestroyNotify notify,
                                GError **error);

/**
 * grun_loop_unwatch_stalls:
 * @loop: the loop
 * @id: the number that grun_loop_watch_stalls() has returned
 *
 * Ends a watch. A running call of its function continues.
 *
 * Threads: any.
 *
 * Returns: %FALSE if the watch has ended already, or belongs to another loop; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_unwatch_stalls (GRunLoop *loop,
                                   guint64 id);

G_END_DECLS

#endif
