// SPDX-License-Identifier: Apache-2.0
// Messages of channels, and their account: an accepted message is received or returned, once. A refused message is
// neither.
#include "fuzz.h"

enum { MESSAGES = 60000 };
enum { STATE_NEW, STATE_ACCEPTED, STATE_REFUSED };

struct Parcel {
    atomic_int state;
    atomic_uint taken;
    GValue value;
};

static struct Parcel parcels[MESSAGES];
static atomic_uint parcel_count;

static unsigned label(const Parcel *parcel) { return (unsigned)(parcel - parcels) + 1; }

Parcel *messages_new(void)
{
    unsigned index = atomic_fetch_add(&parcel_count, 1);
    if (index >= MESSAGES) {
        atomic_store(&parcel_count, MESSAGES);
        return NULL;
    }
    return &parcels[index];
}

GValue *messages_new_value(void)
{
    Parcel *parcel = messages_new();
    if (parcel == NULL)
        return NULL;
    g_value_set_pointer(g_value_init(&parcel->value, G_TYPE_POINTER), parcel);
    return &parcel->value;
}

// Returns the parcel that a pointer points into, or NULL. A message is a parcel, and a value is a part of a parcel.
static Parcel *parcel_of(gconstpointer message)
{
    gsize offset = (gsize)((const char *)message - (const char *)parcels);
    return offset < sizeof parcels ? &parcels[offset / sizeof *parcels] : NULL;
}

// Called after the send has returned. The message may have arrived earlier.
void messages_settle(gconstpointer message, bool is_accepted)
{
    Parcel *parcel = parcel_of(message);
    if (parcel == NULL)
        return;
    atomic_store(&parcel->state, is_accepted ? STATE_ACCEPTED : STATE_REFUSED);
    if (!is_accepted && atomic_load(&parcel->taken) != 0)
        fuzz_fail("message#%u was refused, and has arrived", label(parcel));
}

void messages_take_value(GValue *value) { messages_take(g_value_get_pointer(value)); }

void messages_take(gpointer message)
{
    if (message == NULL)
        return;
    Parcel *parcel = parcel_of(message);
    if (parcel == NULL) {
        // This is a copy of a value, and the fuzzer frees it.
        messages_take_value(message);
        g_boxed_free(G_TYPE_VALUE, message);
        return;
    }
    if (atomic_load(&parcel->state) == STATE_REFUSED)
        fuzz_fail("message#%u was refused, and arrives", label(parcel));
    if (atomic_fetch_add(&parcel->taken, 1) != 0)
        fuzz_fail("message#%u arrives a second time", label(parcel));
}

void messages_check_all(void)
{
    unsigned count = MIN(atomic_load(&parcel_count), MESSAGES);
    for (unsigned index = 0; index < count; index++)
        if (atomic_load(&parcels[index].state) == STATE_ACCEPTED && atomic_load(&parcels[index].taken) == 0)
            fuzz_fail("at the end: message#%u was accepted, and neither received nor given back", index + 1);
}
