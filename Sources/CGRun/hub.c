// SPDX-License-Identifier: Apache-2.0
// The hub: the one GSource that carries every source, timer and block of a run loop into a GMainContext.
//
// Implementation notes. prepare() and check() are C because GLib calls them in every iteration of a host, and because nothing
// else may happen there: between prepare and a completed check GDK holds Wayland's read lock, and user code deadlocks.
// No state is kept from prepare to check: GLib may leave check() out (its poll set changed), and READY may survive passes.

#include "cgrun.h"

typedef struct {
    GSource source;
    cgrun_hub_funcs funcs;
    void *loop;
    GPollFD records[CGRUN_HUB_RECORDS];
    bool added[CGRUN_HUB_RECORDS];
    bool dormant;
    bool saw_check;
} Hub;

static bool hub_is_silent(const Hub *hub)
{
    return hub->dormant || hub->loop == NULL;
}

static gboolean hub_prepare(GSource *source, gint *timeout)
{
    Hub *hub = (Hub *)source;
    *timeout = -1;
    if (hub_is_silent(hub)) {
        // Our own driver polls these descriptors itself; a second record would make GLib see them as well.
        for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
            hub->records[i].events = 0;
        return FALSE;
    }
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        hub->records[i].revents = 0;
        hub->records[i].events = hub->added[i] ? G_IO_IN : 0;
    }
    return hub->funcs.has_work(hub->loop);
}

static gboolean hub_check(GSource *source)
{
    Hub *hub = (Hub *)source;
    hub->saw_check = true;
    if (hub_is_silent(hub))
        return FALSE;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++)
        if (hub->added[i] && hub->records[i].revents != 0)
            return TRUE;
    return hub->funcs.has_work(hub->loop);
}

static gboolean hub_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    Hub *hub = (Hub *)source;
    if (!hub_is_silent(hub))
        hub->funcs.dispatch(hub->loop);
    return G_SOURCE_CONTINUE;
}

static GSourceFuncs hub_functions = {
    .prepare = hub_prepare,
    .check = hub_check,
    .dispatch = hub_dispatch,
};

GSource *cgrun_hub_new(const cgrun_hub_funcs *funcs, void *loop)
{
    GSource *source = g_source_new(&hub_functions, sizeof(Hub));
    Hub *hub = (Hub *)source;
    hub->funcs = *funcs;
    hub->loop = loop;
    hub->dormant = false;
    hub->saw_check = false;
    for (unsigned i = 0; i < CGRUN_HUB_RECORDS; i++) {
        hub->records[i] = (GPollFD){.fd = -1, .events = 0, .revents = 0};
        hub->added[i] = false;
    }
    g_source_set_name(source, "GRunLoop");
    // Without this a nested loop would never serve us, and GLib would remove and add our poll records around every dispatch.
    g_source_set_can_recurse(source, TRUE);
    return source;
}

void cgrun_hub_set_dormant(GSource *source, bool dormant)
{
    ((Hub *)source)->dormant = dormant;
}

void cgrun_hub_forget_loop(GSource *source)
{
    ((Hub *)source)->loop = NULL;
}

void cgrun_hub_clear_canary(GSource *source)
{
    ((Hub *)source)->saw_check = false;
}

bool cgrun_hub_saw_check(GSource *source)
{
    return ((Hub *)source)->saw_check;
}

bool cgrun_hub_set_record(GSource *source, unsigned slot, int descriptor, gushort events)
{
    Hub *hub = (Hub *)source;
    if (slot >= CGRUN_HUB_RECORDS)
        return false;
    GPollFD *record = &hub->records[slot];
    if (hub->added[slot] && record->fd == descriptor)
        return true;
    if (hub->added[slot]) {
        g_source_remove_poll(source, record);
        hub->added[slot] = false;
    }
    record->fd = descriptor;
    record->events = events;
    record->revents = 0;
    if (descriptor >= 0) {
        g_source_add_poll(source, record);
        hub->added[slot] = true;
    }
    return true;
}
