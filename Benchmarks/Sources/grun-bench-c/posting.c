// SPDX-License-Identifier: Apache-2.0
// Functions: one that enqueues itself, many at the same time, posts from another thread; two loops that reply to each
// other; the latency of waking a sleeping loop.

#include "bench.h"

static void post_again(gpointer data)
{
    if (++bench_count < bench_n)
        grun_loop_post(bench_loop, GRUN_MODE_COMMON, post_again, data, NULL);
    else
        stop();
}

void post_local(void)
{
    int64_t begin = bench_now();
    grun_loop_post(bench_loop, GRUN_MODE_COMMON, post_again, NULL, NULL);
    drive();
    report_since(begin);
}

static void count_down(gpointer data)
{
    (void)data;
    count_one();
}

static void post_all(void *data)
{
    for (long i = 0; i < bench_n; i++)
        grun_loop_post(bench_loop, GRUN_MODE_COMMON, count_down, data, NULL);
}

void post_burst(void)
{
    int64_t begin = bench_now();
    post_all(NULL);
    drive();
    report_since(begin);
}

static gboolean never(GRunSource *source, gpointer data)
{
    (void)source;
    (void)data;
    return G_SOURCE_CONTINUE;
}

// Otherwise the run would be finished before the first block comes. As in the peers, no timer is used.
static void keep_alive(void)
{
    g_autoptr(GRunSource) source = grun_source_new(0, never, NULL, NULL);
    grun_loop_add_source(bench_loop, source, GRUN_MODE_DEFAULT);
}

void post_remote(void)
{
    keep_alive();
    int64_t begin = bench_now();
    bench_start(post_all, NULL);
    drive();
    report_since(begin);
    bench_join();
}

static GRunLoop *other;
static GRunSource *here, *there;

static void ready(gpointer data)
{
    *(volatile bool *)data = true;
}

static gboolean ping(GRunSource *source, gpointer data)
{
    (void)source;
    (void)data;
    if (++bench_count >= bench_n) {
        grun_loop_stop(other);
        stop();
    } else {
        grun_source_signal(there);
        grun_loop_wake_up(other);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean pong(GRunSource *source, gpointer data)
{
    (void)source;
    (void)data;
    grun_source_signal(here);
    grun_loop_wake_up(bench_loop);
    return G_SOURCE_CONTINUE;
}

static void play(void *data)
{
    other = grun_loop_get_current();
    grun_loop_add_source(other, there, GRUN_MODE_DEFAULT);
    // The loop must sleep before the first ball comes.
    grun_loop_perform_block(other, GRUN_MODE_DEFAULT, ready, data, NULL);
    grun_loop_run(other);
}

void ping_pong(void)
{
    static volatile bool is_ready;
    here = grun_source_new(0, ping, NULL, NULL);
    there = grun_source_new(0, pong, NULL, NULL);
    grun_loop_add_source(bench_loop, here, GRUN_MODE_DEFAULT);
    bench_start(play, (void *)&is_ready);
    while (!is_ready || !grun_loop_is_waiting(other))
        bench_sleep_microseconds(1000);
    int64_t begin = bench_now();
    grun_source_signal(there);
    grun_loop_wake_up(other);
    drive();
    report_since(begin);
    bench_join();
}

static int64_t *latencies;

static void note_latency(gpointer stamp)
{
    latencies[bench_count] = bench_now() - *(int64_t *)stamp;
    count_one();
}

static void post_rarely(void *data)
{
    int64_t *stamps = data;
    for (long i = 0; i < bench_n; i++) {
        bench_sleep_microseconds(1000);
        stamps[i] = bench_now();
        grun_loop_post(bench_loop, GRUN_MODE_COMMON, note_latency, &stamps[i], NULL);
        bench_note_posted(i, *(volatile long *)&bench_count != i);
        while (*(volatile long *)&bench_count == i)
            bench_sleep_microseconds(50);
    }
}

void wake_latency(void)
{
    keep_alive();
    g_autofree int64_t *stamps = g_new0(int64_t, bench_n);
    latencies = g_new0(int64_t, bench_n);
    bench_start(post_rarely, stamps);
    drive();
    bench_join();
    bench_report_latencies(bench_case, bench_n, latencies);
}
