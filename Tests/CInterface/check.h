// SPDX-License-Identifier: Apache-2.0
// Declarations that the checks of the C interface share.
#ifndef CHECK_H
#define CHECK_H

#include <grun/grun.h>

/// A mode without other items.
#define MODE "mode"

/// Counts the calls of `let_go` and of the `count_*` functions, whose data it is.
typedef struct {
    GRunLoop *loop;
    guint calls;
    guint lets_go;
    gpointer item;
    guint found;
    char *mode;
    /// The return value of the next call.
    gboolean stays;
} Count;

Count count_of(GRunLoop *loop);
void let_go(gpointer count);
void count_func(gpointer count);
gboolean count_source(GRunSource *source, gpointer count);
gboolean count_fd(GRunFdSource *source, GIOCondition condition, gpointer count);
gboolean count_timer(GRunTimer *timer, gpointer count);
gboolean count_observer(GRunObserver *observer, GRunActivity activity, gpointer count);

/// A source of SIGURG. The kernel ignores this signal unless a handler is set.
GRunSignalSource *new_signal_source(Count *count);
/// Whether the process can wait for children. It cannot under valgrind.
gboolean has_children(void);
/// Starts a child that runs a line of shell, and returns its source.
GRunChildSource *new_child_source(const char *line, Count *count);

/// Runs one pass of the mode without sleeping.
GRunResult pass(GRunLoop *loop);

/// Runs `body` on a new thread, whose loop no other code uses, and joins the thread.
void on_own_thread(void (*body)(void));

void check_loop(void);
void check_modes(void);
void check_contexts(void);
void check_host(void);
void check_tracing(void);
void check_stalls(void);
void check_timeline(void);
void check_source(void);
void check_fd_source(void);
void check_signal_source(void);
void check_child_source(void);
void check_idle_queue(void);
void check_channel(void);
void check_notification_queue(void);
void check_port(void);
void check_message_port(void);
void check_timer(void);
void check_observer(void);
void check_labels(void);
void check_blocks(void);
void check_performs(void);
void check_thread(void);
void check_end(void);
void check_virtual_time(void);
void check_times(void);
void check_types(void);

#endif
