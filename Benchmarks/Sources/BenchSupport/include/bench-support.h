// SPDX-License-Identifier: Apache-2.0
// Helpers of the programs: clocks, random numbers, memory, descriptors, and the output line.
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <stdbool.h>
#include <stdint.h>

/// CLOCK_MONOTONIC, and the processor time of the process, in nanoseconds.
int64_t bench_now(void);
int64_t bench_cpu(void);
/// A random number from a sequence that is the same in every run.
uint64_t bench_random(void);
/// The bytes that malloc has given out, and the bytes of memory that the process uses.
long bench_heap(void);
long bench_resident(void);

void bench_raise_descriptor_limit(void);
int bench_event(void);
void bench_pipe(int *ends);
void bench_put(int descriptor);
bool bench_get(int descriptor);
/// With SPLIT=1 in the environment, pins side 0, the loop, to processor 0, and side 1, the other thread, to 1.
void bench_pin(int side);

/// Prints `peer=... case=... n=... ns_per_op=... extra=...`.
void bench_report(const char *name, long n, double nanoseconds, const char *extra);
/// Sorts `late`, and reports the processor time of a fire, and how late fires were.
void bench_report_lateness(const char *name, long n, int64_t cpu, int64_t *late);
/// Notes a post, and whether it ran before the posting thread continued.
void bench_note_posted(long number, bool at_once);
/// Sorts `latencies`, and reports their median and those of immediate and of later posts.
void bench_report_latencies(const char *name, long n, int64_t *latencies);
/// Sets the peer's name in the output line.
void bench_set_peer(const char *peer);

/// A case in steps, which lasts half a second or PASSES steps. Each step returns false when the case is over.
/// Afterwards `bench_steps` is the number of steps, and `bench_step_time` the nanoseconds of each.
void bench_begin_steps(void);
bool bench_step(void);
long bench_steps(void);
double bench_step_time(void);

/// Runs `body` on another thread, which `bench_join` joins.
void bench_start(void (*body)(void *), void *data);
void bench_join(void);
void bench_sleep_microseconds(unsigned microseconds);

#endif
