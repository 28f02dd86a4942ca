/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when a descriptor is ready: CFRunLoopSource, version 1. */
#ifndef GRUN_FD_SOURCE_H
#define GRUN_FD_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_fd_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_FD_SOURCE (grun_fd_source_get_type ())

/**
 * GRunFdSourceFunc:
 * @source: the source whose descriptor is ready
 * @condition: the conditions that were found
 * @user_data: (closure): the data that was given to grun_fd_source_new()
 *
 * Called on the loop's thread, in every pass in which one of the source's conditions holds.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunFdSourceFunc) (GRunFdSource *source,
                                      GIOCondition condition,
                                      gpointer user_data);

/**
 * grun_fd_source_new:
 * @fd: an open descriptor that can be polled, which the caller owns
 * @condition: the conditions to wait for: %G_IO_IN, %G_IO_OUT and %G_IO_PRI; %G_IO_HUP and %G_IO_ERR are always waited
 *   for
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the source is freed, not when it is invalidated
 *
 * Makes a source that is performed when its descriptor is readable, writable, and so on. The source never closes the
 * descriptor. If @fd is negative, that is a g_critical().
 *
 * The source is level-triggered: it is performed again in every pass in which the condition still holds. The loop does
 * not read from the descriptor. A FIFO that you open with O_RDONLY is always ready after its last writer has closed it,
 * and read() returns 0. Open such a FIFO with O_RDWR, so that it always has a writer.
 *
 * Remove or invalidate the source before you close the descriptor, or before dup2(2) gives the number another file.
 * Otherwise the loop keeps watching the old file. You can add a removed source again. The loop usually notices the new
 * file when an event of the old file comes. It always notices the new file when a source with this number is
 * added to the same mode, changed or removed. Then it logs a warning, drops the event, and watches the new file. If no
 * copy of the old file is open, no event of the old file comes. If the new file cannot be polled, for example a regular
 * file or /dev/null, @func is not called for it.
 *
 * Several sources may watch one descriptor for different conditions. If two sources wait for the same condition, only
 * the source that was added later is performed. If a function drains the descriptor of another source, that source may
 * still get one spurious call. So use non-blocking descriptors. A source is in one loop at a time, and in any number of
 * the loop's modes.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceCreate`. GLib: g_unix_fd_source_new().
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
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunFdSource *grun_fd_source_ref (GRunFdSource *source);

/**
 * grun_fd_source_unref:
 * @source: (transfer full): a descriptor source
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, `notify` of
 * grun_fd_source_new() is called on this thread. A loop holds a reference to each source in its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_unref (GRunFdSource *source);

/**
 * grun_fd_source_get_fd:
 * @source: a descriptor source
 *
 * Returns the descriptor that was passed to grun_fd_source_new(). An invalid source keeps this number, which may belong
 * to another file by then.
 *
 * Threads: any. Core Foundation: `CFFileDescriptorGetNativeDescriptor`.
 *
 * Returns: the descriptor that the source watches
 */
GRUN_AVAILABLE_IN_1_0
gint grun_fd_source_get_fd (GRunFdSource *source);

/**
 * grun_fd_source_get_condition:
 * @source: a descriptor source
 *
 * Returns the conditions that grun_fd_source_new() or grun_fd_source_set_condition() has set. %G_IO_HUP and %G_IO_ERR
 * are always reported, but the result contains them only if they were set. Bits that no source can wait for, such as
 * %G_IO_NVAL, are left out.
 *
 * Threads: any.
 *
 * Returns: the conditions that the source waits for
 */
GRUN_AVAILABLE_IN_1_0
GIOCondition grun_fd_source_get_condition (GRunFdSource *source);

/**
 * grun_fd_source_set_condition:
 * @source: a descriptor source
 * @condition: the conditions to wait for from now on, as in grun_fd_source_new()
 *
 * Changes the conditions that the source waits for. For example, wait for %G_IO_OUT only while you have data to write.
 *
 * A condition that you remove is not reported any more, even if it was found already. If another thread than the loop's
 * removes it, a call that has begun may still report it. A condition that you add is reported if it holds now, and a
 * sleeping loop notices it. With 0, only %G_IO_HUP and %G_IO_ERR are reported. A descriptor that has hung up is
 * reported in every pass until the source is removed.
 *
 * A change costs one system call for each mode that the source is in, and none if the conditions stay the same.
 *
 * Threads: any. Core Foundation: `CFFileDescriptorEnableCallBacks` and `CFFileDescriptorDisableCallBacks`. GLib:
 * g_source_modify_unix_fd().
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_set_condition (GRunFdSource *source,
                                   GIOCondition condition);

/**
 * grun_fd_source_invalidate:
 * @source: a descriptor source
 *
 * Removes the source from every mode, permanently. It is not performed any more, even for an event that was found
 * already. The `notify` function of grun_fd_source_new() is called when the source is freed, which may be later. A
 * second call does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_invalidate (GRunFdSource *source);

/**
 * grun_fd_source_is_valid:
 * @source: a descriptor source
 *
 * Returns whether the source is valid. A source becomes invalid in grun_fd_source_invalidate(), and if its function
 * returns %G_SOURCE_REMOVE.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once the source was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_fd_source_is_valid (GRunFdSource *source);

/**
 * grun_fd_source_set_label:
 * @source: a descriptor source
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_fd_source_to_string(), traces and stall reports show on one line, cut to 120 characters. The
 * text is copied whole, and may be empty. An invalid source can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_fd_source_set_label (GRunFdSource *source,
                               const char *label);

/**
 * grun_fd_source_copy_label:
 * @source: a descriptor source
 *
 * Returns a copy of the source's label. An invalid source keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the source has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_fd_source_copy_label (GRunFdSource *source);

/**
 * grun_fd_source_to_string:
 * @source: a descriptor source
 *
 * Describes the source and its state for people, for example in a log. An invalid source can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_fd_source_to_string (GRunFdSource *source);

/**
 * grun_loop_add_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Adds a descriptor source to a mode, or to every common mode. The loop takes a reference, and watches the descriptor
 * immediately. Adding a source again, or adding an invalid source, does nothing. A source that is in another loop is
 * refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddSource`.
 *
 * Returns: %TRUE if the source is in the mode. %FALSE without an error if the call was refused, the source is invalid,
 *   or the loop has ended. %FALSE with %GRUN_ERROR_BAD_DESCRIPTOR, %GRUN_ERROR_NOT_POLLABLE, %GRUN_ERROR_LIMIT_REACHED,
 *   %GRUN_ERROR_NOT_SUPPORTED or %GRUN_ERROR_SYSTEM if the descriptor cannot be watched; then the source has joined
 *   none of the modes
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_fd_source (GRunLoop *loop,
                                  GRunFdSource *source,
                                  const char *mode,
                                  GError **error);

/**
 * grun_loop_remove_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a descriptor source from a mode, or from every common mode. The loop no longer performs it in that mode, not
 * even for an event that was found already. If the source is not in the mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_fd_source (GRunLoop *loop,
                                 GRunFdSource *source,
                                 const char *mode);

/**
 * grun_loop_contains_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a descriptor source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_fd_source (GRunLoop *loop,
                                       GRunFdSource *source,
                                       const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunFdSource, grun_fd_source_unref)

G_END_DECLS

#endif
