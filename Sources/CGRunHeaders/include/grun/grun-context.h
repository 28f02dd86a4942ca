/* SPDX-License-Identifier: Apache-2.0 */
/* The contexts of GLib that a mode serves. */
#ifndef GRUN_CONTEXT_H
#define GRUN_CONTEXT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Contexts of modes: while a run is in such a mode, the context is served with the loop's own items, in one sleep. */

/**
 * grun_loop_get_home_context:
 * @loop: a loop
 *
 * The context that every common mode serves: GLib's default context on the main thread; elsewhere the thread's default
 * one, or one of the loop's own.
 *
 * Threads: any. There is no corresponding Core Foundation function. GLib's are g_main_context_default() and
 * g_main_context_get_thread_default().
 *
 * Returns: (transfer none) (nullable): the context, which belongs to the loop; %NULL until it is fixed, when the thread
 *   adds its first item or block or first runs the loop; %NULL while the loop is detached, and after the thread's end.
 *   On another thread it is to be used only while something keeps the loop's thread from ending;
 *   grun_loop_copy_contexts() takes references
 */
GRUN_AVAILABLE_IN_1_0
GMainContext *grun_loop_get_home_context (GRunLoop *loop);

/**
 * grun_loop_add_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Has a mode, or all common modes, serve a context; it keeps the mode from being finished. The loop takes a reference.
 * Adding it again does nothing, nor does adding the loop's home context, which keeps no mode from being finished. A
 * context that another thread owns is left out, and tried again in the next pass: call grun_loop_wake_up() when that
 * thread has let it go.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_context (GRunLoop *loop,
                            GMainContext *context,
                            const char *mode);

/**
 * grun_loop_remove_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Has a mode, or all common modes, no longer serve a context. A pass that is dispatching it finishes that. Without
 * effect on one that was not added.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_context (GRunLoop *loop,
                               GMainContext *context,
                               const char *mode);

/**
 * grun_loop_contains_context:
 * @loop: a loop
 * @context: a context
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Threads: any. There is no corresponding Core Foundation function.
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
 * The contexts that a mode serves: the home context in a common mode, a private mode's own one once it has run, and
 * those that were added. For %GRUN_MODE_COMMON, those that were added to the common modes as such.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: (transfer container) (element-type GLib.MainContext): the contexts, which the array holds; free it with
 *   g_ptr_array_unref()
 */
GRUN_AVAILABLE_IN_1_0
GPtrArray *grun_loop_copy_contexts (GRunLoop *loop,
                                    const char *mode);

G_END_DECLS

#endif
