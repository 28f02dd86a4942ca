// SPDX-License-Identifier: Apache-2.0
// The state that the hub, its sentinels and the carriers of further contexts share. Calls go one way only: carrier.c
// calls poller.c, both call hub.c, and hub.c calls sentinels.c.
#ifndef CGRUN_HUB_H
#define CGRUN_HUB_H

#include "cgrun.h"
#include "dispatched.h"

#include <pthread.h>

// The table shows which functions write each field, and when. They write the fields on the loop's thread only. If
// another thread iterates the context, prepare only clears the records, and check only sets saw_check.
//
//                          prepare of the hub or   check of the   dispatch
//                          of the first sentinel   hub
//   yields, yield_end      count down              -              a slice is used up
//   dispatched             see dispatched.h
//   depth                  set                     -              set
//   poll_start             set; a record changes   re-armed       a record changes
//   saw_check              -                       set            -
typedef struct {
    GSource source;
    cgrun_hub_funcs funcs;
    void *loop; // NULL: only a canary
    pthread_t thread;
    bool is_main;
    bool dormant;   // our own driver iterates the context
    bool saw_check; // check was called since the canary's mark was cleared
    GPollFD records[CGRUN_HUB_RECORDS];

    // Fairness: the hub steps back while `yields` is not 0.
    unsigned yields;
    gint64 yield_span, yield_end; // the longest time to yield; the end of that time, 0 until the first iteration

    // The state of the host's sleep, for the observers of waits.
    GSource *first, *last; // the sentinels, NULL while no observer needs them; each keeps the hub alive
    Dispatched dispatched;
    int depth;         // g_main_depth() in the last iteration, less our own callbacks that have returned since
    gint64 poll_start; // as g_source_get_time(); G_MAXINT64 if the loop itself ended the poll, which is then no sleep
} Hub;

/// Returns true if another thread or a forked child iterates the context.
static inline bool cgrun_hub_is_elsewhere(const Hub *hub)
{
    if (cgrun_has_forked())
        return true;
    return hub->is_main ? !cgrun_is_main_thread() : !pthread_equal(hub->thread, pthread_self());
}

/// Returns true if the hub does nothing, because another thread or our own driver iterates the context, or because the
/// hub is only a canary.
static inline bool cgrun_hub_is_silent(const Hub *hub)
{
    return hub->dormant || hub->loop == NULL || cgrun_hub_is_elsewhere(hub);
}

/// Returns true if none of our sources may become ready in this iteration, because the hub is silent or yields.
static inline bool cgrun_hub_steps_back(const Hub *hub)
{
    return cgrun_hub_is_silent(hub) || hub->yields > 0;
}

/// Clears a source's READY flag, which GLib may leave set. The flag stays set after g_main_context_pending(), and after
/// a check that also finds a source of a higher priority ready. While the flag is set, GLib calls neither prepare() nor
/// check() of the source, and reports the context as ready.
static inline void cgrun_forget_ready(GSource *source)
{
    // GLib's own G_SOURCE_READY, which has no public name: the first of the flags that GHook leaves to its users.
    enum { READY = 1 << G_HOOK_FLAG_USER_SHIFT };
    // GLib cannot move the field, because its public header shows the struct. See docs/decisions/hub.md.
    _Static_assert(sizeof(gpointer) != 8 || offsetof(GSource, flags) == 44, "the flags of a GSource");
    if (g_atomic_int_get((gint *)&source->flags) & READY)
        g_atomic_int_and(&source->flags, ~(guint)READY);
}

/// Call this function before every dispatch of the hub, the carrier or the last sentinel. Pass the result to
/// cgrun_hub_end_dispatch() after the dispatch. If our callback itself iterates the context, sources that this
/// iteration dispatches do not count as foreign.
static inline int cgrun_hub_begin_dispatch(Hub *hub)
{
    dispatched_acquit(&hub->dispatched);
    return hub->depth = g_main_depth();
}

static inline void cgrun_hub_end_dispatch(Hub *hub, int depth)
{
    // If the depth has changed, a foreign callback ran a nested loop, and has returned since.
    if (hub->depth != depth)
        dispatched_note_foreign(&hub->dispatched);
    hub->depth = depth - 1;
    // Our own dispatches do not count as foreign. Otherwise `while (g_main_context_iteration (NULL, FALSE));` would
    // never end.
    dispatched_acquit(&hub->dispatched);
}

/// Dispatches the hub, unless it steps back.
void cgrun_hub_serve(Hub *hub);

#endif
