// SPDX-License-Identifier: Apache-2.0
// Threads: which one this is, which loops are its own, and whose loops the others are.
#include "fuzz.h"

static __thread Thread self = {.index = -1, .record = -1};

Thread *thread_self(void) { return &self; }

bool thread_owns(gpointer loop)
{
    if (self.base == NULL && self.virtual_count == 0)
        self.base = grun_loop_get_current();
    // An ending thread may get another one.
    if (loop == self.base || (loop != NULL && loop == grun_loop_get_current()))
        return true;
    for (int index = 0; index < self.virtual_count; index++)
        if (self.virtual_loops[index] == loop)
            return true;
    // What the end of virtual time calls is still in it.
    return loop != NULL && loop == grun_loop_get_current();
}

enum { OWNERS = 64 };
static struct {
    _Atomic(gpointer) loop;
    Owner owner;
    int index;
} owners[OWNERS];
static atomic_uint owner_count;

// The loop is kept to the end of the round, so that no other gets its address.
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
