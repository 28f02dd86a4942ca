/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time: a loop for tests, whose clock jumps ahead where another loop would sleep. */
#ifndef GRUN_VIRTUAL_TIME_H
#define GRUN_VIRTUAL_TIME_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunVirtualTimeFunc:
 * @loop: the loop in virtual time, which is the thread's current loop during the call
 * @user_data: (closure): the data that was passed to grun_with_virtual_time()
 *
 * A function that is called in virtual time.
 */
typedef void (*GRunVirtualTimeFunc) (GRunLoop *loop,
                                     gpointer user_data);

/**
 * grun_with_virtual_time:
 * @start: the first reading of the clock, in microseconds; negative means now
 * @func: (scope call) (closure user_data): the function to call, once, before this function returns
 * @user_data: (nullable): the data to pass to @func
 *
 * Calls a function in virtual time, with a new loop as the calling thread's current loop. The loop ends when the
 * function returns.
 *
 * Time passes only in grun_loop_advance_time() and in runs of the loop, where the clock jumps ahead instead of a sleep.
 * A timer that is an hour away fires without a wait, at its date on the loop's clock and in its order. The loop differs
 * from others only in its clock, and has no host.
 *
 * Everything that GLib or the kernel times goes on in real time. The main dispatch queue is not served. A run that has
 * neither a time limit nor a timer really waits, for other threads.
 *
 * A #GRunMessagePort of another thread or process takes real time to reply. The clock does not wait for the reply, but
 * jumps to the timeouts of the request. A request without timeouts really waits once the mode has no timer left.
 *
 * The loop that the thread has outside of virtual time cannot be run meanwhile, even if it is the main loop: that is a
 * g_critical(), and nothing is run. Items that are added to it wait for real time. grun_loop_perform_and_wait() of that
 * loop calls its function immediately, because the thread would wait for itself.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_with_virtual_time (gint64 start,
                             GRunVirtualTimeFunc func,
                             gpointer user_data);

/**
 * grun_loop_get_time:
 * @loop: a loop
 *
 * Returns the current time on the loop's clock. The dates of the loop's timers are times on this clock.
 *
 * Threads: any. GLib: g_get_monotonic_time().
 *
 * Returns: the current time on the loop's clock, in microseconds; it is virtual in a loop in virtual time, and
 *   otherwise that of g_get_monotonic_time()
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_time (GRunLoop *loop);

/**
 * grun_loop_advance_time:
 * @loop: the loop that grun_with_virtual_time() has passed to its function
 * @seconds: the time by which to move the clock, in seconds; zero and negative times only serve what is ready now
 * @mode: the mode to run in, not %GRUN_MODE_COMMON
 *
 * Moves the clock forward, and runs the loop. Each item that becomes due is served at its time on the clock and in its
 * order. At the end the loop serves all that is ready then. The clock reaches the end even if the mode is finished
 * earlier or a run is stopped.
 *
 * Threads: the loop's own. If the loop's time is not virtual, the call is a g_critical(), and nothing is run.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_advance_time (GRunLoop *loop,
                             gdouble seconds,
                             const char *mode);

/**
 * grun_loop_advance_to_next_timer:
 * @loop: the loop that grun_with_virtual_time() has passed to its function
 * @mode: the mode to run in, not %GRUN_MODE_COMMON
 *
 * Moves the clock to the date of the mode's next timer or delayed perform, and fires it.
 *
 * Threads: the loop's own, as for grun_loop_advance_time().
 *
 * Returns: %FALSE if the mode has no timer or delayed perform whose date the clock can reach; the clock ends at
 *   9,223,372,036,854,775 microseconds
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_advance_to_next_timer (GRunLoop *loop,
                                          const char *mode);

G_END_DECLS

#endif
