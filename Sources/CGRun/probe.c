// SPDX-License-Identifier: Apache-2.0
// The definitions of cgrun-probe.h.

#include "cgrun-probe.h"

void (*cgrun_probe_maker)(void *probe);

void cgrun_set_probe_maker(void (*maker)(void *probe)) { cgrun_probe_maker = maker; }

int cgrun_traced_loops;
int cgrun_inspected_loops;

void cgrun_count_tracing(int change) { __atomic_add_fetch(&cgrun_traced_loops, change, __ATOMIC_RELAXED); }

void cgrun_count_inspecting(int change) { __atomic_add_fetch(&cgrun_inspected_loops, change, __ATOMIC_RELAXED); }

static __thread int rounds __attribute__((tls_model("initial-exec")));

int cgrun_note_thread_ends(void) { return ++rounds; }
bool cgrun_thread_ends(void) { return rounds > 0; }
