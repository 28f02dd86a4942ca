/* SPDX-License-Identifier: Apache-2.0 */
/* The run loop of a thread: running it, its modes, its items, the contexts of GLib that it serves. CFRunLoop. */
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
 * The loop of the process's main thread. Calling this once, from any thread, is all the set-up that a program needs whose main loop is
 * GLib's: from then on whoever iterates the default #GMainContext serves the main run loop and the main dispatch queue.
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

/* Running. Threads: the loop's own; from another thread it is a g_critical(), and nothing is run. Runs nest: they may be made from every callback. */

/**
 * grun_loop_run:
 * @loop: the current thread's loop
 *
 * Runs the loop in the default mode until it is stopped, or has nothing to wait for. The corresponding Core Foundation function is `CFRunLoopRun`.
 *
 * Returns: %GRUN_RESULT_STOPPED or %GRUN_RESULT_FINISHED
 */
GRUN_AVAILABLE_IN_1_0
GRunResult grun_loop_run (GRunLoop *loop);

/**
 * grun_loop_run_in_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @seconds: how long: zero or negative: one pass, which services what is ready without sleeping; infinity, or 16 years and more: no limit
 * @return_after_source_handled: whether to return after the pass in which a source was performed, the main dispatch queue served or a
 *   context dispatched; blocks, timers and wake-ups do not count
 *
 * Runs the loop in a mode until the time is up, it is stopped, or the mode has nothing to wait for. The corresponding Core Foundation function is
 * `CFRunLoopRunInMode`.
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
 * The same with whole microseconds.
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
 * Runs the loop in the default mode for as long as there is something to wait for. grun_loop_stop() does not end it. The corresponding
 * Foundation method is `-[NSRunLoop run]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_finished (GRunLoop *loop);

/**
 * grun_loop_run_until_date:
 * @loop: the current thread's loop
 * @limit: a date, in microseconds as g_get_monotonic_time() counts them; %G_MAXINT64: none
 *
 * Runs the loop in the default mode until a point in time, or until there is nothing to wait for. The corresponding Foundation method is
 * `-[NSRunLoop runUntilDate:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_run_until_date (GRunLoop *loop,
                               gint64 limit);

/**
 * grun_loop_run_mode_before_date:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @limit: a date, in microseconds as g_get_monotonic_time() counts them; one that has passed means one pass; %G_MAXINT64: none
 *
 * Runs the loop in a mode until a source was handled, or until a point in time. The corresponding Foundation method is `-[NSRunLoop
 * runMode:beforeDate:]`.
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
 * Runs the loop in a mode until a source was handled, or until a point in time. The corresponding Foundation method is `-[NSRunLoop
 * acceptInputForMode:beforeDate:]`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_accept_input (GRunLoop *loop,
                             const char *mode,
                             gint64 limit);

/**
 * grun_loop_get_limit_date:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 *
 * Makes one pass without sleeping, and tells how long a run of the mode could sleep. The corresponding Foundation method is `-[NSRunLoop
 * limitDateForMode:]`.
 *
 * Returns: the date of the mode's first timer, in microseconds as g_get_monotonic_time() counts them; %G_MAXINT64 if it has none; -1 if
 *   there is nothing to wait for
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_limit_date (GRunLoop *loop,
                                 const char *mode);

/* Stopping and waking. Threads: any; not from a signal handler. */

/**
 * grun_loop_stop:
 * @loop: a loop
 *
 * Has the innermost run return %GRUN_RESULT_STOPPED at the end of its pass, and wakes it. A loop that does not run ignores it, and so does one
 * that is served by a host: there is no run to stop. The corresponding Core Foundation function is `CFRunLoopStop`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_stop (GRunLoop *loop);

/**
 * grun_loop_wake_up:
 * @loop: a loop
 *
 * Wakes the loop if it sleeps: it makes another pass, in which whatever was signalled, enqueued or removed meanwhile counts. Several calls are
 * one wake-up. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_wake_up (GRunLoop *loop);

/**
 * grun_loop_is_waiting:
 * @loop: a loop
 *
 * The corresponding Core Foundation function is `CFRunLoopIsWaiting`.
 *
 * Returns: whether it waits in the kernel now, by itself or in a host; on its own thread always %FALSE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_is_waiting (GRunLoop *loop);

/* Modes. Threads: any. */

