/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that do nothing but run their loop. */
#ifndef GRUN_THREAD_H
#define GRUN_THREAD_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_thread_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_THREAD (grun_thread_get_type ())

/**
 * GRunThreadSetUpFunc:
 * @loop: the new thread's loop
 * @user_data: (closure): the data that was passed to grun_thread_new()
 *
 * A function that is called on a new thread before its loop runs, to add items to the loop.
 */
typedef void (*GRunThreadSetUpFunc) (GRunLoop *loop,
                                     gpointer user_data);

/**
 * grun_thread_new:
 * @name: the thread's name, of which the system keeps 15 bytes
 * @set_up: (nullable) (scope call) (closure user_data): the function to call on the thread before its loop runs
 * @user_data: (nullable): the data to pass to @set_up
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Starts a thread and waits until its loop runs.
 *
 * The loop has its own home context, which is the thread's default context: GIO operations that the thread starts
 * complete there. The loop always has something to wait for. It runs until grun_thread_stop() is called, or
 * grun_loop_stop() ends its outermost run. Releasing the #GRunThread does not end the thread.
 *
 * Threads: any. Foundation: `NSThread`, with a run loop run in its main method.
 *
 * Returns: (transfer full) (nullable): the thread; %NULL with %GRUN_ERROR_NO_THREAD if the system has no thread left,
 *   %GRUN_ERROR_LIMIT_REACHED if no descriptor or memory is left, %GRUN_ERROR_SYSTEM for another reason, or
 *   %GRUN_ERROR_NOT_SUPPORTED in a forked child, or if a sandbox forbids a system call
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
 * Takes a reference.
 *
 * Threads: any. GLib: g_thread_ref().
 *
 * Returns: (transfer full): the same thread
 */
GRUN_AVAILABLE_IN_1_0
GRunThread *grun_thread_ref (GRunThread *thread);

/**
 * grun_thread_unref:
 * @thread: (transfer full): a thread
 *
 * Releases a reference. Do not use the pointer after your last release. The thread itself continues: see
 * grun_thread_stop().
 *
 * Threads: any. GLib: g_thread_unref().
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_unref (GRunThread *thread);

/**
 * grun_thread_copy_name:
 * @thread: a thread
 *
 * Returns a copy of the name that was passed to grun_thread_new().
 *
 * Threads: any. Foundation: `NSThread.name`.
 *
 * Returns: (transfer full): the whole name, although the system keeps only 15 bytes; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_thread_copy_name (GRunThread *thread);

/**
 * grun_thread_get_loop:
 * @thread: a thread
 *
 * Returns the loop that the thread runs. The loop exists at least as long as @thread, even after the thread's end.
 *
 * Threads: any.
 *
 * Returns: (transfer none): the thread's loop, which does nothing any more after the thread's end; take a reference to
 *   keep it longer than @thread
 */
GRUN_AVAILABLE_IN_1_0
GRunLoop *grun_thread_get_loop (GRunThread *thread);

/**
 * grun_thread_stop:
 * @thread: a thread
 *
 * Ends every run on the thread, and then the thread. The callbacks on its stack return first. A second call does
 * nothing.
 *
 * Threads: any, the thread itself included. Foundation: `-[NSThread cancel]`, which only sets a flag.
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_stop (GRunThread *thread);

/**
 * grun_thread_wait:
 * @thread: a thread
 *
 * Waits until the thread has ended, but does not stop it. If the thread has ended already, this returns immediately.
 *
 * Threads: any but the thread itself, which would wait forever: there the call is a g_critical() and does not wait.
 * GLib: g_thread_join(), which also releases the reference.
 */
GRUN_AVAILABLE_IN_1_0
void grun_thread_wait (GRunThread *thread);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunThread, grun_thread_unref)

G_END_DECLS

#endif
