/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that are performed when the process has received a signal. */
#ifndef GRUN_SIGNAL_SOURCE_H
#define GRUN_SIGNAL_SOURCE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

GRUN_AVAILABLE_IN_1_0
GType grun_signal_source_get_type (void) G_GNUC_CONST;
#define GRUN_TYPE_SIGNAL_SOURCE (grun_signal_source_get_type ())

/**
 * GRunSignalSourceFunc:
 * @source: the source whose signal has come
 * @count: the number of signals since the last call, at least one
 * @user_data: (closure): the data that was given to grun_signal_source_new()
 *
 * Called on the loop's thread like any other callback, so the limits of a signal handler do not apply.
 *
 * The kernel queues every occurrence of a signal whose number is SIGRTMIN or higher. Several occurrences of a signal
 * with a lower number count as one.
 *
 * Returns: %G_SOURCE_CONTINUE, or %G_SOURCE_REMOVE to invalidate the source
 */
typedef gboolean (*GRunSignalSourceFunc) (GRunSignalSource *source,
                                          guint64 count,
                                          gpointer user_data);

/**
 * grun_signal_source_new:
 * @signum: the number of the signal; SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT,
 *   SIGTRAP, SIGTTIN and SIGTTOU are refused
 * @replacing: whether to replace a handler that other code in the process has installed, as Python does for SIGINT
 * @func: (scope notified) (closure user_data) (destroy notify): the function to call
 * @user_data: (nullable): the data to pass to @func
 * @notify: (nullable): called with @user_data when the source is freed, or cannot be made; not when it is invalidated
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Makes a source that listens to a signal of the process from now on, until it is invalidated or freed. Add it to any
 * loop with grun_loop_add_signal_source().
 *
 * No signal is lost: the source also counts signals before it is in a loop, and while its loop is in another mode. Any
 * number of sources and loops can listen to one signal, and each source gets every signal. A source also gets a signal
 * that the process ignored before, such as SIGHUP under `nohup`.
 *
 * When the last source of a signal ends, the former disposition is restored, unless other code has changed the
 * disposition meanwhile.
 *
 * The library changes no signal mask, so a signal that every thread blocks waits. Interrupted system calls are
 * restarted, except for those that never are, such as poll() and nanosleep(): see signal(7). Programs that the process
 * starts have the default disposition, even if the signal was ignored before. In a forked child that does not exec(),
 * the sources get no signals.
 *
 * Threads: any. GLib: g_unix_signal_source_new().
 *
 * Returns: (transfer full) (nullable): the source; %NULL with %GRUN_ERROR_SIGNAL_REFUSED, %GRUN_ERROR_SIGNAL_HANDLED,
 *   %GRUN_ERROR_LIMIT_REACHED, %GRUN_ERROR_SYSTEM or %GRUN_ERROR_NOT_SUPPORTED; the last one in a forked child, or if a
 *   sandbox forbids a system call
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
 * Takes a reference.
 *
 * Threads: any. Core Foundation: `CFRetain`.
 *
 * Returns: (transfer full): the same source
 */
GRUN_AVAILABLE_IN_1_0
GRunSignalSource *grun_signal_source_ref (GRunSignalSource *source);

/**
 * grun_signal_source_unref:
 * @source: (transfer full): a signal source
 *
 * Releases a reference. Do not use the pointer after your last release. When no reference is left, `notify` of
 * grun_signal_source_new() is called on this thread. A loop holds a reference to each source in its modes.
 *
 * Threads: any. Core Foundation: `CFRelease`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_unref (GRunSignalSource *source);

/**
 * grun_signal_source_get_signum:
 * @source: a signal source
 *
 * Returns the number of the signal that was passed to grun_signal_source_new(). An invalid source keeps this number.
 *
 * Threads: any.
 *
 * Returns: the number of the signal
 */
GRUN_AVAILABLE_IN_1_0
gint grun_signal_source_get_signum (GRunSignalSource *source);

/**
 * grun_signal_source_invalidate:
 * @source: a signal source
 *
 * Removes the source from every mode, permanently, and stops listening. It is not performed any more, even for signals
 * that have come already. The `notify` function of grun_signal_source_new() is called when the source is freed, which
 * may be later. A second call does nothing.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceInvalidate`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_invalidate (GRunSignalSource *source);

/**
 * grun_signal_source_is_valid:
 * @source: a signal source
 *
 * Returns whether the source is valid. An invalid source is in no mode, and does not listen to its signal.
 *
 * Threads: any. Core Foundation: `CFRunLoopSourceIsValid`.
 *
 * Returns: %FALSE once the source was invalidated, otherwise %TRUE
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_signal_source_is_valid (GRunSignalSource *source);

/**
 * grun_signal_source_set_label:
 * @source: a signal source
 * @label: (nullable): a text in UTF-8; %NULL removes the label
 *
 * Sets a label, which grun_signal_source_to_string(), traces and stall reports show on one line, cut to 120 characters.
 * The text is copied whole, and may be empty. An invalid source can get a label, too.
 *
 * Threads: any. GLib: g_source_set_name().
 */
GRUN_AVAILABLE_IN_1_0
void grun_signal_source_set_label (GRunSignalSource *source,
                                   const char *label);

/**
 * grun_signal_source_copy_label:
 * @source: a signal source
 *
 * Returns a copy of the source's label. An invalid source keeps its label.
 *
 * Threads: any. GLib: g_source_get_name(), which returns no copy.
 *
 * Returns: (transfer full) (nullable): the whole label, or %NULL if the source has none; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_signal_source_copy_label (GRunSignalSource *source);

/**
 * grun_signal_source_to_string:
 * @source: a signal source
 *
 * Describes the source and its state for people, for example in a log. An invalid source can be described, too.
 *
 * Threads: any. Core Foundation: `CFCopyDescription`.
 *
 * Returns: (transfer full): the description, whose format may change; free it with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_signal_source_to_string (GRunSignalSource *source);

/**
 * grun_loop_add_signal_source:
 * @loop: a loop
 * @source: a signal source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 * @error: a return location for a %GRUN_ERROR, or %NULL
 *
 * Adds a signal source to a mode, or to every common mode. The loop takes a reference. Adding a source again, or adding
 * an invalid source, does nothing. A source that is in another loop is refused with a g_critical().
 *
 * Threads: any. Core Foundation: `CFRunLoopAddSource`.
 *
 * Returns: %TRUE if the source is in the mode. %FALSE without an error if the call was refused, the source is invalid,
 *   or the loop has ended. %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the source,
 *   usually %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the source has joined none of the modes.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_signal_source (GRunLoop *loop,
                                      GRunSignalSource *source,
                                      const char *mode,
                                      GError **error);

/**
 * grun_loop_remove_signal_source:
 * @loop: a loop
 * @source: a signal source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Removes a signal source from a mode, or from every common mode. The source still listens to its signal. If the source
 * is not in the mode, nothing happens.
 *
 * Threads: any. Core Foundation: `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_signal_source (GRunLoop *loop,
                                     GRunSignalSource *source,
                                     const char *mode);

/**
 * grun_loop_contains_signal_source:
 * @loop: a loop
 * @source: a signal source
 * @mode: a mode, or %GRUN_MODE_COMMON for every common mode
 *
 * Returns whether a signal source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. Core Foundation: `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_signal_source (GRunLoop *loop,
                                           GRunSignalSource *source,
                                           const char *mode);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (GRunSignalSource, grun_signal_source_unref)

G_END_DECLS

#endif
