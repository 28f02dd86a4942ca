/* SPDX-License-Identifier: Apache-2.0 */
/* Callouts that take longer than they may. */
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
 * @report: what has stalled: a line, and below it where the loop's thread stands, a line for each function; only the
 *   first line once it is over
 * @seconds: how long it has taken so far, or in all
 * @is_over: whether it has returned
 * @user_data: what was given to grun_loop_watch_stalls()
 *
 * Called on a thread of its own when a stall is noticed, and again when it is over.
 */
typedef void (*GRunStallFunc)(GRunLoop *loop,
                              const char *report,
                              gdouble seconds,
                              gboolean is_over,
                              gpointer user_data);

/**
 * grun_loop_watch_stalls:
 * @loop: a loop
 * @seconds: how long a callout may take; less than 0.001, zero and negative: 0.001
 * @func: (nullable) (scope notified) (closure user_data) (destroy notify): what to call; %NULL: they are logged as
 *   warnings
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data after the last call of @func, on any thread, or at once on an error
 * @error: where to put %GRUN_ERROR_NO_THREAD, or %NULL
 *
 * Tells when a callout of the loop takes longer than it may, at most an eighth of that late: which one, and where the
 * loop's thread stands, which it is asked by the signal SIGURG. Waiting is no stall. A callback of a host's own that
 * takes long is one, which is told of by the name of its GSource: see g_source_set_name(). Where the program has a
 * handler of its own for that signal, reports are without the functions, and a host's own callbacks are not told of.
 *
 * A report does not wait for a lock that the stalled thread holds, such as the lock of the dynamic linker, of the log
 * or of a stream. If the stalled thread holds the lock of malloc(), @func cannot be called. Then a line with addresses
 * instead of names is written to standard error after 50 milliseconds, by write(). @func is called when the lock is
 * free. Without @func, this line is also written if the log does not return within 50 milliseconds. @func must not wait
 * for a lock that the loop's thread holds: printf() waits if that thread holds the lock of standard output.
 *
 * The handler of SIGURG needs 2,048 bytes on the stack of the loop's thread (x86-64), besides the kernel's frame of
 * getauxval(AT_MINSIGSTKSZ) bytes. It runs on the alternate stack of a thread that has one: see sigaltstack(2).
 *
 * It ends with grun_loop_unwatch_stalls() and with the loop's thread, at once if that has ended already. Several may
 * watch one loop.
 *
 * A program that is started with GRUN_STALLS=200ms in its environment logs the stalls of all its loops.
 *
 * Threads: any. There is no corresponding Core Foundation function.
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
 * @id: what grun_loop_watch_stalls() has returned
 *
 * Ends it. A call of the function that is under way goes on.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: %FALSE if it has ended already, or was not of this loop
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_unwatch_stalls (GRunLoop *loop,
                                   guint64 id);

G_END_DECLS

#endif
