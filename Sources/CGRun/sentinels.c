// SPDX-License-Identifier: Apache-2.0
// The sentinels: two GSources beside the hub that tell when a host which iterates the context is about to sleep, and
// when it has slept. They exist only while that is observed.
//
// One comes before every other source of the context and never becomes ready; one comes after every other and becomes
// ready when nothing else is. GLib checks the last one only in an iteration that found nothing else to do. So in the
// next prepare():
//   the first was checked, the last was not -> something was dispatched, ours or foreign
//   neither was checked                     -> GLib left the check out
//   both were checked                       -> there was nothing to do

#include "hub.h"

typedef struct {
    GSource source;
    Hub *hub;
} Sentinel;

static gboolean first_prepare(GSource *source, gint *timeout)
{
    Hub *hub = ((Sentinel *)source)->hub;
    *timeout = -1;
    if (cgrun_hub_is_silent(hub))
        return FALSE;
    bool was_foreign = hub->first_checked && !hub->last_checked && !hub->was_ours;
    // A nested loop began or ended: a callback is on the stack that was not there before, or has returned.
    if (was_foreign || hub->depth != g_main_depth()) {
        // g_main_context_pending() dispatches nothing: it must not count as foreign work each time it is called.
        if (was_foreign && hub->last_is_ready && !hub->is_waiting)
            hub->is_unsure = true;
        else
            hub->is_stale = true;
        hub->has_woken = hub->is_waiting;
    }
    hub->depth = g_main_depth();
    // Our own dispatches do not count: else `while (g_main_context_iteration (NULL, FALSE));` would never end.
    hub->first_checked = hub->last_checked = hub->was_ours = hub->has_slept = hub->is_spoilt = false;
    hub->prepared = g_source_get_time(source);
    return FALSE;
}

// GLib reads the clock again after a poll that was allowed to sleep; one that found something at once took less.
enum { SLEEP_MICROSECONDS = 20 };

static gboolean first_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (cgrun_hub_is_silent(hub))
        return FALSE;
    hub->first_checked = true;
    hub->has_slept = !hub->is_spoilt && g_source_get_time(source) - hub->prepared >= SLEEP_MICROSECONDS;
    return FALSE;
}

static gboolean first_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)source;
    (void)callback;
    (void)data;
    return G_SOURCE_CONTINUE;
}

static bool wants_to_wait(const Hub *hub)
{
    return !cgrun_hub_is_silent(hub) && !hub->is_waiting && !hub->is_yielding;
}

static gboolean last_prepare(GSource *source, gint *timeout)
{
    Hub *hub = ((Sentinel *)source)->hub;
    *timeout = -1;
    return hub->last_is_ready = wants_to_wait(hub);
}

static gboolean last_check(GSource *source)
{
    Hub *hub = ((Sentinel *)source)->hub;
    if (!cgrun_hub_is_silent(hub))
        hub->last_checked = true;
    return hub->last_is_ready = wants_to_wait(hub);
}

static gboolean last_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    Hub *hub = ((Sentinel *)source)->hub;
    hub->last_is_ready = false;
    // READY may be left over from an iteration that found other work.
    if (!wants_to_wait(hub) || hub->yields > 0)
        return G_SOURCE_CONTINUE;
    bool is_fresh = !hub->is_stale && (!hub->is_unsure || hub->was_unsure);
    hub->was_unsure = !is_fresh && !hub->is_stale;
    hub->funcs.idle(hub->loop, is_fresh);
    hub->was_ours = true;
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
        hub->first_checked = hub->last_checked = hub->has_slept = hub->has_woken = hub->last_is_ready = false;
        hub->depth = g_main_depth();
        hub->first = sentinel_new(hub, &first_functions, G_MININT, "GRunLoop first");
        hub->last = sentinel_new(hub, &last_functions, G_MAXINT, "GRunLoop last");
    } else {
        sentinel_destroy(&hub->first);
        sentinel_destroy(&hub->last);
        hub->is_waiting = hub->has_woken = false;
    }
}

void cgrun_hub_set_waiting(GSource *source, bool waiting)
{
    Hub *hub = (Hub *)source;
    hub->is_waiting = waiting;
    hub->has_slept = hub->has_woken = false;
    // After afterWaiting another head comes before the next beforeWaiting.
    if (!waiting)
        hub->is_stale = true;
}

void cgrun_hub_note_rearmed(GSource *source)
{
    Hub *hub = (Hub *)source;
    // Without sentinels only: they notice by themselves whether a source was dispatched.
    if (hub->first == NULL)
        hub->was_ours = true;
}

void cgrun_hub_note_head(GSource *source)
{
    Hub *hub = (Hub *)source;
    hub->is_stale = hub->is_unsure = false;
}
