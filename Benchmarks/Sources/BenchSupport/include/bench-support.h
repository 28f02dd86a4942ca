// SPDX-License-Identifier: Apache-2.0
// What the programs share: clocks, random numbers, memory, descriptors, and the line that they print.
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

/// CLOCK_MONOTONIC, and the processor time of the process, in nanoseconds.
int64_t bench_now(void);
int64_t bench_cpu(void);
/// Of one sequence, the same in every run.
uint64_t bench_random(void);
/// Bytes that malloc has given out; bytes of memory that the process has.
long bench_heap(void);
long bench_resident(void);

void bench_raise_descriptor_limit(void);
int bench_event(void);
void bench_pipe(int *ends);
void bench_put(int descriptor);
bool bench_get(int descriptor);
/// With SPLIT=1 in the environment: side 0, the loop, on processor 0; side 1, the other thread, on processor 1.
void bench_pin(int side);

/// `peer=... case=... n=... ns_per_op=... extra=...`
void bench_report(const char *name, long n, double nanoseconds, const char *extra);
/// Sorts `late`, and reports the processor time of a fire, and how late fires were.
void bench_report_lateness(const char *name, long n, int64_t cpu, int64_t *late);
/// Post `number` was made, and ran before whoever made it went on.
void bench_note_posted(long number, bool at_once);
/// Sorts `latencies`, and reports their median and those of posts that ran at once and later.
void bench_report_latencies(const char *name, long n, int64_t *latencies);
/// What the line names.
void bench_set_peer(const char *peer);

/// A step of a case that goes on for half a second, or for PASSES steps: false when it is over. The steps are then what
/// `bench_steps` says, and took `bench_step_time` nanoseconds each.
void bench_begin_steps(void);
bool bench_step(void);
long bench_steps(void);
double bench_step_time(void);

/// A start from another thread, which is waited for by `bench_join`.
void bench_start(void (*body)(void *), void *data);
void bench_join(void);
void bench_sleep_microseconds(unsigned microseconds);

#endif
