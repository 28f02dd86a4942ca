/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when a child process has ended. */
#ifndef GRUN_CHILD_SOURCE_H
#define GRUN_CHILD_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunChildSourceFunc:
 * @source: the source, which is invalid by now
 * @wait_status: as waitpid(2) gives it, for WIFEXITED() and its like, and for g_spawn_check_wait_status(); -1, of which
 *   none of them is true, if it is not known
 * @error: (nullable): why the status is not known: %GRUN_ERROR_STATUS_LOST if somebody else has reaped the child; or
 *   %NULL
 * @user_data: (closure): what was given to grun_child_source_new()
 *
 * Called once, on the loop's thread, when the child has ended and was reaped.
 */
typedef void (*GRunChildSourceFunc) (GRunChildSource *source,
                                     gint wait_status,
                                     const GError *error,
                                     gpointer user_data);

/**
 * grun_child_source_new:
 * @pid: a child of this process that nobody has reaped yet; it may have ended
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the source goes, or cannot be made; not when it is invalidated
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a source that waits for the end of a child and reaps it, and may be added to any loop by
 * grun_loop_add_child_source().
 *
 * There is no handler of SIGCHLD, and no other child is touched. But a child has one owner: a child of GSubprocess or
 * of g_child_watch_add() is GLib's, which reports status 0 of one that ended otherwise if somebody else has reaped it.
 * To invalidate the source, or to let go of it, neither ends the child nor reaps it.
 *
 * The end of a child and the end of its output are two events, and either can come first. What the child printed may
 * still be in the pipe when @func is called. A child may close its output and go on. A process that the child has
 * started may keep the output open. So watch the pipe with a #GRunFdSource, read until read(2) returns 0, and keep
 * the wait status in @func. Go on in whichever of the two functions comes second. Set a timer in @func if other
 * processes can have the pipe. Examples/Sources/daemon-c does this.
 *
 * Threads: any. Core Foundation has nothing of the kind; the corresponding GLib function is g_child_watch_source_new().
 *
 * Returns: (transfer full) (nullable): the source; %NULL with %GRUN_ERROR_NOT_A_CHILD, %GRUN_ERROR_STATUS_LOST,
 *   %GRUN_ERROR_LIMIT_REACHED, or %GRUN_ERROR_NOT_SUPPORTED where the kernel has no pidfd_open(2)
 */
GRUN_AVAILABLE_IN_1_0
GRunChildSource *grun_child_source_new (gint pid,
                                        GRunChildSourceFunc func,
                                        gpointer user_data,
                                        GDestroyNotify notify,
                                        GError **error);

/**
 * grun_child_source_ref:
 * @source: a child source
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunChildSource *grun_child_source_ref (GRunChildSource *source);

/**
 * grun_child_source_unref:
 * @source: (transfer full): a child source
 *
 * Gives a reference back. A loop that the source is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any; with the last reference the `notify` of its making is called, on this thread. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_unref (GRunChildSource *source);

/**
 * grun_child_source_get_pid:
 * @source: a child source
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the child's number, which may be another process's once it was reaped
 */
GRUN_AVAILABLE_IN_1_0
gint grun_child_source_get_pid (GRunChildSource *source);

/**
 * grun_child_source_invalidate:
 * @source: a child source
 *
 * Takes the source out of every mode, for good. The child is neither ended nor reaped. `notify` is called when the
 * source goes, which may be later. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_invalidate (GRunChildSource *source);

/**
 * grun_child_source_is_valid:
 * @source: a child source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_child_source_is_valid (GRunChildSource *source);

/**
 * grun_child_source_set_label:
 * @source: a child source
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the source, for people who read grun_child_source_to_string() or a trace. Any text is a
 * label, the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any
 * time, also once the source is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_set_label (GRunChildSource *source,
                                  const char *label);

/**
 * grun_child_source_copy_label:
 * @source: a child source
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_child_source_copy_label (GRunChildSource *source);

/**
 * grun_child_source_to_string:
 * @source: a child source
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the source is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_child_source_to_string (GRunChildSource *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunChildSource, grun_child_source_unref)

G_END_DECLS

#endif
