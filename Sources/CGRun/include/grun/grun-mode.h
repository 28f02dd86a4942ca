/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of a loop, and the sources, timers and observers that are in them. CFRunLoopMode. */
#ifndef GRUN_MODE_H
#define GRUN_MODE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Modes. Threads: any. */

/**
 * grun_loop_copy_current_mode:
 * @loop: a loop
 *
 * The corresponding Core Foundation function is `CFRunLoopCopyCurrentMode`.
 *
 * Returns: (transfer full) (nullable): the mode of the innermost run; where a host drives, the ambient mode in every
 *   callback of it; %NULL outside both. Free it with g_free().
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_current_mode (GRunLoop *loop);

/**
 * grun_loop_copy_all_modes:
 * @loop: a loop
 *
 * The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
 *
 * Returns: (transfer full) (array zero-terminated=1): the modes that an item, a block or a context has ever named, and
 *   the default one, in no order; free it with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_copy_all_modes (GRunLoop *loop);

/**
 * grun_loop_add_common_mode:
 * @loop: a loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a mode one of the common modes, for good. Every common item joins it at once; it serves the home context and,
 * on the main loop, the main dispatch queue. The corresponding Core Foundation function is `CFRunLoopAddCommonMode`.
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
 * Returns: the date of the mode's first timer, in microseconds as g_get_monotonic_time() counts them; -1 if there is
 *   none
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_next_timer_fire_date (GRunLoop *loop,
                                           const char *mode);

/* Items of modes. Threads: any. Adding what is there already, or is invalid, does nothing; what is in another loop is
 * refused by a g_critical(). With %GRUN_MODE_COMMON an item joins every common mode, or leaves it; whether it is there
 * is whether it was added to the common modes as such. */

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

G_END_DECLS

#endif
