// SPDX-License-Identifier: Apache-2.0
// Shared by the cases: the loop, its driver, and the number of measured operations.
#ifndef BENCH_H
#define BENCH_H

#include <bench-support.h>
#include <grun/grun.h>

extern const char *bench_case;
extern long bench_n, bench_count;
extern GRunLoop *bench_loop;

/// Runs the loop until `stop()`.
void drive(void);
/// Makes one pass, or one iteration of the host, without waiting.
void look(void);
void stop(void);
/// Counts to n, and stops.
void count_one(void);

/// Reports the time since `begin` per operation.
void report_since(int64_t begin);
void report_memory(long heap, long resident);

/// Adds a timer that is never due in a benchmark. The caller owns the timer.
GRunTimer *add_far_timer(gdouble seconds);

void post_local(void);
void post_burst(void);
void post_remote(void);
void ping_pong(void);
void wake_latency(void);
void create_timers(void);
void fire_timers(gdouble tolerance);
void tax_timers(void);
void tick(void);
void look_only(void);
void tax_descriptors(void);
void ring_of_descriptors(int tokens);
void add_descriptors(void);

#endif
