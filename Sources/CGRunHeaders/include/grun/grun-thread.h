/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do nothing but run their loop. */
#ifndef GRUN_THREAD_H
#define GRUN_THREAD_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunThreadSetUpFunc:
 * @loop: the new thread's loop
 * @user_data: (closure): what was given to grun_thread_new()
 *
 * Called on a new thread before its loop runs, to add what it is to serve.
 */
typedef void (*GRunThreadSetUpFunc) (GRunLoop *loop,
                                     gpointer user_data);

/**
 * grun_thread_new:
 * @name: the thread's name, of which the system keeps 15 bytes
 * @set_up: (nullable) (scope call) (closure user_data): called on the thread before its loop runs
 * @user_data: (nullable): what to give to @set_up
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Starts a thread and waits until its loop runs.
 *
 * The loop's home context is a context of its own, which is the thread-default one there: what is started on the thread
 * with GIO completes there. The loop always has something to wait for: it runs until grun_thread_stop(), or
 * grun_loop_stop() of its outermost run; not because this object goes.
 *
 * Threads: any. The corresponding Foundation class is `NSThread`, with a run loop run in its main method.
 *
 * Returns: (transfer full): the thread, or %NULL if none could be started
 */
GRUN_AVAILABLE_IN_1_0
GRunThread *grun_thread_new (const char *name,
                             GRunThreadSetUpFunc set_up,
                             gpointer user_data,
                             GError **error);

/**
 * grun_thread_ref:
 * @thread: a thread
 *
 * Takes a reference. Threads: any. The corresponding GLib function is g_thread_ref().
 *
 * Returns: (transfer full): the same thread
 */
GRUN_AVAILABLE_IN_1_0
GRunThread *grun_thread_ref (GRunThread *thread);

/**
 * grun_thread_unref:
 * @thread: (transfer full): a thread
 *
 * Gives a reference back. The thread itself goes on: see grun_thread_stop(). After the last one the pointer must not be
 * used. Threads: any. The corresponding GLib function is g_thread_unref().
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_unref (GRunThread *thread);

/**
 * grun_thread_copy_name:
 * @thread: a thread
 *
 * Threads: any. The corresponding Foundation property is `NSThread.name`.
 *
 * Returns: (transfer full): the name that it was given, whole; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_thread_copy_name (GRunThread *thread);

/**
 * grun_thread_get_loop:
 * @thread: a thread
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: (transfer none): its loop, which is inert after the thread's end; take a reference to keep it longer than
 *   @thread
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_thread_get_loop (GRunThread *thread);

/**
 * grun_thread_stop:
 * @thread: a thread
 *
 * Ends every run that is under way on the thread, and the thread with them, after the callbacks that are on its stack.
 * The second time it does nothing. Threads: any, the thread itself included. The corresponding Foundation method is
 * `-[NSThread cancel]`, which only sets a flag.
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_stop (GRunThread *thread);

/**
 * grun_thread_join:
 * @thread: a thread
 *
 * Waits until the thread has ended; it does not stop it. At once, if it has ended already.
 *
 * Threads: any but the thread itself, which would wait for ever: that is a g_critical(), and it does not wait. The
 * corresponding GLib function is g_thread_join(), which also gives the reference back.
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_join (GRunThread *thread);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunThread, grun_thread_unref)

G_END_DECLS

#endif
