// SPDX-License-Identifier: Apache-2.0
// Threads: which thread this is, which loops it owns, and which threads own the other loops.
#include "fuzz.h"

static __thread Thread self = {.index = -1, .record = -1};

Thread *thread_self(void) { return &self; }

bool thread_owns(gpointer loop)
{
    if (self.base == NULL && self.virtual_count == 0)
        self.base = grun_loop_get_current();
    // A thread that is ending may get a second loop.
    if (loop == self.base || (loop != NULL && loop == grun_loop_get_current()))
        return true;
    for (int index = 0; index < self.virtual_count; index++)
        if (self.virtual_loops[index] == loop)
            return true;
    // The end of virtual time may still call functions in the loop.
    return loop != NULL && loop == grun_loop_get_current();
}

enum { OWNERS = 64 };
static struct {
    _Atomic(gpointer) loop;
    Owner owner;
    int index;
} owners[OWNERS];
static atomic_uint owner_count;

// The owner table keeps the loop until the end of the round, so that no other loop gets its address.
void owners_add(GRunLoop *loop, Owner owner, int index)
{
    if (owners_find(loop, NULL) != OWNER_UNKNOWN)
        return;
    unsigned at = atomic_fetch_add(&owner_count, 1);
    if (at >= OWNERS)
        fuzz_fail("the fuzzer: more than %d threads", OWNERS);
    owners[at].owner = owner;
    owners[at].index = index;
    atomic_store(&owners[at].loop, grun_loop_ref(loop));
}

Owner owners_find(gpointer loop, int *index)
{
    for (unsigned at = 0; loop != NULL && at < OWNERS; at++)
        if (atomic_load(&owners[at].loop) == loop) {
            if (index != NULL)
                *index = owners[at].index;
            return owners[at].owner;
        }
    return OWNER_UNKNOWN;
}

void owners_stop_library(void)
{
    for (unsigned at = 0; at < OWNERS; at++) {
        gpointer loop = atomic_load(&owners[at].loop);
        if (loop != NULL && owners[at].owner == OWNER_LIBRARY)
            grun_loop_stop(loop);
    }
}

void owners_drop_all(void)
{
    for (unsigned at = 0; at < OWNERS; at++) {
        gpointer loop = atomic_exchange(&owners[at].loop, NULL);
        if (loop != NULL)
            grun_loop_unref(loop);
    }
}
