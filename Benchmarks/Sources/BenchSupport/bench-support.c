// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE

#include "bench-support.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int64_t read_clock(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t bench_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t bench_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_random(void)
{
    static uint64_t state = 0x9E3779B97F4A7C15;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717;
}

long bench_heap(void)
{
    struct mallinfo2 info = mallinfo2();
    return (long)(info.uordblks + info.hblkhd);
}

long bench_resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long whole = 0, resident = 0;
    if (file == NULL || fscanf(file, "%ld %ld", &whole, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void fail(const char *what)
{
    perror(what);
    exit(2);
}

void bench_raise_descriptor_limit(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

int bench_event(void)
{
    int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (event < 0)
        fail("eventfd");
    return event;
}

void bench_pipe(int *ends)
{
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
        fail("pipe2");
}

void bench_put(int descriptor)
{
    if (write(descriptor, "x", 1) != 1)
        fail("write");
}

bool bench_get(int descriptor)
{
    char byte;
    return read(descriptor, &byte, 1) == 1;
}

void bench_pin(int side)
{
    if (getenv("SPLIT") == NULL)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(side, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static const char *peer = "grun";

void bench_set_peer(const char *name)
{
    peer = strdup(name);
}

void bench_report(const char *name, long n, double nanoseconds, const char *extra)
{
    printf("peer=%s case=%s n=%ld ns_per_op=%.2f extra=%s\n", peer, name, n, nanoseconds, extra);
    fflush(stdout);
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

void bench_report_lateness(const char *name, long n, int64_t cpu, int64_t *late)
{
    char extra[160];
    qsort(late, n, sizeof *late, compare);
    snprintf(extra, sizeof extra, "late_p50_us:%.1f,late_p99_us:%.1f,late_max_us:%.1f,cpu_ms:%.2f", late[n / 2] / 1e3,
        late[n * 99 / 100] / 1e3, late[n - 1] / 1e3, cpu / 1e6);
    bench_report(name, n, (double)cpu / n, extra);
}

void bench_report_latencies(const char *name, long n, int64_t *latencies)
{
    char extra[80];
    qsort(latencies, n, sizeof *latencies, compare);
    snprintf(extra, sizeof extra, "p99_us:%.1f", latencies[n * 99 / 100] / 1e3);
    bench_report(name, n, latencies[n / 2], extra);
}

static struct {
    int64_t begin, end;
    long count, limit;
} steps;

void bench_begin_steps(void)
{
    const char *passes = getenv("PASSES");
    steps.limit = passes == NULL ? 0 : atol(passes);
    steps.count = 0;
    steps.begin = bench_now();
}

bool bench_step(void)
{
    steps.count++;
    if (steps.limit > 0) {
        if (steps.count < steps.limit)
            return true;
        steps.end = bench_now();
        return false;
    }
    // The clock costs: it is read at every 16th step.
    if (steps.count % 16 != 0)
        return true;
    steps.end = bench_now();
    return steps.end - steps.begin < 500000000;
}

long bench_steps(void)
{
    return steps.count;
}

double bench_step_time(void)
{
    return (double)(steps.end - steps.begin) / steps.count;
}

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
        fail("pthread_create");
}

void bench_join(void)
{
    pthread_join(thread, NULL);
}

void bench_sleep_microseconds(unsigned microseconds)
{
    usleep(microseconds);
}
