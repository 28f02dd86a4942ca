/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when a descriptor is ready: CFRunLoopSource, version 1. */
#ifndef GRUN_FD_SOURCE_H
#define GRUN_FD_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunFdSourceFunc:
 * @source: the source whose descriptor is ready
 * @condition: what was found
 * @user_data: (closure): what was given to grun_fd_source_new()
 *
 * Called on the loop's thread, in every pass in which the condition holds.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunFdSourceFunc) (GRunFdSource *source,
                                      GIOCondition condition,
                                      gpointer user_data);

/**
 * grun_fd_source_new:
 * @fd: an open descriptor that can be polled; it stays the caller's, and the source never closes it; a negative number
 * is a g_critical(), and %NULL is returned
 * @condition: what to wait for: %G_IO_IN, %G_IO_OUT, %G_IO_PRI; %G_IO_HUP and %G_IO_ERR are always waited for
 * @func: (scope notified) (closure user_data) (destroy notify): what to call
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the source goes; not when it is invalidated
 *
 * Makes a source that is performed when its descriptor is readable, writable, and so on.
 *
 * It is level-triggered: it is performed again in every pass in which the condition still holds. The loop does not
 * read from the descriptor. Remove or invalidate the source before closing the descriptor, or before dup2(2) gives the
 * number another file, and add it again afterwards. Otherwise the loop goes on watching the old file. The loop usually
 * notices the new file when an event of the old file comes, and always when a source of the number is added to the
 * same mode, changed or removed: it logs a warning, drops the event, and watches the new file. If no copy of the old
 * file is open, no such event comes. If the new file cannot be polled, as a regular file or /dev/null, @func is not
 * called for the new file.
 *
 * Two sources may watch one descriptor for different conditions; of two for the same condition the later one gets it.
 * A function that drains another source's descriptor may leave that one a spurious call: use descriptors that do not
 * block. A source is in one loop at a time, and in any number of its modes.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`, the GLib function
 * g_unix_fd_source_new().
 *
 * Returns: (transfer full): the source
 */
GRUN_AVAILABLE_IN_1_0
GRunFdSource *grun_fd_source_new (gint fd,
                                  GIOCondition condition,
                                  GRunFdSourceFunc func,
                                  gpointer user_data,
                                  GDestroyNotify notify);

/**
 * grun_fd_source_ref:
 * @source: a descriptor source
 *
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunFdSource *grun_fd_source_ref (GRunFdSource *source);

/**
 * grun_fd_source_unref:
 * @source: (transfer full): a descriptor source
 *
 * Gives a reference back. A loop that the source is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any; with the last reference @notify is called, on this thread. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_unref (GRunFdSource *source);

/**
 * grun_fd_source_get_fd:
 * @source: a descriptor source
 *
 * Threads: any. The corresponding Core Foundation function is `CFFileDescriptorGetNativeDescriptor`.
 *
 * Returns: the descriptor that it was made with
 */
GRUN_AVAILABLE_IN_1_0
gint grun_fd_source_get_fd (GRunFdSource *source);

/**
 * grun_fd_source_get_condition:
 * @source: a descriptor source
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: the conditions that it waits for
 */
GRUN_AVAILABLE_IN_1_0
GIOCondition grun_fd_source_get_condition (GRunFdSource *source);

/**
 * grun_fd_source_set_condition:
 * @source: a descriptor source
 * @condition: what to wait for from now on, as in grun_fd_source_new(); with 0 only %G_IO_HUP and %G_IO_ERR are
 * reported, which are until the source is removed
 *
 * Changes what is waited for, as for a socket that waits for %G_IO_OUT only while it has something to write. A
 * condition that is taken away is not reported any more, also if it was found already; on another thread, a call that
 * has begun on the loop's may still have it. One that is added is reported if it holds now, and a sleeping loop
 * notices. It costs one system call for each mode that the source is in, and none if nothing changes.
 *
 * A #GRunSignalSource or #GRunChildSource that is cast to this type keeps what it waits for: its descriptor is its own.
 * A change is ignored, with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation functions are `CFFileDescriptorEnableCallBacks` and
 * `CFFileDescriptorDisableCallBacks`, GLib's is g_source_modify_unix_fd().
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_set_condition (GRunFdSource *source,
                                   GIOCondition condition);

/**
 * grun_fd_source_invalidate:
 * @source: a descriptor source
 *
 * Takes the source out of every mode, for good. It is not performed any more, also not for an event that was found
 * already. @notify is called when the source goes, which may be later. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_invalidate (GRunFdSource *source);

/**
 * grun_fd_source_is_valid:
 * @source: a descriptor source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_fd_source_is_valid (GRunFdSource *source);

/**
 * grun_fd_source_set_label:
 * @source: a descriptor source
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the source, for people who read grun_fd_source_to_string() or a trace. Any text is a
 * label, the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any
 * time, also once the source is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_set_label (GRunFdSource *source,
                               const char *label);

/**
 * grun_fd_source_copy_label:
 * @source: a descriptor source
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_fd_source_copy_label (GRunFdSource *source);

/**
 * grun_fd_source_to_string:
 * @source: a descriptor source
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the source is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_fd_source_to_string (GRunFdSource *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunFdSource, grun_fd_source_unref)

G_END_DECLS

#endif
