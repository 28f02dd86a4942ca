// SPDX-License-Identifier: Apache-2.0
// A carrier is a GSource in the home context. A host iterates only the home context, and the carrier makes the host
// also wake for a further context of the loop's mode. The carrier watches the descriptors of the further context, and
// dispatches the hub when that context is ready. The loop then dispatches the further context, as one of the loop's own
// items.
//
// The further context is always prepared, polled and checked in one step. If the further context stayed prepared during
// the host's poll and GLib skipped the carrier's check, the context would not be checked. A source that holds a lock
// from prepare to check, as GDK's source does, would then deadlock.
//
// The carrier has a poll record for each descriptor of the further context, because an epoll silently loses a
// descriptor that is closed and opened again.

#include "hub.h"
#include "perturbed.h"

typedef struct {
    GSource source;
    Hub *hub;
    /// The further context, and its canary.
    cgrun_polled polled;
    cgrun_poller poller;
    bool is_owner;
    GPollFD *records;
    gint count;
    /// The time when the context's timeout is due, on the clock of g_get_monotonic_time(); -1 if there is no timeout.
    gint64 deadline;
} Carrier;

static void remove_records(Carrier *carrier)
{
    for (gint i = 0; i < carrier->count; i++)
        g_source_remove_poll(&carrier->source, &carrier->records[i]);
    g_clear_pointer(&carrier->records, g_free);
    carrier->count = 0;
}

/// Makes the host's poll watch the descriptors in `found`. Passes only changes to GLib, because adding or removing a
/// record costs a write and makes GLib skip the host's next check.
static void watch(Carrier *carrier, const GPollFD *found, gint count)
{
    bool is_same = count == carrier->count;
    for (gint i = 0; is_same && i < count; i++)
        is_same = found[i].fd == carrier->records[i].fd;
    if (!is_same) {
        cgrun_hub_note_interrupted(&carrier->hub->source);
        remove_records(carrier);
        carrier->records = g_new(GPollFD, count);
        carrier->count = count;
    }
    for (gint i = 0; i < count; i++) {
        carrier->records[i] = (GPollFD){.fd = found[i].fd, .events = found[i].events, .revents = 0};
        if (!is_same)
            g_source_add_poll(&carrier->source, &carrier->records[i]);
    }
}

static void watch_nothing(Carrier *carrier)
{
    for (gint i = 0; i < carrier->count; i++)
        carrier->records[i].events = carrier->records[i].revents = 0;
}

static bool look(Carrier *carrier, gint *timeout)
{
    g_main_context_prepare(carrier->polled.context, &carrier->polled.priority);
    return cgrun_poller_look(&carrier->poller, &carrier->polled, timeout);
}

static gboolean carrier_prepare(GSource *source, gint *timeout)
{
    Carrier *carrier = (Carrier *)source;
    *timeout = -1;
    carrier->deadline = -1;
    // Another thread may own the context. GLib does not report the release of a context, so each iteration tries to
    // acquire it.
    if (cgrun_hub_steps_back(carrier->hub) ||
        !(carrier->is_owner || (carrier->is_owner = g_main_context_acquire(carrier->polled.context)))) {
        watch_nothing(carrier);
        return FALSE;
    }
    if (PERTURBS(CGRUN_SITE_ACQUIRE)) {
        watch_nothing(carrier);
        // Makes the host iterate again instead of sleeping.
        *timeout = 0;
        return FALSE;
    }
    if (look(carrier, timeout)) {
        watch_nothing(carrier);
        return TRUE;
    }
    watch(carrier, carrier->poller.records, carrier->polled.count);
    if (*timeout >= 0)
        carrier->deadline = g_get_monotonic_time() + *timeout * G_GINT64_CONSTANT(1000);
    return FALSE;
}

static gboolean carrier_check(GSource *source)
{
    Carrier *carrier = (Carrier *)source;
    if (cgrun_hub_steps_back(carrier->hub) || !carrier->is_owner)
        return FALSE;
    bool has_event = carrier->deadline >= 0 && g_get_monotonic_time() >= carrier->deadline;
    for (gint i = 0; i < carrier->count; i++)
        has_event |= carrier->records[i].revents != 0;
    gint timeout;
    return has_event && look(carrier, &timeout);
}

static gboolean carrier_dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    (void)callback;
    (void)data;
    cgrun_hub_serve(((Carrier *)source)->hub);
    return G_SOURCE_CONTINUE;
}

static void carrier_finalize(GSource *source)
{
    Carrier *carrier = (Carrier *)source;
    g_free(carrier->records);
    cgrun_poller_clear(&carrier->poller);
    g_source_unref(carrier->polled.hub);
    g_source_unref(&carrier->hub->source);
    g_main_context_unref(carrier->polled.context);
}

static GSourceFuncs carrier_functions = {
    .prepare = carrier_prepare,
    .check = carrier_check,
    .dispatch = carrier_dispatch,
    .finalize = carrier_finalize,
};

GSource *cgrun_carrier_new(GSource *hub, GMainContext *context, GSource *canary)
{
    GSource *source = g_source_new(&carrier_functions, sizeof(Carrier));
    Carrier *carrier = (Carrier *)source;
    carrier->hub = (Hub *)g_source_ref(hub);
    carrier->polled = (cgrun_polled){.context = g_main_context_ref(context), .hub = g_source_ref(canary)};
    g_source_set_name(source, "GRunLoop further context");
    g_source_set_can_recurse(source, TRUE);
    g_source_attach(source, g_source_get_context(hub));
    return source;
}

bool cgrun_carrier_owns_context(GSource *source)
{
    return ((Carrier *)source)->is_owner;
}

void cgrun_carrier_abandon(GSource *source)
{
    remove_records((Carrier *)source);
}

void cgrun_carrier_close(GSource *source)
{
    Carrier *carrier = (Carrier *)source;
    g_source_destroy(source);
    if (carrier->is_owner)
        g_main_context_release(carrier->polled.context);
    carrier->is_owner = false;
}
