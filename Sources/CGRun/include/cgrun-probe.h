// SPDX-License-Identifier: Apache-2.0
// The hook of diagnostics, and whether anything is traced, recorded or watched. LoopProbe.swift uses both.
#ifndef CGRUN_PROBE_H
#define CGRUN_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/// A loop's thread writes this at each callout, for the threads that watch the loop. It uses no clock, no lock and no
/// atomic instruction.
typedef struct {
    /// The tasks of the loop's thread at its next callout, as bits of CGRUN_BEAT_…. The watching threads write them.
    uint32_t wants;
    /// Counts the callouts and runs as they begin, while loops are watched or traced. While the loop is watched or
    /// recorded, it also counts the host's polls as they end.
    uint32_t count;
} cgrun_pulse;
/// Counts a callout or a run that begins. Returns what the watchers want of it.
__attribute__((always_inline)) static inline uint32_t cgrun_pulse_count(cgrun_pulse *pulse)
{
    __atomic_store_n(&pulse->count, __atomic_load_n(&pulse->count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    return __atomic_load_n(&pulse->wants, __ATOMIC_RELAXED);
}

/// Notes that the destructors of the calling thread's thread-specific data are called from now on.
void cgrun_note_thread_ends(void);
bool cgrun_thread_ends(void);

#endif
