// SPDX-License-Identifier: Apache-2.0
// The hub: the one GSource that carries every source, timer and block of a run loop into a GMainContext.
//
// Implementation notes. prepare() and check() are C because GLib calls them in every iteration of a host, and because
// nothing else may happen there: between prepare and a completed check GDK holds Wayland's read lock, and user code
// deadlocks. Nothing relies on check() being called after prepare(): GLib may leave it out (its poll set changed, a
// source of a higher priority was ready), and READY may survive passes.
//
// All state belongs to the loop's thread. If another thread iterates the context, hub and sentinels do nothing.

#include "hub.h"

/// Whether the hub yields in this iteration. It stops after a number of iterations or a span, whichever comes first:
/// each iteration may draw a frame for 25 ms.
static bool takes_yield(Hub *hub)
{
    if (hub->yields == 0)
        return false;
    gint64 now = g_get_monotonic_time();
    if (hub->yield_end == 0) {
        hub->yield_end = now + hub->yield_span;
    } else if (now >= hub->yield_end) {
        hub->yields = 0;
        return false;
    }
    hub->yields--;
    return true;
}

static gboolean hub_prepare(GSource *source, gint *timeout)
{
    Hub *hub = (Hub *)source;
    unsigned watched = 0;
    gboolean has_work = FALSE;
    *timeout = -1;
    hub->is_yielding = false;
    // Silent: our own driver polls these descriptors itself.
    if (!cgrun_hub_is_silent(hub)) {
        if (hub->first == NULL) {
            // Without sentinels: an iteration that did not dispatch us may have dispatched a foreign source, unless we
            // ended its poll.
            hub->is_stale |= !hub->was_ours && !hub->is_spoilt;
            hub->was_ours = hub->is_spoilt = false;
        }
        if (takes_yield(hub)) {
            // There is work, but it is the others' turn: this iteration must not sleep, and must not dispatch us.
            hub->is_yielding = true;
            *timeout = 0;
        } else {
            has_work = hub->funcs.prepare(hub->loop, hub->is_waiting, hub->is_stale || hub->is_unsure, &watched) ||
                hub->has_woken;
        }
    }
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        hub->records[i].revents = 0;
        hub->records[i].events = watched & (1u << i) ? G_IO_IN : 0;
    }
    return has_work;
}

static gboolean hub_check(GSource *source)
{
    Hub *hub = (Hub *)source;
    unsigned found = 0;
    hub->saw_check = true;
    if (cgrun_hub_is_silent(hub) || hub->is_yielding)
        return FALSE;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        if (hub->records[i].revents == 0)
            continue;
        if (hub->records[i].events != 0)
            found |= 1u << i;
        // The kernel reports it, watched or not: each poll would end at once.
        if (hub->records[i].revents & G_IO_NVAL)
            found |= CGRUN_HUB_CLOSED;
    }
    return hub->funcs.check(hub->loop, hub->is_waiting, hub->is_waiting && hub->has_slept, found);
}

bool cgrun_hub_steps_back(const GSource *source)
{
    const Hub *hub = (const Hub *)source;
    return cgrun_hub_is_silent(hub) || hub->is_yielding;
}

void cgrun_hub_serve(GSource *source)
{
    Hub *hub = (Hub *)source;
    // READY may be left over from before the hub began to yield.
    if (cgrun_hub_steps_back(source) || hub->yields > 0)
        return;
    hub->funcs.dispatch(hub->loop);
    hub->was_ours = true;
}

static gboolean hub_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    cgrun_hub_serve(source);
    return G_SOURCE_CONTINUE;
}

static void hub_finalize(GSource *source)
{
    Hub *hub = (Hub *)source;
    if (hub->loop != NULL)
        hub->funcs.release(hub->loop);
}

static GSourceFuncs hub_functions = {
    .prepare = hub_prepare,
    .check = hub_check,
    .dispatch = hub_dispatch,
    .finalize = hub_finalize,
};

GSource *cgrun_hub_new(const cgrun_hub_funcs *funcs, void *loop, bool is_main)
{
    GSource *source = g_source_new(&hub_functions, sizeof(Hub));
    Hub *hub = (Hub *)source;
    // g_source_new() has cleared the rest.
    hub->funcs = *funcs;
    hub->loop = loop;
    hub->thread = pthread_self();
    hub->is_main = is_main;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        hub->records[i] = (GPollFD){.fd = -1, .events = 0, .revents = 0};
    g_source_set_name(source, "GRunLoop");
    // Without this a nested loop would never serve us, and GLib would remove and add our poll records around every
    // dispatch.
    g_source_set_can_recurse(source, TRUE);
    return source;
}

void cgrun_hub_close(GSource *source)
{
    cgrun_hub_set_sentinels(source, false);
    g_source_destroy(source);
}

// GLib's own G_SOURCE_READY, which has no public name: the first of the flags that GHook leaves to its users.
enum { READY = 1 << G_HOOK_FLAG_USER_SHIFT };

void cgrun_hub_set_dormant(GSource *source, bool dormant)
{
    ((Hub *)source)->dormant = dormant;
    // READY survives passes: left by g_main_context_pending(), or by a check in which a source of higher priority,
    // which now runs our loop, became ready as well. GLib would then call neither prepare() nor check(), and report the
    // context as ready because of us.
    if (dormant && (g_atomic_int_get((gint *)&source->flags) & READY))
        g_atomic_int_and(&source->flags, ~(guint)READY);
}

void cgrun_hub_yield(GSource *source, unsigned iterations, gint64 span)
{
    Hub *hub = (Hub *)source;
    hub->yields = iterations;
    hub->yield_span = span;
    hub->yield_end = 0;
}

// MARK: The canary, and the records

void cgrun_hub_clear_canary(GSource *source)
{
    ((Hub *)source)->saw_check = false;
}

bool cgrun_hub_saw_check(GSource *source)
{
    return ((Hub *)source)->saw_check;
}

void cgrun_hub_note_records(GSource *source)
{
    ((Hub *)source)->is_spoilt = true;
}

void cgrun_hub_set_record(GSource *source, unsigned slot, int descriptor)
{
    Hub *hub = (Hub *)source;
    GPollFD *record = &hub->records[slot];
    if (record->fd == descriptor)
        return;
    cgrun_hub_note_records(source);
    if (record->fd >= 0)
        g_source_remove_poll(source, record);
    *record = (GPollFD){.fd = descriptor, .events = 0, .revents = 0};
    if (descriptor >= 0)
        g_source_add_poll(source, record);
}

void cgrun_hub_abandon(GSource *source)
{
    cgrun_hub_set_dormant(source, true);
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        cgrun_hub_set_record(source, i, -1);
}
