/* SPDX-License-Identifier: Apache-2.0 */
/* A loop for tests, whose clock jumps where another loop would sleep. */
#ifndef GRUN_VIRTUAL_TIME_H
#define GRUN_VIRTUAL_TIME_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunVirtualTimeFunc:
 * @loop: the loop whose time is virtual, which is the current one meanwhile
 * @user_data: (closure): what was given to grun_with_virtual_time()
 *
 * What is done in virtual time.
 */
typedef void (*GRunVirtualTimeFunc) (GRunLoop *loop,
                                     gpointer user_data);

/**
 * grun_with_virtual_time:
 * @start: the first reading of the clock, in microseconds; negative means now
 * @func: (scope call) (closure user_data): called once, before this function returns
 * @user_data: (nullable): what to give to @func
 *
 * Calls a function with a loop of its own as the calling thread's current one, whose time passes only as the function
 * says: by grun_loop_advance_time(), or by running the loop, which jumps where it would sleep. A timer that is an hour
 * away fires at once, at its date on the loop's clock and in its order. It is the same run loop, with another clock and
 * without a host. It ends with the function.
 *
 * What GLib and the kernel time by themselves goes on in real time. The main dispatch queue is not served. A run with
 * nothing to come waits in earnest, for other threads. A #GRunMessagePort of another thread or process takes real time
 * to reply, for which the clock does not wait: it jumps to the limits of the request. Without limits it waits in
 * earnest, once the mode has no timer left.
 *
 * The loop that the thread has otherwise, the main one included, cannot be run meanwhile: a g_critical(), and nothing
 * is run. What is added to it waits for its own, real time. grun_loop_perform_and_wait() of it performs at once, since
 * the caller is on its thread and would wait for itself. Threads: any. There is no corresponding Core Foundation
 * function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_with_virtual_time (gint64 start,
                             GRunVirtualTimeFunc func,
                             gpointer user_data);

/**
 * grun_loop_get_time:
 * @loop: a loop
 *
 * Threads: any. The corresponding GLib function is g_get_monotonic_time().
 *
 * Returns: the present on the loop's clock, in microseconds: g_get_monotonic_time(), or virtual time
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_time (GRunLoop *loop);

/**
 * grun_loop_advance_time:
 * @loop: the loop that grun_with_virtual_time() has given
 * @seconds: how far; zero and negative serve what is ready now
 * @mode: the mode to run in, not %GRUN_MODE_COMMON
 *
 * Moves the clock on, and has the loop serve on the way what falls due, each at its time and in its order; then
 * whatever is ready. The clock reaches the end in any case: also if the mode is finished before, or stopped.
 *
 * Threads: the loop's own. A loop whose time is not virtual is a g_critical(), and nothing is run. There is no
 * corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_advance_time (GRunLoop *loop,
                             gdouble seconds,
                             const char *mode);

/**
 * grun_loop_advance_to_next_timer:
 * @loop: the loop that grun_with_virtual_time() has given
 * @mode: the mode to run in, not %GRUN_MODE_COMMON
 *
 * Moves the clock to where the mode's first timer is due, and fires it. Threads: the loop's own, as
 * grun_loop_advance_time(). There is no corresponding Core Foundation function.
 *
 * Returns: %FALSE if there is none whose time comes: the clock ends at 9,223,372,036,854,775 microseconds
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_advance_to_next_timer (GRunLoop *loop,
                                          const char *mode);

G_END_DECLS

#endif
