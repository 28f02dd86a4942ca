// SPDX-License-Identifier: Apache-2.0
// What ports carry: bytes, which are the same on the other side and are let go of in the end, and ports. One that waits
// in its own queue, or in that of another that waits in its own, holds itself until it is invalidated.
#include "fuzz.h"

enum { BYTES = 4, CARRIED = 20000 };

static GBytes *bytes[BYTES];
static atomic_uint freed;
static _Atomic(GRunPort *) carried[CARRIED];
static atomic_uint carried_count;

static void free_bytes(gpointer content)
{
    g_free(content);
    atomic_fetch_add(&freed, 1);
}

void bytes_make(void)
{
    for (unsigned index = 0; index < BYTES; index++) {
        gsize size = index * index * 1000;
        gpointer content = g_malloc0(size + 1);
        bytes[index] = g_bytes_new_with_free_func(content, size, free_bytes, content);
    }
}

GBytes *bytes_any(void) { return random_chance(4) ? NULL : bytes[random_below(BYTES)]; }

void bytes_check(GBytes *found)
{
    for (unsigned index = 0; index < BYTES; index++)
        if (bytes[index] == found)
            return;
    fuzz_fail("a message has bytes that nobody has sent");
}

void bytes_check_all(void)
{
    for (unsigned index = 0; index < BYTES; index++)
        g_bytes_unref(bytes[index]);
    if (atomic_load(&freed) != BYTES)
        fuzz_fail("at the end: %u of %d bytes were let go of", atomic_load(&freed), BYTES);
}

void ports_carry(GRunPort *port)
{
    unsigned index = atomic_fetch_add(&carried_count, 1);
    if (index < CARRIED)
        atomic_store(&carried[index], grun_port_ref(port));
    else
        grun_port_invalidate(port);
}

void ports_drop_all(void)
{
    unsigned count = MIN(atomic_load(&carried_count), CARRIED);
    for (unsigned index = 0; index < count; index++) {
        GRunPort *port = atomic_exchange(&carried[index], NULL);
        if (port == NULL)
            continue;
        grun_port_invalidate(port);
        grun_port_unref(port);
    }
}
