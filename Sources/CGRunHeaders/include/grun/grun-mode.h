/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of a loop, and the items that are in them, such as sources, timers and observers. CFRunLoopMode. */
#ifndef GRUN_MODE_H
#define GRUN_MODE_H

#if !defined(GRUN_H_INSIDE) && !defined(GRUN_COMPILATION)
#error "Only <grun/grun.h> can be included directly."
#endif

#include <grun/grun-types.h>

G_BEGIN_DECLS

/* Modes */

/**
 * grun_loop_copy_current_mode:
 * @loop: a loop
 *
 * Returns the mode that the loop serves now. Runs nest: the mode is that of the innermost run.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopCopyCurrentMode`.
 *
 * Returns: (transfer full) (nullable): the mode of the innermost run; in a callback of a host, the ambient mode; %NULL
 *   outside both. Another thread cannot see that a callback of a host is under way. Free the mode with g_free()
 */
GRUN_AVAILABLE_IN_1_0
char *grun_loop_copy_current_mode (GRunLoop *loop);

/**
 * grun_loop_copy_all_modes:
 * @loop: a loop
 *
 * Returns the names of all modes that the loop knows. The loop never forgets a mode, even if the mode is empty.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopCopyAllModes`.
 *
 * Returns: (transfer full) (array zero-terminated=1): the default mode, and every mode that an item, a block, a context
 *   or a push of the ambient mode has ever named, in no order; free them with g_strfreev()
 */
GRUN_AVAILABLE_IN_1_0
char **grun_loop_copy_all_modes (GRunLoop *loop);

/**
 * grun_loop_add_common_mode:
 * @loop: a loop
 * @mode: the mode, not %GRUN_MODE_COMMON
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Makes a mode one of the common modes, permanently. Every common item joins the mode immediately. The mode then serves
 * the home context and, on the main loop, the main dispatch queue.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddCommonMode`.
 *
 * Returns: %FALSE with an error of grun_loop_add_fd_source() if a common descriptor source cannot be watched in the
 *   mode; then the mode is not common
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_common_mode (GRunLoop *loop,
                                    const char *mode,
                                    GError **error);

/**
 * grun_loop_get_next_timer_fire_date:
 * @loop: a loop
 * @mode: the mode
 *
 * Returns the date of the first timer or delayed perform in a mode, without tolerances. A date that has passed means
 * that the timer is overdue, or that its function is running. For %GRUN_MODE_COMMON, the result is -1: pass one of the
 * common modes instead.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopGetNextTimerFireDate`.
 *
 * Returns: the date of the mode's first timer or delayed perform, in microseconds as g_get_monotonic_time() counts
 *   them; -1 if the mode has none
 */
GRUN_AVAILABLE_IN_1_0
gint64 grun_loop_get_next_timer_fire_date (GRunLoop *loop,
                                           const char *mode);

/* Items of modes */

