// SPDX-License-Identifier: Apache-2.0
// The objects that the fuzzer has references to. A call gets only these objects, the arguments of callbacks, or NULL.
//
// The pool counts the fuzzer's references to each object. An object stays in its slot while a call uses it, so the last
// reference is released afterwards. The pool has no lock, because a lock would hide races from Thread Sanitizer.
#include "fuzz.h"

enum { SLOTS = 24 };
#define REFERENCE ((uint64_t)1 << 32)

static Slot slots[KINDS][SLOTS];
static atomic_uint labels[KINDS];

const char *const kind_names[KINDS] = {
    "loop", "source", "fd_source", "signal_source", "child_source", "timer", "observer", "idle_queue", "channel",
    "notification_queue", "port", "port_message", "message_port", "remote_message_port", "message",
    "thread", "context"};

static uint64_t references(uint64_t counts) { return counts >> 32; }
static uint64_t users(uint64_t counts) { return counts & 0xffffffff; }

Slot *pool_take(Kind kind)
{
    unsigned first = random_below(SLOTS);
    for (unsigned offset = 0; offset < SLOTS; offset++) {
        Slot *slot = &slots[kind][(first + offset) % SLOTS];
        uint64_t counts = atomic_load(&slot->counts);
        while (references(counts) > 0)
            if (atomic_compare_exchange_weak(&slot->counts, &counts, counts + 1))
                return slot;
    }
    return NULL;
}

Slot *pool_take_reference(Kind kind)
{
    unsigned first = random_below(SLOTS);
    for (unsigned offset = 0; offset < SLOTS; offset++) {
        Slot *slot = &slots[kind][(first + offset) % SLOTS];
        uint64_t counts = atomic_load(&slot->counts);
        // After the last reference no thread finds the slot, and while the slot is used no thread refills it.
        while (references(counts) > 1 || (references(counts) == 1 && users(counts) == 0))
            if (atomic_compare_exchange_weak(&slot->counts, &counts, counts - REFERENCE + 1))
                return slot;
    }
    return NULL;
}

void pool_release(Slot *slot)
{
    if (slot != NULL)
        atomic_fetch_sub(&slot->counts, 1);
}

void pool_add_reference(Slot *slot) { atomic_fetch_add(&slot->counts, REFERENCE); }

void pool_add(Kind kind, gpointer object)
{
    unsigned first = random_below(SLOTS);
    for (unsigned offset = 0; offset < SLOTS; offset++) {
        Slot *slot = &slots[kind][(first + offset) % SLOTS];
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&slot->counts, &none, 1))
            continue;
        slot->kind = kind;
        atomic_store(&slot->pointer, object);
        atomic_store(&slot->label, atomic_fetch_add(&labels[kind], 1) + 1);
        atomic_fetch_add(&slot->counts, REFERENCE - 1);
        return;
    }
    pool_unref(kind, object);
}

bool pool_contains(Kind kind, gpointer object)
{
    for (unsigned index = 0; index < SLOTS; index++)
        if (references(atomic_load(&slots[kind][index].counts)) > 0 &&
            atomic_load(&slots[kind][index].pointer) == object)
            return true;
    return false;
}

unsigned pool_count(Kind kind)
{
    unsigned count = 0;
    for (unsigned index = 0; index < SLOTS; index++)
        count += references(atomic_load(&slots[kind][index].counts)) > 0;
    return count;
}

gpointer pool_ref(Kind kind, gpointer object)
{
    switch (kind) {
    case KIND_LOOP:
        return grun_loop_ref(object);
    case KIND_SOURCE:
        return grun_source_ref(object);
    case KIND_FD_SOURCE:
        return grun_fd_source_ref(object);
    case KIND_SIGNAL_SOURCE:
        return grun_signal_source_ref(object);
    case KIND_CHILD_SOURCE:
        return grun_child_source_ref(object);
    case KIND_TIMER:
        return grun_timer_ref(object);
    case KIND_OBSERVER:
        return grun_observer_ref(object);
    case KIND_IDLE_QUEUE:
        return grun_idle_queue_ref(object);
    case KIND_CHANNEL:
        return grun_channel_ref(object);
    case KIND_NOTIFICATION_QUEUE:
        return grun_notification_queue_ref(object);
    case KIND_PORT:
        return grun_port_ref(object);
    case KIND_PORT_MESSAGE:
        return grun_port_message_ref(object);
    case KIND_MESSAGE_PORT:
        return grun_message_port_ref(object);
    case KIND_REMOTE_MESSAGE_PORT:
        return grun_remote_message_port_ref(object);
    case KIND_MESSAGE:
        return grun_message_ref(object);
    case KIND_THREAD:
        return grun_thread_ref(object);
    case KIND_CONTEXT:
        return g_main_context_ref(object);
    case KINDS:
        break;
    }
    return NULL;
}

