/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of a loop. CFRunLoopMode. */
#ifndef GRUN_MODE_H
#define GRUN_MODE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* A mode is known by its name, which is any UTF-8 string that is not empty. Names are compared by content. */

/**
 * GRUN_MODE_DEFAULT:
 *
 * The mode in which a program spends its idle time. Core Foundation: `kCFRunLoopDefaultMode`.
 */
#define GRUN_MODE_DEFAULT "kCFRunLoopDefaultMode"

/**
 * GRUN_MODE_COMMON:
 *
 * The name of all common modes together: an item that is added to it is served in each of them. It is not a mode
 * itself, and cannot be run. Core Foundation: `kCFRunLoopCommonModes`.
 */
#define GRUN_MODE_COMMON "kCFRunLoopCommonModes"

/**
 * GRUN_MODE_TRACKING:
 *
 * The mode for tracking a drag or a scroll, while items of the default mode wait. It becomes a common mode only by
 * grun_loop_add_common_mode() or grun_loop_push_ambient_mode(). AppKit: `NSEventTrackingRunLoopMode`.
 */
#define GRUN_MODE_TRACKING "GRunLoopTrackingMode"

/**
 * grun_loop_copy_current_mode:
 * @loop: a loop
 *
 * Returns the mode that the loop serves now.
 *
 * Threads: any. Core Foundation: `CFRunLoopCopyCurrentMode`.
 *
 * Returns: (transfer full) (nullable): the mode of the innermost run; in a callback of a host, the ambient mode;
 *   otherwise %NULL. A call from another thread cannot see a callback of a host: it returns the mode of the innermost
 *   run, or %NULL. Free the mode with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_current_mode (GRunLoop *loop);

/**
 * grun_loop_copy_all_modes:
 * @loop: a loop
 *
 * Returns the names of all modes that the loop knows. The loop never forgets a mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopCopyAllModes`.
 *
 * Returns: (transfer full) (array zero-terminated=1): the default mode, and every mode that an item, a block, a context
 *   or a push of the ambient mode has ever named, in no order; free them with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_copy_all_modes (GRunLoop *loop);

/**
 * grun_loop_add_common_mode:
 * @loop: a loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Makes a mode one of the common modes, permanently. Every common item joins the mode immediately. The mode then serves
 * the home context and, on the main loop, the main dispatch queue.
 *
 * Threads: any. Core Foundation: `CFRunLoopAddCommonMode`.
 *
 * Returns: %FALSE with an error of grun_loop_add_fd_source() if a common descriptor source cannot be watched in the
 *   mode; then the mode is not common
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
 * Returns the date of the first timer or delayed perform in a mode, without tolerances. A date that has passed means
 * that the timer is overdue, or that its function is running. For %GRUN_MODE_COMMON, the result is -1: pass one of the
 * common modes instead.
 *
 * Threads: any. Core Foundation: `CFRunLoopGetNextTimerFireDate`.
 *
 * Returns: the date of the mode's first timer or delayed perform, in microseconds as g_get_monotonic_time() counts
 *   them; -1 if the mode has none
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_next_timer_fire_date (GRunLoop *loop,
                                           const char *mode);

G_END_DECLS

#endif