/**
 * grun_loop_add_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds a source to a mode, or to every common mode. The loop takes a reference. The `schedule` function of
 * grun_source_new_full() is called once for each mode, on the calling thread. Adding a source again, or adding an
 * invalid source, does nothing.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_source (GRunLoop *loop,
                           GRunSource *source,
                           const char *mode);

/**
 * grun_loop_remove_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a source from a mode, or from every common mode. The `cancel` function of grun_source_new_full() is called
 * once for each mode, on the calling thread. If the source is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_source (GRunLoop *loop,
                              GRunSource *source,
                              const char *mode);

/**
 * grun_loop_contains_source:
 * @loop: a loop
 * @source: a source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_source (GRunLoop *loop,
                                    GRunSource *source,
                                    const char *mode);

/**
 * grun_loop_add_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Adds a descriptor source to a mode, or to every common mode. The loop takes a reference, and watches the descriptor
 * immediately. Adding a source again, or adding an invalid source, does nothing. A source that is in another loop is
 * refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
 *
 * Returns: %FALSE with %GRUN_ERROR_BAD_DESCRIPTOR, %GRUN_ERROR_NOT_POLLABLE, %GRUN_ERROR_LIMIT_REACHED,
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
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a descriptor source from a mode, or from every common mode. The loop no longer performs it in that mode, not
 * even for an event that was found already. If the source is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_fd_source (GRunLoop *loop,
                                 GRunFdSource *source,
                                 const char *mode);

/**
 * grun_loop_contains_fd_source:
 * @loop: a loop
 * @source: a descriptor source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a descriptor source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_fd_source (GRunLoop *loop,
                                       GRunFdSource *source,
                                       const char *mode);

/**
 * grun_loop_add_signal_source:
 * @loop: a loop
 * @source: a signal source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Adds a signal source to a mode, or to every common mode. The loop takes a reference. Adding a source again, or adding
 * an invalid source, does nothing. A source that is in another loop is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
 *
 * Returns: %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the source. The usual error is
 *   %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the source has joined none of the modes.
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
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a signal source from a mode, or from every common mode. It continues to listen to its signal. If the source
 * is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_signal_source (GRunLoop *loop,
                                  GRunSignalSource *source,
                                  const char *mode);

/**
 * grun_loop_contains_signal_source:
 * @loop: a loop
 * @source: a signal source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a signal source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_signal_source (GRunLoop *loop,
                                        GRunSignalSource *source,
                                        const char *mode);

/**
 * grun_loop_add_child_source:
 * @loop: a loop
 * @source: a child source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Adds a child source to a mode, or to every common mode. The loop takes a reference. Adding a source again, or adding
 * an invalid source, does nothing. A source that is in another loop is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
 *
 * Returns: %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the source. The usual error is
 *   %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the source has joined none of the modes.
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
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a child source from a mode, or from every common mode. The child is neither ended nor reaped. If the source
 * is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_child_source (GRunLoop *loop,
                                  GRunChildSource *source,
                                  const char *mode);

/**
 * grun_loop_contains_child_source:
 * @loop: a loop
 * @source: a child source
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a child source is in a mode of the loop. An invalid source is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the source is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_child_source (GRunLoop *loop,
                                        GRunChildSource *source,
                                        const char *mode);

/**
 * grun_loop_add_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds a timer to a mode, or to every common mode. The loop takes a reference. Adding a timer again, or adding an
 * invalid timer, does nothing. A timer that is in another loop is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_timer (GRunLoop *loop,
                          GRunTimer *timer,
                          const char *mode);

/**
 * grun_loop_remove_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a timer from a mode, or from every common mode. The timer stays valid. If the timer is not in the mode,
 * nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_timer (GRunLoop *loop,
                             GRunTimer *timer,
                             const char *mode);

/**
 * grun_loop_contains_timer:
 * @loop: a loop
 * @timer: a timer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a timer is in a mode of the loop. An invalid timer is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
 *
 * Returns: whether the timer is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_timer (GRunLoop *loop,
                                   GRunTimer *timer,
                                   const char *mode);

/**
 * grun_loop_add_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds an observer to a mode, or to every common mode. The loop takes a reference. Adding an observer again, or adding
 * an invalid observer, does nothing. An observer that is in another loop is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_observer (GRunLoop *loop,
                             GRunObserver *observer,
                             const char *mode);

/**
 * grun_loop_remove_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes an observer from a mode, or from every common mode. The observer stays valid. If the observer is not in the
 * mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveObserver`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_observer (GRunLoop *loop,
                                GRunObserver *observer,
                                const char *mode);

/**
 * grun_loop_contains_observer:
 * @loop: a loop
 * @observer: an observer
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether an observer is in a mode of the loop. An invalid observer is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsObserver`.
 *
 * Returns: whether the observer is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_observer (GRunLoop *loop,
                                      GRunObserver *observer,
                                      const char *mode);

/* Idle queues */

/**
 * grun_loop_add_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds an idle queue to a mode, or to every common mode. The loop takes a reference. If the queue holds functions, a
 * loop that sleeps in the mode wakes. Adding a queue again, or adding an invalid queue, does nothing. A queue that is
 * in another loop is refused with a g_critical().
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_idle_queue (GRunLoop *loop,
                               GRunIdleQueue *queue,
                               const char *mode);

/**
 * grun_loop_remove_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes an idle queue from a mode, or from every common mode. The queue keeps its functions. If the queue is not in
 * the mode, nothing happens.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_idle_queue (GRunLoop *loop,
                                  GRunIdleQueue *queue,
                                  const char *mode);

/**
 * grun_loop_contains_idle_queue:
 * @loop: a loop
 * @queue: an idle queue
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether an idle queue is in a mode of the loop. An invalid queue is in no mode.
 *
 * Threads: any. There is no corresponding Core Foundation function.
 *
 * Returns: whether the queue is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_idle_queue (GRunLoop *loop,
                                        GRunIdleQueue *queue,
                                        const char *mode);

/* Channels */

