/* SPDX-License-Identifier: Apache-2.0 */
/* Version-0 sources, which the program signals itself: CFRunLoopSource with a context of version 0. */
#ifndef GRUN_SOURCE_H
#define GRUN_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SOURCE (grun_source_get_type ())

/**
 * GRunSourceFunc:
 * @source: the source that was signalled
 * @user_data: (closure): the data that was passed to grun_source_new()
 *
 * A function that is called on the loop's thread after its source was signalled. The signal is cleared before the call,
 * so the function can signal the source again for the next pass.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunSourceFunc) (GRunSource *source,
                                    gpointer user_data);

/**
 * GRunScheduleFunc:
 * @source: the source
 * @loop: the loop that the source was added to or removed from
 * @mode: the name of the mode, never %GRUN_MODE_COMMON
 * @user_data: (closure): the data that was passed to grun_source_new_full()
 *
 * A function that is called when a source is added to a mode of a loop, or removed from one. It is called on the thread
 * that adds or removes the source, once for each mode.
 */
typedef void (*GRunScheduleFunc) (GRunSource *source,
                                  GRunLoop *loop,
                                  const char *mode,
                                  gpointer user_data);

/**
 * grun_source_new:
 * @order: the order of the source: signalled sources are performed in ascending order, and sources of equal order in
 *   the order of their first signals
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call after the source was signalled
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the source is freed, not when it is invalidated
 *
 * Creates a source whose function is called once after the source was signalled, however often it was signalled.
 *
 * A signal does not wake a sleeping loop: call grun_loop_wake_up() after grun_source_signal(). A source can be in
 * several modes and in several loops. The first of these modes that runs performs the source, and only once.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceCreate`.
 *
 * Returns: (transfer full): the source
 */
GRUN_AVAILABLE_IN_1_0
GRunSource *grun_source_new (gint order,
                             GRunSourceFunc func,
                             gpointer user_data,
                             GDestroyNotify notify);

/**
 * grun_source_new_full: (skip)
 * @order: the order of the source, as in grun_source_new()
 * @schedule: (nullable): the function to call when the source has been added to a mode of a loop
 * @cancel: (nullable): the function to call when the source has been removed from a mode; it is also called when the
 *   source is invalidated, and when the loop's thread ends
 * @perform: the function to call after the source was signalled
 * @user_data: (nullable): the data to pass to the three functions
 * @notify: (nullable): called with @user_data when the source is freed, not when it is invalidated
 *
 * Creates a source that is also notified when it is added to a mode or removed from one. So the code that signals the
 * source can keep a list of the loops to wake.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceCreate`.
 *
 * Returns: (transfer full): the source
 */
GRUN_AVAILABLE_IN_1_0
GRunSource *grun_source_new_full (gint order,
                                  GRunScheduleFunc schedule,
                                  GRunScheduleFunc cancel,
                                  GRunSourceFunc perform,
                                  gpointer user_data,
                                  GDestroyNotify notify);

/**
 * grun_source_ref:
 * @source: a source
 *
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunSource *grun_source_ref (GRunSource *source);

/**
 * grun_source_unref:
 * @source: (transfer full): a source
 *
 * Releases a reference. Do not use the pointer after your last release. A loop holds a reference to each source in its
 * modes.
 *
 * Threads: any; the thread that releases the last reference calls the source's `notify`. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_unref (GRunSource *source);

/**
 * grun_source_signal:
 * @source: a source
 *
 * Marks the source to be performed. Does not wake the loop. An invalid source ignores the call.
 *
 * Threads: any; not from a signal handler. Core Foundation: `CFRunLoopSourceSignal`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_signal (GRunSource *source);

/**
 * grun_source_is_signalled:
 * @source: a source
 *
 * Returns whether the source still waits to be performed. The signal is cleared before the source's function is called.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceIsSignalled`.
 *
 * Returns: whether the source was signalled and has not been performed since; %FALSE in an invalid source
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_source_is_signalled (GRunSource *source);

/**
 * grun_source_get_order:
 * @source: a source
 *
 * Returns the order of the source. Signalled sources are performed in ascending order.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceGetOrder`.
 *
 * Returns: the order that was passed to grun_source_new()
 */
GRUN_AVAILABLE_IN_1_0
gint grun_source_get_order (GRunSource *source);

/**
 * grun_source_invalidate:
 * @source: a source
 *
 * Removes the source from every mode of every loop, permanently. The `cancel` function of grun_source_new_full() is
 * called once for each mode, on this thread. The source's `notify` is called when the source is freed, which may be
 * later. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_invalidate (GRunSource *source);

/**
 * grun_source_is_valid:
 * @source: a source
 *
 * Returns whether the source is valid. An invalid source is in no mode, and ignores grun_source_signal().
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once the source was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_source_is_valid (GRunSource *source);

/**
 * grun_source_set_label:
 * @source: a source
 * @label: (nullable): the label, a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_source_to_string(), traces and stall reports show on one line, cut to 120 characters. The
 * text is copied whole, and may be empty. An invalid source can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_set_label (GRunSource *source,
                            const char *label);

/**
 * grun_source_copy_label:
 * @source: a source
 *
 * Returns a copy of the source's label. An invalid source keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the source has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_source_copy_label (GRunSource *source);

/**
 * grun_source_to_string:
 * @source: a source
 *
 * Describes the source and its state for people, for example in a log. An invalid source can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): a text for people: whether the source is signalled and valid, its order and its functions;
 *   free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_source_to_string (GRunSource *source);

/**
 * grun_loop_add_source:
 * @loop: a loop
 * @source: a source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Adds a source to a mode, or to every common mode. The loop takes a reference. The `schedule` function of
 * grun_source_new_full() is called once for each mode, on the calling thread. Adding a source again, or adding an
 * invalid source, does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_source (GRunLoop *loop,
                           GRunSource *source,
                           const char *mode);

/**
 * grun_loop_remove_source:
 * @loop: a loop
 * @source: a source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a source from a mode, or from every common mode. The `cancel` function of grun_source_new_full() is called
 * once for each mode, on the calling thread. If the source is not in the mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_source (GRunLoop *loop,
                              GRunSource *source,
                              const char *mode);

/**
 * grun_loop_contains_source:
 * @loop: a loop
 * @source: a source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_source (GRunLoop *loop,
                                    GRunSource *source,
                                    const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunSource, grun_source_unref)

G_END_DECLS

#endif
