// SPDX-License-Identifier: Apache-2.0
// The hub: the one GSource that represents all items of a run loop in a GMainContext.
//
// prepare() and check() are C, because GLib calls them in every iteration of a host. They run no user code, because GDK
// holds Wayland's read lock from prepare to a completed check, and user code could wait for that lock. No code relies
// on a check() after each prepare(). GLib skips the check if its poll set has changed, or if a source of a higher
// priority was ready. GLib's READY flag may stay set after an iteration.
//
// All state belongs to the loop's thread. If another thread iterates the context, the hub and the sentinels do nothing.
// sentinels.c detects when the host is about to sleep.

#include "hub.h"
#include "perturbed.h"

/// Counts an iteration of the host, and returns whether the hub yields this iteration to other sources. The hub yields
/// for a number of iterations or for a span of time, whichever ends first. The span is needed, because one iteration
/// may take 25 ms to draw a frame.
static bool takes_yield(Hub *hub)
{
    if (hub->yields == 0 || --hub->yields == 0)
        return false;
    gint64 now = g_get_monotonic_time();
    if (hub->yield_end == 0)
        hub->yield_end = now + hub->yield_span;
    else if (now >= hub->yield_end)
        hub->yields = 0;
    return hub->yields > 0;
}

static gboolean hub_prepare(GSource *source, gint *timeout)
{
    Hub *hub = (Hub *)source;
    unsigned watched = 0;
    gboolean has_work = FALSE;
    *timeout = -1;
    // A silent hub watches nothing. While the hub is dormant, our own driver polls the loop's descriptors itself.
    if (!cgrun_hub_is_silent(hub)) {
        if (hub->first == NULL) {
            dispatched_conclude(&hub->dispatched);
            dispatched_suspect(&hub->dispatched);
        }
        // While the hub yields, the loop has work, but it is the turn of other sources. So this iteration must neither
        // sleep nor dispatch the hub.
        if (takes_yield(hub))
            *timeout = 0;
        else
            has_work = hub->funcs.prepare(hub->loop, hub->dispatched == FOREIGN, &watched) ||
                       PERTURBS(CGRUN_SITE_READY);
    }
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        hub->records[i].revents = 0;
        hub->records[i].events = watched & (1u << i) ? G_IO_IN : 0;
    }
    return has_work;
}

// A poll that took at least this time counts as a sleep. GLib reads the clock again after a poll that was allowed to
// sleep. A poll that immediately found a ready descriptor took less time.
enum { SLEEP_MICROSECONDS = 20 };

static gboolean hub_check(GSource *source)
{
    Hub *hub = (Hub *)source;
    unsigned found = 0;
    hub->saw_check = true;
    if (cgrun_hub_steps_back(hub) || (hub->first == NULL && PERTURBS(CGRUN_SITE_CHECK)))
        return FALSE;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        if (hub->records[i].revents == 0)
            continue;
        if (hub->records[i].events != 0)
            found |= 1u << i;
        // The kernel reports a closed descriptor even if its record watches no event, so each poll ends immediately.
        if (hub->records[i].revents & G_IO_NVAL)
            found |= CGRUN_HUB_CLOSED;
    }
    bool has_slept = hub->first != NULL && g_source_get_time(source) - hub->poll_start >= SLEEP_MICROSECONDS;
    return hub->funcs.check(hub->loop, has_slept, found);
}

void cgrun_hub_serve(Hub *hub)
{
    // GLib may dispatch the hub because of a READY flag that was set before the hub began to yield.
    if (cgrun_hub_steps_back(hub))
        return;
    int depth = cgrun_hub_begin_dispatch(hub);
    hub->funcs.dispatch(hub->loop);
    cgrun_hub_end_dispatch(hub, depth);
}

static gboolean hub_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    cgrun_hub_serve((Hub *)source);
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
    // g_source_new() has cleared the other fields.
    hub->funcs = *funcs;
    hub->loop = loop;
    hub->thread = pthread_self();
    hub->is_main = is_main;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        hub->records[i] = (GPollFD){.fd = -1, .events = 0, .revents = 0};
    g_source_set_name(source, "GRunLoop");
    // If the hub could not recurse, a nested loop would never dispatch it. GLib would also remove and add the poll
    // records around every dispatch.
    g_source_set_can_recurse(source, TRUE);
    return source;
}

void cgrun_hub_close(GSource *source)
{
    cgrun_hub_set_sentinels(source, false);
    g_source_destroy(source);
}

void cgrun_hub_set_dormant(GSource *source, bool dormant)
{
    ((Hub *)source)->dormant = dormant;
    if (dormant)
        cgrun_forget_ready(source);
}

void cgrun_hub_yield(GSource *source, unsigned iterations, gint64 span)
{
    Hub *hub = (Hub *)source;
    if (PERTURBS(CGRUN_SITE_YIELD))
        iterations = 1 + PERTURBED(iterations);
    hub->yields = iterations + 1; // one more, because the hub steps back for the rest of this iteration, too
    hub->yield_span = span;
    hub->yield_end = 0;
}

void cgrun_hub_note_head(GSource *source)
{
    dispatched_note_head(&((Hub *)source)->dispatched);
}

void cgrun_hub_note_wait_ended(GSource *source)
{
    dispatched_note_foreign(&((Hub *)source)->dispatched);
}

void cgrun_hub_note_interrupted(GSource *source)
{
    Hub *hub = (Hub *)source;
    hub->poll_start = G_MAXINT64;
    // If there are sentinels, they detect whether a foreign source was dispatched.
    if (hub->first == NULL)
        dispatched_acquit(&hub->dispatched);
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

void cgrun_hub_set_record(GSource *source, unsigned slot, int descriptor)
{
    Hub *hub = (Hub *)source;
    GPollFD *record = &hub->records[slot];
    if (record->fd == descriptor)
        return;
    cgrun_hub_note_interrupted(source);
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
