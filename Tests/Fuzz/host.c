// SPDX-License-Identifier: Apache-2.0
// Calls of GLib beside the library's: GLib drives the loop, contexts are added and removed, descriptors are written to
// and closed.
#include "fuzz.h"

#include <sched.h>

// Returns the calling thread's context if GLib may iterate it. In virtual time it may not, because there is no host.
static GMainContext *home(void)
{
    Thread *self = thread_self();
    if (self->virtual_count > 0)
        return NULL;
    thread_owns(NULL);
    return self->base != NULL ? grun_loop_get_home_context(self->base) : NULL;
}

static void iterate(bool runs)
{
    GMainContext *context = home();
    if (context == NULL)
        return;
    g_main_context_ref(context);
    GMainLoop *loop = g_main_loop_new(context, FALSE);
    // The keeper quits the GLib loop. A source for this could be lost: after g_main_context_pending() without a
    // dispatch, GLib forgets its reference to the source.
    int wait = keeper_begin(WAIT_HOST, loop, 0, 1 + random_below(4));
    if (runs) {
        record_host("g_main_loop_run");
        g_main_loop_run(loop);
    } else {
        record_host("g_main_context_iteration");
        for (unsigned count = 1 + random_below(4); count > 0; count--)
            g_main_context_iteration(context, FALSE);
    }
    record_host("GLib's loop has returned");
    keeper_end(wait);
    g_main_loop_unref(loop);
    g_main_context_unref(context);
}

static gboolean on_glib(gpointer pointer)
{
    data_call(pointer);
    return G_SOURCE_REMOVE;
}

static const Function glib_source = {.name = "g_source_attach", .scope = SCOPE_ONCE};

static void attach(void)
{
    Slot *slot = pool_take(KIND_CONTEXT);
    Datum *datum = data_new(&glib_source, false);
    if (datum != NULL) {
        GSource *source = random_chance(50) ? g_idle_source_new() : g_timeout_source_new(random_below(3));
        g_source_set_priority(source, (int)random_below(400) - 200);
        g_source_set_callback(source, on_glib, datum, NULL);
        record_host("g_source_attach");
        g_source_attach(source, slot != NULL ? atomic_load(&slot->pointer) : home());
        g_source_unref(source);
        data_settle(datum, false);
    }
    pool_release(slot);
}

static void copy_boxed(void)
{
    static GType (*const types[])(void) = {grun_loop_get_type, grun_source_get_type, grun_fd_source_get_type,
        grun_signal_source_get_type, grun_child_source_get_type, grun_timer_get_type, grun_observer_get_type,
        grun_idle_queue_get_type, grun_channel_get_type, grun_notification_queue_get_type, grun_port_get_type,
        grun_port_message_get_type, grun_message_port_get_type, grun_remote_message_port_get_type,
        grun_message_get_type, grun_thread_get_type};
    Kind kind = random_below(KIND_CONTEXT);
    Slot *slot = pool_take(kind);
    if (slot == NULL)
        return;
    record_host("g_boxed_copy");
    gpointer object = atomic_load(&slot->pointer);
    gpointer copy = g_boxed_copy(types[kind](), object);
    if (copy != object)
        fuzz_fail("g_boxed_copy of %s is another object", kind_names[kind]);
    g_boxed_free(types[kind](), copy);
    pool_release(slot);
}

void host_at_random(void)
{
    switch (random_below(12)) {
    case 0:
    case 1:
        iterate(true);
        break;
    case 2:
    case 3:
        iterate(false);
        break;
    case 4:
        attach();
        break;
    case 5:
        if (pool_count(KIND_CONTEXT) < 8)
            pool_add(KIND_CONTEXT, g_main_context_new());
        break;
    case 6:
        copy_boxed();
        break;
    case 7:
        sched_yield();
        break;
    case 8: {
        Slot *slot = pool_take(KIND_CONTEXT);
        if (slot != NULL)
            g_main_context_wakeup(atomic_load(&slot->pointer));
        pool_release(slot);
        break;
    }
    default:
        if (random_chance(20))
            signals_raise();
        else
            descriptors_touch();
    }
}
