// SPDX-License-Identifier: Apache-2.0
// State that the hub, its sentinels and the carriers of further contexts share.
#ifndef CGRUN_HUB_H
#define CGRUN_HUB_H

#include "cgrun.h"

#include <pthread.h>

typedef struct {
    GSource source;
    cgrun_hub_funcs funcs;
    void *loop;
    pthread_t thread;
    bool is_main;
    GPollFD records[CGRUN_HUB_RECORDS];
    bool dormant;
    bool saw_check;

    // Fairness: iterations in which the hub still steps back, and whether it does in this one.
    unsigned yields;
    gint64 yield_span, yield_end; // their longest duration, and when that ends: 0 until the first
    bool is_yielding;

    // The host's sleep, as far as observers are told of it.
    GSource *first, *last; // the sentinels, while somebody observes; each holds the hub
    bool is_waiting;       // beforeWaiting was sent, afterWaiting was not
    bool has_slept;        // while waiting, the poll of this iteration took time
    bool is_spoilt;        // this poll ends at once: a record came or went, which writes to GLib's wakeup descriptor
    bool has_woken;        // while waiting, something foreign was dispatched
    bool is_stale;         // something foreign was dispatched since the last head of a pass
    bool is_unsure;        // perhaps it was: GLib did not check the last sentinel, which was ready already
    bool was_unsure;       // the suspicion was already treated as a dispatch: not again
    bool first_checked, last_checked, was_ours;
    bool last_is_ready;
    int depth;
    gint64 prepared;
} Hub;

/// Whether the hub does nothing: another thread or our own driver iterates the context, or the hub is only a canary.
static inline bool cgrun_hub_is_silent(const Hub *hub)
{
    if (hub->dormant || hub->loop == NULL || cgrun_has_forked())
        return true;
    return hub->is_main ? !cgrun_is_main_thread() : !pthread_equal(hub->thread, pthread_self());
}

/// Whether nothing of ours may become ready in this iteration: another thread or our own driver iterates the context,
/// or the hub yields.
bool cgrun_hub_steps_back(const GSource *hub);
/// Poll records were added or removed, so that the next poll ends at once: that end is no wake-up.
void cgrun_hub_note_records(GSource *hub);
/// Dispatches the hub, unless it steps back.
void cgrun_hub_serve(GSource *hub);

#endif
