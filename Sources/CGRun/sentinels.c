// SPDX-License-Identifier: Apache-2.0
// The sentinels are two GSources beside the hub. They detect when a host that iterates the context is about to sleep,
// and when the host has slept. The sentinels exist while waits are observed, and while afterWaiting is due. If the mode
// has observers, the sentinels also exist until the host's first pass.
//
// The first sentinel comes before every other source of the context, and never becomes ready. The last sentinel comes
// after every other source, and GLib checks it only if no other source is ready. So the checks of an iteration show
// what the iteration does:
//   only the first was checked -> the iteration dispatches a source, ours or foreign
//   neither was checked        -> GLib left out both checks
//   both were checked          -> the iteration dispatches nothing, or only the last sentinel

#include "hub.h"

typedef struct {
    GSource source;
    Hub *hub;
} Sentinel;

static gboolean first_prepare(GSource *source, gint *timeout)
{
    Hub *hub = ((Sentinel *)source)->hub;
    *timeout = -1;
    if (cgrun_hub_is_elsewhere(hub))
        return FALSE;
    // The last sentinel may still be READY from a call of g_main_context_pending(), which dispatches nothing.
    cgrun_forget_ready(hub->last);
    if (hub->dormant)
        return FALSE;
    dispatched_conclude(&hub->dispatched);
    // If the depth has changed, a foreign callback has begun or ended a nested loop. Our own dispatches update `depth`,
    // so they do not count as foreign.
    if (hub->depth != g_main_depth())
        dispatched_note_foreign(&hub->dispatched);
    hub->depth = g_main_depth();
    hub->poll_start = g_source_get_time(source);
    return FALSE;
}

static gboolean first_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (!cgrun_hub_is_silent(hub))
        dispatched_suspect(&hub->dispatched);
    return FALSE;
}

static gboolean first_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)source;
    (void)callback;
    (void)data;
    return G_SOURCE_CONTINUE;
}

/// Returns whether the loop must prepare the host's sleep before the host may sleep.
static bool wants_to_wait(const Hub *hub)
{
    return !cgrun_hub_steps_back(hub) && !hub->funcs.may_sleep(hub->loop);
}

static gboolean last_prepare(GSource *source, gint *timeout)
{
    // The last sentinel becomes ready only in check(), which GLib does not call if another source is ready.
    *timeout = wants_to_wait(((Sentinel *)source)->hub) ? 0 : -1;
    return FALSE;
}

static gboolean last_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (!cgrun_hub_is_silent(hub))
        dispatched_acquit(&hub->dispatched);
    return wants_to_wait(hub);
}

static gboolean last_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    Hub *hub = ((Sentinel *)source)->hub;
    if (!wants_to_wait(hub))
        return G_SOURCE_CONTINUE;
    bool is_stale = hub->dispatched == FOREIGN;
    int depth = cgrun_hub_begin_dispatch(hub);
    hub->funcs.idle(hub->loop, is_stale);
    cgrun_hub_end_dispatch(hub, depth);
    return G_SOURCE_CONTINUE;
}

static void sentinel_finalize(GSource *source)
{
    g_source_unref(&((Sentinel *)source)->hub->source);
}

static GSourceFuncs first_functions = {
    .prepare = first_prepare,
    .check = first_check,
    .dispatch = first_dispatch,
    .finalize = sentinel_finalize,
};

static GSourceFuncs last_functions = {
    .prepare = last_prepare,
    .check = last_check,
    .dispatch = last_dispatch,
    .finalize = sentinel_finalize,
};

static GSource *sentinel_new(Hub *hub, GSourceFuncs *functions, int priority, const char *name)
{
    GSource *source = g_source_new(functions, sizeof(Sentinel));
    ((Sentinel *)source)->hub = (Hub *)g_source_ref(&hub->source);
    g_source_set_name(source, name);
    g_source_set_priority(source, priority);
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, g_source_get_context(&hub->source));
    return source;
}

static void sentinel_destroy(GSource **sentinel)
{
    g_source_destroy(*sentinel);
    g_clear_pointer(sentinel, g_source_unref);
}

void cgrun_hub_set_sentinels(GSource *source, bool wanted)
{
    Hub *hub = (Hub *)source;
    if (wanted == (hub->first != NULL))
        return;
    if (wanted) {
        hub->depth = g_main_depth();
        hub->first = sentinel_new(hub, &first_functions, G_MININT, "GRunLoop first");
        hub->last = sentinel_new(hub, &last_functions, G_MAXINT, "GRunLoop last");
    } else {
        sentinel_destroy(&hub->first);
        sentinel_destroy(&hub->last);
        dispatched_suspect(&hub->dispatched);
    }
}
