// SPDX-License-Identifier: Apache-2.0
// What goes through channels, and the account of it: what was accepted is received or given back, once; what was
// refused is neither.
#include "fuzz.h"

enum { MESSAGES = 60000 };
enum { STATE_NEW, STATE_ACCEPTED, STATE_REFUSED };

struct Parcel {
    atomic_int state;
    atomic_uint taken;
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

// The call has returned; the message may have arrived before that.
void messages_settle(Parcel *parcel, bool is_accepted)
{
    if (parcel == NULL)
        return;
    atomic_store(&parcel->state, is_accepted ? STATE_ACCEPTED : STATE_REFUSED);
    if (!is_accepted && atomic_load(&parcel->taken) != 0)
        fuzz_fail("message#%u was refused, and has arrived", label(parcel));
}

void messages_take(gpointer message)
{
    Parcel *parcel = message;
    if (parcel == NULL)
        return;
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