/**
 * grun_loop_copy_current_mode:
 * @loop: a loop
 *
 * The corresponding Core Foundation function is `CFRunLoopCopyCurrentMode`.
 *
 * Returns: (transfer full) (nullable): the mode of the innermost run; where a host drives, the ambient mode in every callback of it; %NULL
 *   outside both. Free it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_current_mode (GRunLoop *loop);

/**
 * grun_loop_copy_all_modes:
 * @loop: a loop
 *
 * The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
 *
 * Returns: (transfer full) (array zero-terminated=1): the modes that an item, a block or a context has ever named, and the default one, in no
 *   order; free it with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_copy_all_modes (GRunLoop *loop);

/**
 * grun_loop_add_common_mode:
 * @loop: a loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a mode one of the common modes, for good. Every common item joins it at once; it serves the home context and, on the main loop, the main
 * dispatch queue. The corresponding Core Foundation function is `CFRunLoopAddCommonMode`.
 *
 * Returns: %FALSE if a common descriptor source cannot be watched in the mode: then the mode is not common
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_common_mode (GRunLoop *loop,
                                    const char *mode,
                                    GError **error);

/**
 * grun_loop_get_next_timer_fire_date:
 * @loop: a loop
 * @mode: the mode
 *
 * The corresponding Core Foundation function is `CFRunLoopGetNextTimerFireDate`.
 *
 * Returns: the date of the mode's first timer, in microseconds as g_get_monotonic_time() counts them; -1 if there is none
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_next_timer_fire_date (GRunLoop *loop,
                                           const char *mode);

/* Items of modes. Threads: any. Adding what is there already, or is invalid, does nothing; what is in another loop is refused by a g_critical().
 * With %GRUN_MODE_COMMON an item joins every common mode, or leaves it; whether it is there is whether it was added to the common modes as such. */

/**
 * grun_loop_add_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode
 *
 * The loop takes a reference. `schedule` is called once for each mode, on this thread. `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_source (GRunLoop *loop,
                           GRunSource *source,
                           const char *mode);

/**
 * grun_loop_remove_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode
 *
 * `cancel` is called once for each mode, on this thread. `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_source (GRunLoop *loop,
                              GRunSource *source,
                              const char *mode);

/**
 * grun_loop_contains_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode
 *
 * `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_source (GRunLoop *loop,
                                    GRunSource *source,
                                    const char *mode);

/**
 * grun_loop_add_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: the mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * The loop takes a reference, and watches the descriptor at once. `CFRunLoopAddSource`.
 *
 * Returns: %FALSE if the descriptor cannot be watched: then the source has joined none of the modes
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_fd_source (GRunLoop *loop,
                                  GRunFdSource *source,
                                  const char *mode,
                                  GError **error);

/**
 * grun_loop_remove_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: the mode
 *
 * It is not performed any more, also not for an event that was found already. `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_fd_source (GRunLoop *loop,
                                 GRunFdSource *source,
                                 const char *mode);

/**
 * grun_loop_contains_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: the mode
 *
 * `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_fd_source (GRunLoop *loop,
                                       GRunFdSource *source,
                                       const char *mode);

/**
 * grun_loop_add_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode
 *
 * The loop takes a reference. `CFRunLoopAddTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_timer (GRunLoop *loop,
                          GRunTimer *timer,
                          const char *mode);

/**
 * grun_loop_remove_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode
 *
 * `CFRunLoopRemoveTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_timer (GRunLoop *loop,
                             GRunTimer *timer,
                             const char *mode);

/**
 * grun_loop_contains_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode
 *
 * `CFRunLoopContainsTimer`.
 *
 * Returns: whether the timer is in the mode
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_timer (GRunLoop *loop,
                                   GRunTimer *timer,
                                   const char *mode);

/**
 * grun_loop_add_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode
 *
 * The loop takes a reference. `CFRunLoopAddObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_observer (GRunLoop *loop,
                             GRunObserver *observer,
                             const char *mode);

/**
 * grun_loop_remove_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode
 *
 * `CFRunLoopRemoveObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_observer (GRunLoop *loop,
                                GRunObserver *observer,
                                const char *mode);

/**
 * grun_loop_contains_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode
 *
 * `CFRunLoopContainsObserver`.
 *
 * Returns: whether the observer is in the mode
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_observer (GRunLoop *loop,
                                      GRunObserver *observer,
                                      const char *mode);

/* Contexts of modes: while a run is in such a mode, the context is served with the loop's own items, in one sleep. Threads: any. */

/**
 * grun_loop_get_home_context:
 * @loop: a loop
 *
 * The context that every common mode serves: GLib's default context on the main thread; elsewhere the thread's default one, or one of the
 * loop's own.
 *
 * Returns: (transfer none) (nullable): the context, which belongs to the loop; %NULL until it is fixed, when the thread adds its first
 *   item or block or first runs the loop, and after the thread's end
 */
GRUN_AVAILABLE_IN_1_0
GMainContext *grun_loop_get_home_context (GRunLoop *loop);

