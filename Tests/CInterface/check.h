// SPDX-License-Identifier: Apache-2.0
// What the checks of the C interface share.
#ifndef CHECK_H
#define CHECK_H

#include <grun/grun.h>

/// A mode that nothing else is in.
#define MODE "mode"

/// Counts the calls of `count_*`, which get it as their data, and of `let_go`.
typedef struct {
    GRunLoop *loop;
    guint calls;
    guint lets_go;
    gpointer item;
    guint found;
    char *mode;
    /// What the next call answers.
    gboolean stays;
} Count;

Count count_of(GRunLoop *loop);
void let_go(gpointer count);
void count_func(gpointer count);
gboolean count_source(GRunSource *source, gpointer count);
gboolean count_fd(GRunFdSource *source, GIOCondition condition, gpointer count);
gboolean count_timer(GRunTimer *timer, gpointer count);
gboolean count_observer(GRunObserver *observer, GRunActivity activity, gpointer count);

/// A source of SIGURG, which is ignored where nobody listens.
GRunSignalSource *new_signal_source(Count *count);
/// Whether children can be waited for: not under valgrind.
gboolean has_children(void);
/// A child that runs a line of shell, and its source.
GRunChildSource *new_child_source(const char *line, Count *count);

/// One pass of the mode, without sleeping.
GRunResult pass(GRunLoop *loop);

/// Runs `body` on a thread of its own, whose loop nobody else knows, and waits for it.
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
