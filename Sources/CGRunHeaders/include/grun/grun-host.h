/* SPDX-License-Identifier: Apache-2.0 */
/* What concerns a loop that a host drives: GTK, GIO, any iteration of its home context. */
#ifndef GRUN_HOST_H
#define GRUN_HOST_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* While a host drives. */

/**
 * grun_loop_copy_ambient_mode:
 * @loop: a loop
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: (transfer full): the mode in which a host is served: what was pushed last, %GRUN_MODE_DEFAULT at first; free
 *   it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_ambient_mode (GRunLoop *loop);

/**
 * grun_loop_push_ambient_mode:
 * @loop: the current thread's loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Has the host that drives this loop serve it in another mode, from the next pass on. A drag pushes
 * %GRUN_MODE_TRACKING: items of the default mode wait meanwhile; those of the common modes go on, as do the main
 * dispatch queue and GTK itself, because the mode becomes a common one.
 *
 * It changes no run of ours that is under way, and none that begins later: a run has its own mode.
 *
 * Threads: the loop's own; from another one it is a g_critical(), and nothing is pushed. There is no corresponding Core
 * Foundation function.
 *
 * Returns: a number for grun_loop_pop_ambient_mode(), greater than 0; 0 on an error, which is that of
 *   grun_loop_add_common_mode()
 */
GRUN_AVAILABLE_IN_1_0
guint grun_loop_push_ambient_mode (GRunLoop *loop,
                                   const char *mode,
                                   GError **error);

/**
 * grun_loop_pop_ambient_mode:
 * @loop: the current thread's loop
 * @id: what grun_loop_push_ambient_mode() has returned
 *
 * Takes the mode back: the ambient mode is the one that was pushed last of those that are left, or the default one. In
 * any order.
 *
 * Threads: the loop's own. On another one, and a second time, it is a g_critical(), and does nothing. There is no
 * corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_pop_ambient_mode (GRunLoop *loop,
                                 guint id);

/**
 * grun_loop_detach:
 * @loop: the current thread's loop
 *
 * Takes the loop out of its home context, for a plug-in that is unloaded: iterations of that context no longer serve
 * the loop, and GLib holds nothing of it any more. Items stay where they are, and wait for grun_loop_attach(); the loop
 * cannot be run meanwhile.
 *
 * dlclose() unmaps neither this library nor what has it linked in. It does unmap a plug-in in C that uses it, so that
 * none of the plug-in's functions may be left in any loop then, a #GDestroyNotify included: invalidate and unref what
 * it has added, let its blocks and performs be called, and join its threads.
 *
 * Threads: the loop's own. Inside a callback of the loop it is a g_critical(), and does nothing. There is no
 * corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_detach (GRunLoop *loop);

/**
 * grun_loop_attach:
 * @loop: the current thread's loop
 *
 * Puts a loop that was detached back into its home context. Threads: the loop's own. Without effect on a loop that is
 * not detached. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_attach (GRunLoop *loop);

G_END_DECLS

#endif
