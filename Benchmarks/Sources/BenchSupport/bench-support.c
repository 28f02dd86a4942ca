// SPDX-License-Identifier: Apache-2.0
// Wraps the peers' helpers, so that our cases use the same clocks, random numbers, descriptors and output line.

static const char *peer = "grun";
#define PEER peer
#include "../../Peers/bench.h"

#include "bench-support.h"

void bench_set_peer(const char *name) { peer = strdup(name); }
int64_t bench_now(void) { return now_ns(); }
int64_t bench_cpu(void) { return cpu_ns(); }
uint64_t bench_random(void) { return rng(); }
long bench_heap(void) { return heap_bytes(); }
long bench_resident(void) { return rss_bytes(); }

void bench_raise_descriptor_limit(void) { raise_nofile(); }
int bench_event(void) { return mk_eventfd(); }
void bench_pipe(int *ends) { mk_pipe(ends); }
void bench_put(int descriptor) { put1(descriptor); }
bool bench_get(int descriptor) { return get1(descriptor); }
void bench_pin(int side) { pin_side(side); }

void bench_report(const char *name, long n, double nanoseconds, const char *extra)
{
    report(name, n, nanoseconds, "%s", extra);
}

void bench_report_lateness(const char *name, long n, int64_t cpu, int64_t *late)
{
    report_lateness(name, n, cpu, late, 0);
}
void bench_note_posted(long number, bool at_once) { note_posted(number, at_once); }
void bench_report_latencies(const char *name, long n, int64_t *latencies) { report_latencies(name, n, latencies); }

static tax_t steps;

void bench_begin_steps(void) { tax_begin(&steps, 0); }
bool bench_step(void) { return !tax_step(&steps); }
long bench_steps(void) { return steps.ops; }
double bench_step_time(void) { return tax_ns(&steps); }

typedef struct {
    void (*body)(void *);
    void *data;
} start;

static pthread_t thread;

static void *begin(void *argument)
{
    start own = *(start *)argument;
    free(argument);
    bench_pin(1);
    own.body(own.data);
    return NULL;
}

void bench_start(void (*body)(void *), void *data)
{
    start *argument = malloc(sizeof *argument);
    argument->body = body;
    argument->data = data;
    if (pthread_create(&thread, NULL, begin, argument) != 0)
        die("pthread_create");
}

void bench_join(void) { pthread_join(thread, NULL); }
void bench_sleep_microseconds(unsigned microseconds) { usleep(microseconds); }
