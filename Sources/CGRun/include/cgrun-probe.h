// SPDX-License-Identifier: Apache-2.0
// A loop reports to traces and stall monitors through its probe (LoopProbe.swift). This header declares the hook that
// makes a loop's probe, and the counts of tracers, recorders and watching threads.
#ifndef CGRUN_PROBE_H
#define CGRUN_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Makes the probe of a new loop, and stores it in `*probe`, which is a `LoopProbe?` of Swift. NULL if diagnostics are
/// not linked.
extern void (*cgrun_probe_maker)(void *probe) __attribute__((visibility("hidden")));
static inline void cgrun_make_probe_if_linked(void *probe)
{
    if (cgrun_probe_maker != NULL)
        cgrun_probe_maker(probe);
}
/// Sets cgrun_probe_maker. CGRunDiagnostics (beat.c) calls this function while the program is loaded.
void cgrun_set_probe_maker(void (*maker)(void *probe)) __attribute__((visibility("hidden")));

/// The number of tracers and recorders of all loops, plus 1 while a recording is under way. A loop reads it at each
/// stage of a pass.
extern int cgrun_traced_loops __attribute__((visibility("hidden")));
/// The value of cgrun_traced_loops, plus the number of threads that watch a loop for stalls. A loop reads it at each
/// callout.
extern int cgrun_inspected_loops __attribute__((visibility("hidden")));
void cgrun_count_tracing(int change);
void cgrun_count_inspecting(int change);
// These functions read the counts without atomics, because a plain read compiles to one comparison with memory. An
// atomic read would compile to a load and a test. Tracing of a loop begins on the loop's own thread, which sees its own
// change of the count. If another thread begins to watch a loop, the loop may notice this only at a later callout.
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_tracing(void) { return cgrun_traced_loops != 0; }
__attribute__((no_sanitize("thread"))) static inline bool cgrun_is_inspecting(void)
{
    return cgrun_inspected_loops != 0;
}

/// Shows watching threads whether the loop makes progress. The loop's thread updates `count` at each callout, without a
/// clock, a lock or an atomic read-modify-write.
typedef struct {
    /// The requests that the watching threads make to the loop's thread, as bits of CGRUN_BEAT_…. The loop's thread
    /// answers the requests at its next callout.
    uint32_t wants;
    /// Counts the callouts and runs as they begin, while loops are watched or traced. While this loop is watched or
    /// recorded, `count` also counts the host's polls as they end.
    uint32_t count;
} cgrun_pulse;
/// Counts a callout or a run that begins. Returns `wants`.
__attribute__((always_inline)) static inline uint32_t cgrun_pulse_count(cgrun_pulse *pulse)
{
    __atomic_store_n(&pulse->count, __atomic_load_n(&pulse->count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&pulse->wants, __ATOMIC_RELAXED);
}

/// Records that the calling thread is ending: from now on the destructors of its thread-specific data run. Returns how
/// many rounds of these destructors have called this function.
int cgrun_note_thread_ends(void);
bool cgrun_thread_ends(void);

#endif
