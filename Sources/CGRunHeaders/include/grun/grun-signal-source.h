/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when a signal of the process has come. */
#ifndef GRUN_SIGNAL_SOURCE_H
#define GRUN_SIGNAL_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunSignalSourceFunc:
 * @source: the source whose signal has come
 * @count: how many have come since the last call, at least one; the kernel counts each of those that are queued,
 *   SIGRTMIN and later, and keeps one at a time of the others
 * @user_data: (closure): what was given to grun_signal_source_new()
 *
 * Called on the loop's thread, as any other callback: whatever is not allowed in a signal handler is allowed here.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunSignalSourceFunc) (GRunSignalSource *source,
                                          guint64 count,
                                          gpointer user_data);

/**
 * grun_signal_source_new:
 * @signum: the number of the signal; SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
 *   SIGABRT, SIGTRAP, SIGTTIN and SIGTTOU are refused
 * @replacing: whether to take the signal over from a handler that somebody in the process has, as Python of SIGINT
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the source goes, or cannot be made; not when it is invalidated
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a source that listens to a signal of the process from now on, and may be added to any loop by
 * grun_loop_add_signal_source().
 *
 * It listens until it is invalidated or goes: signals that come before it is in a loop, or while its loop is in another
 * mode, are counted, and none is lost. With the last source of a signal the former disposition comes back, unless
 * somebody has installed another meanwhile. An ignored signal, as SIGHUP under `nohup`, is heard nevertheless. Any
 * number of sources and loops can listen to one signal; each gets all of them. No mask is changed, so that a signal
 * which every thread has blocked waits; system calls are restarted, except those that never are, as poll() and
 * nanosleep() (signal(7)). Programs that are started inherit nothing, also not that the signal was ignored. A forked
 * child that does not exec() hears nothing.
 *
 * Threads: any. Core Foundation has nothing of the kind; the corresponding GLib function is
 * g_unix_signal_source_new().
 *
 * Returns: (transfer full) (nullable): the source; %NULL with %GRUN_ERROR_SIGNAL_REFUSED, %GRUN_ERROR_SIGNAL_HANDLED,
 *   %GRUN_ERROR_LIMIT_REACHED, or %GRUN_ERROR_NOT_SUPPORTED in a forked child or where a sandbox forbids it
 */
GRUN_AVAILABLE_IN_1_0
GRunSignalSource *grun_signal_source_new (gint signum,
                                          gboolean replacing,
                                          GRunSignalSourceFunc func,
                                          gpointer user_data,
                                          GDestroyNotify notify,
                                          GError **error);

/**
 * grun_signal_source_ref:
 * @source: a signal source
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunSignalSource *grun_signal_source_ref (GRunSignalSource *source);

/**
 * grun_signal_source_unref:
 * @source: (transfer full): a signal source
 *
 * Gives a reference back. A loop that the source is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any; with the last reference the `notify` of its making is called, on this thread. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_unref (GRunSignalSource *source);

/**
 * grun_signal_source_get_signum:
 * @source: a signal source
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the number of the signal
 */
GRUN_AVAILABLE_IN_1_0
gint grun_signal_source_get_signum (GRunSignalSource *source);

/**
 * grun_signal_source_invalidate:
 * @source: a signal source
 *
 * Takes the source out of every mode, for good, and stops listening. It is not performed any more, also not for signals
 * that have come already. `notify` is called when the source goes, which may be later. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_invalidate (GRunSignalSource *source);

/**
 * grun_signal_source_is_valid:
 * @source: a signal source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_signal_source_is_valid (GRunSignalSource *source);

/**
 * grun_signal_source_set_label:
 * @source: a signal source
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the source, for people who read grun_signal_source_to_string() or a trace. Any text is a
 * label, the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any
 * time, also once the source is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_set_label (GRunSignalSource *source,
                                   const char *label);

/**
 * grun_signal_source_copy_label:
 * @source: a signal source
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_signal_source_copy_label (GRunSignalSource *source);

/**
 * grun_signal_source_to_string:
 * @source: a signal source
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the source is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_signal_source_to_string (GRunSignalSource *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunSignalSource, grun_signal_source_unref)

G_END_DECLS

#endif
