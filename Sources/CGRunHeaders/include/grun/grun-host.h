/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for a loop that a host drives: GTK, GIO, or any code that iterates the loop's home context. */
#ifndef GRUN_HOST_H
#define GRUN_HOST_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* The ambient mode: the mode in which a host serves the loop. */

/**
 * grun_loop_copy_ambient_mode:
 * @loop: a loop
 *
 * Returns the ambient mode, in which a host serves the loop. Runs have their own mode.
 *
 * Threads: any.
 *
 * Returns: (transfer full): the mode that was pushed last, or %GRUN_MODE_DEFAULT if none is pushed; free it with
 *   g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_ambient_mode (GRunLoop *loop);

/**
 * grun_loop_push_ambient_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Sets the ambient mode, in which a host serves the loop, from the next pass on.
 *
 * For example, a drag pushes %GRUN_MODE_TRACKING. Items of the default mode wait meanwhile. The mode becomes one of the
 * common modes, so common items, the main dispatch queue and GTK itself go on.
 *
 * The ambient mode does not affect runs, because a run has its own mode.
 *
 * Threads: the loop's own; a call from another thread is a g_critical(), and nothing is pushed.
 *
 * Returns: a number for grun_loop_pop_ambient_mode(), greater than 0; 0 with an error of grun_loop_add_common_mode(); 0
 *   without an error if the call was refused or the loop has ended
 */
GRUN_AVAILABLE_IN_1_0
guint grun_loop_push_ambient_mode (GRunLoop *loop,
                                   const char *mode,
                                   GError **error);

/**
 * grun_loop_pop_ambient_mode:
 * @loop: the current thread's loop
 * @id: the number that grun_loop_push_ambient_mode() returned
 *
 * Pops a pushed mode. Modes can be popped in any order. The ambient mode is then the last mode that is still pushed, or
 * the default mode.
 *
 * Threads: the loop's own. A call from another thread, and a second call, is a g_critical() and does nothing.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_pop_ambient_mode (GRunLoop *loop,
                                 guint id);

/**
 * grun_loop_detach:
 * @loop: the current thread's loop
 *
 * Takes the loop out of its home context, for a plug-in that is unloaded. Iterations of that context no longer serve
 * the loop, and GLib holds no part of the loop any more. Items stay in their modes, and wait for grun_loop_attach().
 * The loop cannot be run meanwhile.
 *
 * dlclose() unmaps neither this library nor a shared object that has the library linked in. It does unmap a plug-in in
 * C that only uses the library. No function of the plug-in may be left in any loop then, not even a #GDestroyNotify.
 * Before you unload the plug-in, invalidate and release the items that the plug-in has added, let its blocks and
 * performs be called, and join its threads.
 *
 * Threads: the loop's own. A call from another thread, or inside a callback of the loop, is a g_critical() and does
 * nothing.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_detach (GRunLoop *loop);

/**
 * grun_loop_attach:
 * @loop: the current thread's loop
 *
 * Puts a loop that was detached back into its home context. A loop that is not detached ignores the call.
 *
 * Threads: the loop's own; a call from another thread is a g_critical() and does nothing.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_attach (GRunLoop *loop);

G_END_DECLS

#endif
