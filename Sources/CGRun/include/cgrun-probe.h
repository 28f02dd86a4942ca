// SPDX-License-Identifier: Apache-2.0
// The hook of diagnostics, and whether anything is traced, recorded or watched. LoopProbe.swift uses both.
#ifndef CGRUN_PROBE_H
#define CGRUN_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/// Makes the probe of a new loop, and stores it in `*probe`, an optional LoopProbe of Swift's. NULL if the process has
/// no diagnostics.
extern void (*cgrun_probe_maker)(void *probe) __attribute__((visibility("hidden")));
static inline void cgrun_make_probe_if_linked(void *probe)
{
    if (cgrun_probe_maker != NULL)
        cgrun_probe_maker(probe);
}
/// Sets the maker. Called by CGRunDiagnostics (beat.c) while the program is loaded.
void cgrun_set_probe_maker(void (*maker)(void *probe)) __attribute__((visibility("hidden")));

/// Counts the tracers and recorders of the process's loops, and the recording under way. Read at each stage of a pass.
extern int cgrun_traced_loops __attribute__((visibility("hidden")));
/// Counts the tracers and recorders, the recording under way, and the threads that watch a loop for stalls. Read at
/// each callout.
extern int cgrun_inspected_loops __attribute__((visibility("hidden")));
void cgrun_count_tracing(int change);
void cgrun_count_inspecting(int change);
// These are plain reads, because each becomes one comparison with memory. An atomic read becomes a load and a test. A
// loop's own thread begins to trace the loop, and reads what it wrote itself. If another thread begins to watch a loop,
// the loop notices that at some later callout.
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_tracing(void) { return cgrun_traced_loops != 0; }
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_inspecting(void)
{
    return cgrun_inspected_loops != 0;
}

#endif