void pool_unref(Kind kind, gpointer object)
{
    switch (kind) {
    case KIND_LOOP:
        grun_loop_unref(object);
        break;
    case KIND_SOURCE:
        grun_source_unref(object);
        break;
    case KIND_FD_SOURCE:
        grun_fd_source_unref(object);
        break;
    case KIND_SIGNAL_SOURCE:
        grun_signal_source_unref(object);
        break;
    case KIND_CHILD_SOURCE:
        grun_child_source_unref(object);
        break;
    case KIND_TIMER:
        grun_timer_unref(object);
        break;
    case KIND_OBSERVER:
        grun_observer_unref(object);
        break;
    case KIND_IDLE_QUEUE:
        grun_idle_queue_unref(object);
        break;
    case KIND_CHANNEL:
        grun_channel_unref(object);
        break;
    case KIND_NOTIFICATION_QUEUE:
        grun_notification_queue_unref(object);
        break;
    case KIND_PORT:
        grun_port_unref(object);
        break;
    case KIND_PORT_MESSAGE:
        grun_port_message_unref(object);
        break;
    case KIND_MESSAGE_PORT:
        grun_message_port_unref(object);
        break;
    case KIND_REMOTE_MESSAGE_PORT:
        grun_remote_message_port_unref(object);
        break;
    case KIND_MESSAGE:
        grun_message_unref(object);
        break;
    case KIND_THREAD:
        grun_thread_unref(object);
        break;
    case KIND_CONTEXT:
        g_main_context_unref(object);
        break;
    case KINDS:
        break;
    }
}

static void invalidate(Kind kind, gpointer object)
{
    switch (kind) {
    case KIND_SOURCE:
        grun_source_invalidate(object);
        break;
    case KIND_FD_SOURCE:
        grun_fd_source_invalidate(object);
        break;
    case KIND_SIGNAL_SOURCE:
        grun_signal_source_invalidate(object);
        break;
    case KIND_CHILD_SOURCE:
        grun_child_source_invalidate(object);
        break;
    case KIND_TIMER:
        grun_timer_invalidate(object);
        break;
    case KIND_OBSERVER:
        grun_observer_invalidate(object);
        break;
    case KIND_IDLE_QUEUE:
        grun_idle_queue_invalidate(object);
        break;
    case KIND_CHANNEL:
        grun_channel_invalidate(object);
        break;
    case KIND_PORT:
        grun_port_invalidate(object);
        break;
    case KIND_MESSAGE_PORT:
        grun_message_port_invalidate(object);
        break;
    case KIND_REMOTE_MESSAGE_PORT:
        grun_remote_message_port_invalidate(object);
        break;
    case KIND_THREAD:
        grun_thread_stop(object);
        grun_thread_wait(object);
        break;
    default:
        break;
    }
}

void pool_drop_all(void)
{
    // Threads are released first, because their callbacks could still add objects to the pool.
    static const Kind order[] = {
        KIND_THREAD, KIND_SOURCE, KIND_FD_SOURCE, KIND_SIGNAL_SOURCE, KIND_CHILD_SOURCE, KIND_TIMER, KIND_OBSERVER,
        KIND_IDLE_QUEUE, KIND_CHANNEL, KIND_NOTIFICATION_QUEUE, KIND_PORT, KIND_PORT_MESSAGE, KIND_MESSAGE_PORT,
        KIND_REMOTE_MESSAGE_PORT, KIND_MESSAGE, KIND_CONTEXT, KIND_LOOP};
    for (unsigned at = 0; at < G_N_ELEMENTS(order); at++)
        for (unsigned index = 0; index < SLOTS; index++) {
            Slot *slot = &slots[order[at]][index];
            // A thread of a stall monitor may still run a notify that began before the end.
            uint64_t counts = atomic_load(&slot->counts);
            for (unsigned looks = 0; users(counts) != 0 && looks < 10000; looks++) {
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
                counts = atomic_load(&slot->counts);
            }
            if (references(counts) == 0)
                continue;
            if (users(counts) != 0)
                fuzz_fail("the fuzzer: %s#%u is in use at the end", kind_names[order[at]], atomic_load(&slot->label));
            gpointer object = atomic_load(&slot->pointer);
            invalidate(order[at], object);
            atomic_store(&slot->counts, 0);
            for (uint64_t count = references(counts); count > 0; count--)
                pool_unref(order[at], object);
        }
}