/**
 * grun_loop_add_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode
 *
 * Has a mode, or all common modes, serve a context; it keeps the mode from being finished. The loop takes a reference. A context that another
 * thread owns is left out, and tried again in the next pass: call grun_loop_wake_up() when that thread has let it go.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_context (GRunLoop *loop,
                            GMainContext *context,
                            const char *mode);

/**
 * grun_loop_remove_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode
 *
 * Has a mode, or all common modes, no longer serve a context. A pass that is dispatching it finishes that.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_context (GRunLoop *loop,
                               GMainContext *context,
                               const char *mode);

/**
 * grun_loop_contains_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode
 *
 * Returns: whether the mode serves the context because it was added
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_context (GRunLoop *loop,
                                     GMainContext *context,
                                     const char *mode);

/**
 * grun_loop_copy_contexts:
 * @loop: a loop
 * @mode: the mode
 *
 * The contexts that a mode serves: the home context in a common mode, a private mode's own one once it has run, and those that were added. For
 * %GRUN_MODE_COMMON, those that were added to the common modes as such.
 *
 * Returns: (transfer container) (element-type GLib.MainContext): the contexts, which the array holds; free it with
 *   g_ptr_array_unref()
 */
GRUN_AVAILABLE_IN_1_0
GPtrArray *grun_loop_copy_contexts (GRunLoop *loop,
                                    const char *mode);

/* While a host drives. There are no corresponding Core Foundation functions. */

/**
 * grun_loop_copy_ambient_mode:
 * @loop: a loop
 *
 * Threads: any.
 *
 * Returns: (transfer full): the mode in which a host is served: what was pushed last, %GRUN_MODE_DEFAULT at first; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_ambient_mode (GRunLoop *loop);

/**
 * grun_loop_push_ambient_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Has whoever drives this loop serve it in another mode, from the next pass on. A drag pushes %GRUN_MODE_TRACKING: items of the default mode
 * wait meanwhile; those of the common modes go on, as do the main dispatch queue and GTK itself, because the mode becomes a common one.
 *
 * It changes no run of ours that is under way, and none that begins later: a run has its own mode.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is pushed.
 *
 * Returns: a number for grun_loop_pop_ambient_mode(), greater than 0; 0 on an error, which is that of grun_loop_add_common_mode()
 */
GRUN_AVAILABLE_IN_1_0
guint grun_loop_push_ambient_mode (GRunLoop *loop,
                                   const char *mode,
                                   GError **error);

/**
 * grun_loop_pop_ambient_mode:
 * @loop: the current thread's loop
 * @id: what grun_loop_push_ambient_mode() has answered
 *
 * Takes the mode back: the ambient mode is the one that was pushed last of those that are left, or the default one. In any order.
 *
 * Threads: the loop's own. On another one, and a second time, it is a g_critical(), and does nothing.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_pop_ambient_mode (GRunLoop *loop,
                                 guint id);

/**
 * grun_loop_detach:
 * @loop: the current thread's loop
 *
 * Takes the loop out of its home context, for a plug-in that is unloaded: whoever iterates that no longer serves it, and GLib holds nothing of ours
 * any more. Items stay where they are, and wait for grun_loop_attach(); the loop cannot be run meanwhile.
 *
 * Threads: the loop's own. Inside a callback of the loop it is a g_critical(), and does nothing.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_detach (GRunLoop *loop);

/**
 * grun_loop_attach:
 * @loop: the current thread's loop
 *
 * Puts a loop that was detached back into its home context. Threads: the loop's own. Without effect on a loop that is not detached.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_attach (GRunLoop *loop);

/**
 * grun_loop_get_host_time_slice:
 * @loop: a loop
 *
 * Threads: any.
 *
 * Returns: the seconds that grun_loop_set_host_time_slice() sets
 */
GRUN_AVAILABLE_IN_1_0
gdouble grun_loop_get_host_time_slice (GRunLoop *loop);

/**
 * grun_loop_set_host_time_slice:
 * @loop: a loop
 * @seconds: how long: 0.004 at first, at which GTK draws every frame; more than 0.008 costs frames; zero and negative: one item
 *
 * Sets how long the loop serves its own items in a row before whatever else is ready in its contexts has its turn: GTK's drawing, other sources
 * of GLib. Threads: any; it takes effect at the next item.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_set_host_time_slice (GRunLoop *loop,
                                    gdouble seconds);

/* What the loop does, for people. Threads: the loop's own. */

/**
 * grun_loop_start_tracing:
 * @loop: the current thread's loop
 * @limit: how many events are kept; later ones are not recorded
 *
 * Has the loop record what it does from now on: every stage of every pass, and every callback.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_start_tracing (GRunLoop *loop,
                              guint limit);

/**
 * grun_loop_stop_tracing:
 * @loop: the current thread's loop
 *
 * Ends that.
 *
 * Returns: (transfer full) (array zero-terminated=1): the events, a line each, indented by the depth of nesting; free it with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_stop_tracing (GRunLoop *loop);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunLoop, grun_loop_unref)

G_END_DECLS

#endif