/**
 * grun_loop_add_channel:
 * @loop: the loop that receives from the channel
 * @channel: a channel
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds a channel to another mode of its loop, or to every common mode. Adding a channel again, or adding an invalid
 * channel, does nothing. A channel that another loop receives from, or that has no receiver yet, is refused with a
 * g_critical().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_channel (GRunLoop *loop,
                            GRunChannel *channel,
                            const char *mode);

/**
 * grun_loop_remove_channel:
 * @loop: a loop
 * @channel: a channel
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a channel from a mode, or from every common mode. Nothing more is delivered in that mode, not even the rest
 * of a delivery that is under way. The messages wait until the channel is added to a mode again.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_channel (GRunLoop *loop,
                               GRunChannel *channel,
                               const char *mode);

/**
 * grun_loop_contains_channel:
 * @loop: a loop
 * @channel: a channel
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a channel is in a mode of the loop. A channel leaves its modes when it ends.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the channel is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_channel (GRunLoop *loop,
                                     GRunChannel *channel,
                                     const char *mode);

/* Ports */

/**
 * grun_loop_add_port:
 * @loop: a loop
 * @port: a port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Adds a port to a mode, or to every common mode. The loop takes a reference. If messages wait, a loop that sleeps in
 * the mode wakes. Adding a port again, or adding an invalid port, does nothing. A port that is in another loop is
 * refused with a g_critical().
 *
 * Threads: any. The corresponding Foundation function is `-[NSRunLoop addPort:forMode:]`, Core Foundation's is
 * `CFRunLoopAddSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_add_port (GRunLoop *loop,
                         GRunPort *port,
                         const char *mode);

/**
 * grun_loop_remove_port:
 * @loop: a loop
 * @port: a port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a port from a mode, or from every common mode. Messages that were sent wait until the port is added to a mode
 * again. If the port is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Foundation function is `-[NSRunLoop removePort:forMode:]`, Core Foundation's is
 * `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_port (GRunLoop *loop,
                            GRunPort *port,
                            const char *mode);

/**
 * grun_loop_contains_port:
 * @loop: a loop
 * @port: a port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a port is in a mode of the loop. An invalid port is in no mode.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the port is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_port (GRunLoop *loop,
                                  GRunPort *port,
                                  const char *mode);

/**
 * grun_loop_add_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 * @error: where to put an error of the domain %GRUN_ERROR, or %NULL
 *
 * Adds a message port to a mode, or to every common mode. The loop takes a reference. Adding a port again, or adding an
 * invalid port, does nothing. A port that is in another loop, or has no name, is refused with a g_critical().
 *
 * Threads: any. The corresponding Core Foundation functions are `CFMessagePortCreateRunLoopSource` and
 * `CFRunLoopAddSource`.
 *
 * Returns: %FALSE with an error of grun_loop_add_fd_source() if the loop cannot wait for the port. The usual error is
 *   %GRUN_ERROR_LIMIT_REACHED, because no descriptor is left. Then the port has joined none of the modes.
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_add_message_port (GRunLoop *loop,
                                     GRunMessagePort *port,
                                     const char *mode,
                                     GError **error);

/**
 * grun_loop_remove_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Removes a message port from a mode, or from every common mode. The port keeps its name, and messages wait. If the
 * port is not in the mode, nothing happens.
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
 */
GRUN_AVAILABLE_IN_1_0
void grun_loop_remove_message_port (GRunLoop *loop,
                                    GRunMessagePort *port,
                                    const char *mode);

/**
 * grun_loop_contains_message_port:
 * @loop: a loop
 * @port: a message port
 * @mode: the mode; %GRUN_MODE_COMMON stands for every common mode
 *
 * Returns whether a message port is in a mode of the loop. A port leaves its modes at the end of
 * grun_message_port_invalidate().
 *
 * Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
 *
 * Returns: whether the port is in the mode; for %GRUN_MODE_COMMON, whether it was added to %GRUN_MODE_COMMON itself
 */
GRUN_AVAILABLE_IN_1_0
gboolean grun_loop_contains_message_port (GRunLoop *loop,
                                          GRunMessagePort *port,
                                          const char *mode);

G_END_DECLS

#endif
