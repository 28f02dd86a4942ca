// SPDX-License-Identifier: Apache-2.0
// Contents of port messages: bytes, which arrive unchanged and are released in the end, and ports. Ports in each
// other's queues, or in their own, keep each other alive until they are invalidated.
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
    fuzz_fail("a message has bytes that were not sent");
}

void bytes_check_all(void)
{
    for (unsigned index = 0; index < BYTES; index++)
        g_bytes_unref(bytes[index]);
    if (atomic_load(&freed) != BYTES)
        fuzz_fail("at the end: %u of %d bytes were released", atomic_load(&freed), BYTES);
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
