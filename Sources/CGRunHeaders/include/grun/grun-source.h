/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that a program signals itself: CFRunLoopSource, version 0. */
#ifndef GRUN_SOURCE_H
#define GRUN_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/**
 * GRunSourceFunc:
 * @source: the source that was signalled
 * @user_data: (closure): what was given to grun_source_new()
 *
 * Called on the loop's thread, after the signal is cleared: a signal from inside it performs the source again in the
 * next pass.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunSourceFunc) (GRunSource *source,
                                    gpointer user_data);

/**
 * GRunScheduleFunc:
 * @source: the source
 * @loop: the loop that it was added to or removed from
 * @mode: the name of the mode, never %GRUN_MODE_COMMON
 * @user_data: (closure): what was given to grun_source_new_full()
 *
 * Called on the thread that adds or removes the source, once for each mode.
 */
typedef void (*GRunScheduleFunc) (GRunSource *source,
                                  GRunLoop *loop,
                                  const char *mode,
                                  gpointer user_data);

/**
 * grun_source_new:
 * @order: sources that are signalled at the same time perform in ascending order; equal ones in the order of their
 * first signal
 * @func: (scope notified) (closure user_data) (destroy notify): what to call when the source was signalled
 * @user_data: (nullable): what to give to @func
 * @notify: (nullable): called with @user_data when the source goes; not when it is invalidated
 *
 * Makes a source that is performed after it was signalled: once, however often it was signalled before.
 *
 * Signalling does not wake a sleeping loop: call grun_loop_wake_up() after grun_source_signal(). A source can be in
 * several modes and in several loops; one signal is performed by whichever of them comes first.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`.
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
 * @order: as in grun_source_new()
 * @schedule: (nullable): called when the source has been added to a mode of a loop
 * @cancel: (nullable): called when the source has been removed from a mode: also when it is invalidated, and when the
 * loop's thread ends
 * @perform: what to call when the source was signalled
 * @user_data: (nullable): what to give to the three functions
 * @notify: (nullable): called with @user_data when the source goes; not when it is invalidated
 *
 * Makes a source that is told which modes of which loops it is in, so that the code that signals it knows which loops
 * to wake.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`.
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
 * Takes a reference. Threads: any. `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunSource *grun_source_ref (GRunSource *source);

/**
 * grun_source_unref:
 * @source: (transfer full): a source
 *
 * Gives a reference back. A loop that the source is in holds one of its own. After the last one the pointer must not be
 * used.
 *
 * Threads: any; with the last reference @notify is called, on this thread. `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_unref (GRunSource *source);

/**
 * grun_source_signal:
 * @source: a source
 *
 * Marks the source to be performed. It does not wake the loop. An invalid source ignores it.
 *
 * Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopSourceSignal`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_signal (GRunSource *source);

/**
 * grun_source_is_signalled:
 * @source: a source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsSignalled`.
 *
 * Returns: whether it was signalled and has not been performed since; %FALSE once it is invalid
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_source_is_signalled (GRunSource *source);

/**
 * grun_source_get_order:
 * @source: a source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceGetOrder`.
 *
 * Returns: the order that it was made with
 */
GRUN_AVAILABLE_IN_1_0
gint grun_source_get_order (GRunSource *source);

/**
 * grun_source_invalidate:
 * @source: a source
 *
 * Takes the source out of every mode of every loop, for good. `cancel` is called once for each mode, on this thread.
 * @notify is called when the source goes, which may be later. The second time it does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_invalidate (GRunSource *source);

/**
 * grun_source_is_valid:
 * @source: a source
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once it was invalidated
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_source_is_valid (GRunSource *source);

/**
 * grun_source_set_label:
 * @source: a source
 * @label: (nullable): a text in UTF-8; %NULL takes the label away
 *
 * Says what the program calls the source, for people who read grun_source_to_string() or a trace. Any text is a label,
 * the empty text too. It is copied, and shown on one line, 120 characters of it at most. It can be set at any time,
 * also once the source is invalid. One without a label costs nothing.
 *
 * Threads: any. The corresponding GLib function is g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_source_set_label (GRunSource *source,
                            const char *label);

/**
 * grun_source_copy_label:
 * @source: a source
 *
 * Threads: any. The corresponding GLib function is g_source_get_name(), whose text is not the caller's: here another
 * thread may set it meanwhile.
 *
 * Returns: (transfer full) (nullable): the label, whole; %NULL if it has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_source_copy_label (GRunSource *source);

/**
 * grun_source_to_string:
 * @source: a source
 *
 * Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
 *
 * Returns: (transfer full): what the source is and how it is doing, for people; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_source_to_string (GRunSource *source);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunSource, grun_source_unref)

G_END_DECLS

#endif
