/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when a child process has ended. */
#ifndef GRUN_CHILD_SOURCE_H
#define GRUN_CHILD_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_child_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_CHILD_SOURCE (grun_child_source_get_type ())

/**
 * GRunChildSourceFunc:
 * @source: the source, which is invalid by now
 * @wait_status: the status of the child, as waitpid(2) returns it; -1 if the status is not known
 * @error: (nullable): the reason why the status is not known, %GRUN_ERROR_STATUS_LOST if other code has reaped the
 *   child; %NULL if the status is known
 * @user_data: (closure): the data that was given to grun_child_source_new()
 *
 * Called once, on the loop's thread, when the child has ended and was reaped.
 *
 * Use WIFEXITED() and similar macros for the status, or g_spawn_check_wait_status(). If the status is -1, none of these
 * macros is true.
 */
typedef void (*GRunChildSourceFunc) (GRunChildSource *source,
                                     gint wait_status,
                                     const GError *error,
                                     gpointer user_data);

/**
 * grun_child_source_new:
 * @pid: a child of this process that was not reaped yet; it may have ended already
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the source is freed, or cannot be made; not when it is invalidated
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Makes a source that waits for the end of a child and reaps the child. Add it to any loop with
 * grun_loop_add_child_source().
 *
 * The source installs no handler for SIGCHLD, and reaps no other child. Only the code that reaps a child first gets its
 * status. So do not make a source for a child of GSubprocess or g_child_watch_add(). GLib would report status 0, even
 * if the child failed. Invalidating or freeing the source neither ends nor reaps the child.
 *
 * The end of a child and the end of its output are two events, and either can come first. The child's last output may
 * still be in the pipe when @func is called. A child may close its output and go on. A process that the child has
 * started may keep the output open. So watch the pipe with a #GRunFdSource, read until read(2) returns 0, and store the
 * wait status in @func. Continue in the function that is called second. If other processes can have the pipe, set a
 * timer in @func. Examples/Sources/daemon-c does this.
 *
 * Threads: any. GLib: g_child_watch_source_new().
 *
 * Returns: (transfer full) (nullable): the source; %NULL with %GRUN_ERROR_NOT_A_CHILD, %GRUN_ERROR_STATUS_LOST,
 *   %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or %GRUN_ERROR_NOT_SUPPORTED; the last one if the kernel has no
 *   pidfd_open(2), or a sandbox forbids it
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
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunChildSource *grun_child_source_ref (GRunChildSource *source);

/**
 * grun_child_source_unref:
 * @source: (transfer full): a child source
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, `notify` of
 * grun_child_source_new() is called on this thread. A loop holds a reference to each source in its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_unref (GRunChildSource *source);

/**
 * grun_child_source_get_pid:
 * @source: a child source
 *
 * Returns the process id of the child. An invalid source keeps it.
 *
 * Threads: any.
 *
 * Returns: the child's process id. After the child was reaped, another process may have this number.
 */
GRUN_AVAILABLE_IN_1_0
gint grun_child_source_get_pid (GRunChildSource *source);

/**
 * grun_child_source_invalidate:
 * @source: a child source
 *
 * Removes the source from every mode, permanently. The child is neither ended nor reaped. The `notify` function of
 * grun_child_source_new() is called when the source is freed, which may be later. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_invalidate (GRunChildSource *source);

/**
 * grun_child_source_is_valid:
 * @source: a child source
 *
 * Returns whether the source is valid. It is invalid already when its function is called.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once the source was invalidated, or its function was called; otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_child_source_is_valid (GRunChildSource *source);

/**
 * grun_child_source_set_label:
 * @source: a child source
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_child_source_to_string(), traces and stall reports show on one line, cut to 120 characters.
 * The text is copied whole, and may be empty. An invalid source can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_child_source_set_label (GRunChildSource *source,
                                  const char *label);

/**
 * grun_child_source_copy_label:
 * @source: a child source
 *
 * Returns a copy of the source's label. An invalid source keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the source has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_child_source_copy_label (GRunChildSource *source);

/**
 * grun_child_source_to_string:
 * @source: a child source
 *
 * Describes the source and its state for people, for example in a log. An invalid source can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_child_source_to_string (GRunChildSource *source);

/**
 * grun_loop_add_child_source:
 * @loop: a loop
 * @source: a child source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Adds a child source to a mode, or to every common mode. The loop takes a reference. Adding a source again, or adding
 * an invalid source, does nothing. A source that is in another loop is refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddSource`.
 *
 * Returns: %TRUE if the source is in the mode. %FALSE without an error if the call was refused, the source is invalid,
 *   or the loop has ended. %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the source,
 *   usually %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the source has joined none of the modes.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_child_source (GRunLoop *loop,
                                     GRunChildSource *source,
                                     const char *mode,
                                     GError **error);

/**
 * grun_loop_remove_child_source:
 * @loop: a loop
 * @source: a child source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a child source from a mode, or from every common mode. The child is neither ended nor reaped. If the source
 * is not in the mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_child_source (GRunLoop *loop,
                                    GRunChildSource *source,
                                    const char *mode);

/**
 * grun_loop_contains_child_source:
 * @loop: a loop
 * @source: a child source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a child source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_child_source (GRunLoop *loop,
                                          GRunChildSource *source,
                                          const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunChildSource, grun_child_source_unref)

G_END_DECLS

#endif
