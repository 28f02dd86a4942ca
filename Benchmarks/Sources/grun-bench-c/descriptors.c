// SPDX-License-Identifier: Apache-2.0
// Descriptors: one event beside many idle ones; 100 pipes in a ring; memory.

#include "bench.h"

static void watch(int descriptor, GRunFdSourceFunc func, gpointer data)
{
    g_autoptr(GRunFdSource) source = grun_fd_source_new(descriptor, G_IO_IN, func, data, NULL);
    g_autoptr(GError) error = NULL;
    if (!grun_loop_add_fd_source(bench_loop, source, GRUN_MODE_DEFAULT, &error))
        g_error("%s", error->message);
}

static gboolean no_event(GRunFdSource *source, GIOCondition found, gpointer data)
{
    (void)source;
    (void)found;
    (void)data;
    return G_SOURCE_CONTINUE;
}

static gboolean one_event(GRunFdSource *source, GIOCondition found, gpointer ends)
{
    (void)source;
    (void)found;
    bench_get(((int *)ends)[0]);
    if (bench_step())
        bench_put(((int *)ends)[1]);
    else
        stop();
    return G_SOURCE_CONTINUE;
}

void tax_descriptors(void)
{
    static int ends[2];
    for (long i = 0; i < bench_n; i++)
        watch(bench_event(), no_event, NULL);
    bench_pipe(ends);
    watch(ends[0], one_event, ends);
    bench_put(ends[1]);
    bench_begin_steps();
    drive();
    bench_report(bench_case, bench_n, bench_step_time(), "-");
}

enum { RING = 100 };
static int ring[RING][2];

static gboolean pass_on(GRunFdSource *source, GIOCondition found, gpointer ends)
{
    (void)source;
    (void)found;
    int (*own)[2] = ends;
    bench_get((*own)[0]);
    if (++bench_count >= bench_n)
        stop();
    else
        bench_put(ring[(own - ring + 1) % RING][1]);
    return G_SOURCE_CONTINUE;
}

void ring_of_descriptors(int tokens)
{
    for (int i = 0; i < RING; i++)
        bench_pipe(ring[i]);
    for (int i = 0; i < RING; i++)
        watch(ring[i][0], pass_on, ring + i);
    for (int i = 0; i < tokens; i++)
        bench_put(ring[i][1]);
    int64_t begin = bench_now();
    drive();
    report_since(begin);
}

void add_descriptors(void)
{
    g_autofree int *descriptors = g_new(int, bench_n);
    for (long i = 0; i < bench_n; i++)
        descriptors[i] = bench_event();
    long heap = bench_heap(), resident = bench_resident();
    for (long i = 0; i < bench_n; i++)
        watch(descriptors[i], no_event, NULL);
    report_memory(heap, resident);
}
