/* SPDX-License-Identifier: Apache-2.0 */
/* The GLib contexts that a mode serves. */
#ifndef GRUN_CONTEXT_H
#define GRUN_CONTEXT_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* A run serves the contexts of its mode together with the loop's own items. One sleep waits for all of them. */

/**
 * grun_loop_get_home_context:
 * @loop: a loop
 *
 * Gets the loop's home context, which every common mode serves. On the main thread it is GLib's default context. On
 * another thread it is the thread's default context, or a context that the loop has made.
 *
 * The main loop's home context is fixed when the loop is made. Another loop's home context is fixed when its thread
 * adds the first item or block, or first runs the loop.
 *
 * Threads: any. GLib: g_main_context_default() and g_main_context_get_thread_default().
 *
 * Returns: (transfer none) (nullable): the context, which belongs to the loop; %NULL until it is fixed, while the loop
 *   is detached, and after the thread's end. On another thread, use the context only while the loop's thread cannot
 *   end. Otherwise call grun_loop_copy_contexts(), which takes references
 */
GRUN_AVAILABLE_IN_1_0
GMainContext *grun_loop_get_home_context (GRunLoop *loop);

/**
 * grun_loop_add_context:
 * @loop: a loop
 * @context: a context
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds a context to a mode, or to all common modes, so that the loop serves the context there. The loop takes a
 * reference. The context keeps the mode from being finished. Adding a context again does nothing.
 *
 * Adding the loop's home context does not change what a mode serves. The home context does not keep a mode from being
 * finished.
 *
 * The loop leaves out a context that another thread owns, and tries again in the next pass. A sleeping loop does not
 * notice that the other thread releases the context: call grun_loop_wake_up() then.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_context (GRunLoop *loop,
                            GMainContext *context,
                            const char *mode);

/**
 * grun_loop_remove_context:
 * @loop: a loop
 * @context: a context
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a context from a mode, or from all common modes. A pass that is dispatching the context finishes the
 * dispatch. A context that was not added is ignored.
 *
 * Threads: any.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_context (GRunLoop *loop,
                               GMainContext *context,
                               const char *mode);

/**
 * grun_loop_contains_context:
 * @loop: a loop
 * @context: a context
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a context was added to a mode with grun_loop_add_context(). The home context and the context that the
 * loop has made for a private mode do not count.
 *
 * Threads: any.
 *
 * Returns: whether the context was added to the mode; for %GRUN_MODE_COMMON, whether the context was added to
 *   %GRUN_MODE_COMMON itself
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
 * Lists the contexts that a mode serves. A common mode serves the home context. A private mode serves a context of its
 * own, which is made when the mode first runs. The contexts that were added follow. For %GRUN_MODE_COMMON, the array
 * has the contexts that were added to %GRUN_MODE_COMMON itself. For a mode that the loop does not know, the array is
 * empty: see grun_loop_copy_all_modes().
 *
 * Threads: any.
 *
 * Returns: (transfer container) (element-type GLib.MainContext): an array that holds references to the contexts; free
 *   it with g_ptr_array_unref()
 */
GRUN_AVAILABLE_IN_1_0
GPtrArray *grun_loop_copy_contexts (GRunLoop *loop,
                                    const char *mode);

G_END_DECLS

#endif
