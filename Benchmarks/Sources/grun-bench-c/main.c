// SPDX-License-Identifier: Apache-2.0
// usage: grun-bench-c CASE N     the cases of grun-bench by way of C, with the same line
//
// HOSTED=1 in the environment: g_main_loop_run() drives the main loop. The main dispatch queue has no C interface, so
// it has no case here.

#include "bench.h"

#include <stdio.h>
#include <string.h>

const char *bench_case;
long bench_n, bench_count;
GRunLoop *bench_loop;
static GMainLoop *host;

void drive(void)
{
    if (host != NULL)
        g_main_loop_run(host);
    else
        grun_loop_run(bench_loop);
}

void look(void)
{
    if (host != NULL)
        g_main_context_iteration(NULL, FALSE);
    else
        grun_loop_run_in_mode(bench_loop, GRUN_MODE_DEFAULT, 0, FALSE);
}

void stop(void)
{
    if (host != NULL)
        g_main_loop_quit(host);
    else
        grun_loop_stop(bench_loop);
}

void count_one(void)
{
    if (++bench_count >= bench_n)
        stop();
}

void report_since(int64_t begin)
{
    bench_report(bench_case, bench_n, (double)(bench_now() - begin) / bench_n, "-");
}

void report_memory(long heap, long resident)
{
    char extra[64];
    double bytes = (double)(bench_heap() - heap) / bench_n;
    g_snprintf(
        extra, sizeof extra, "bytes_heap:%.1f,bytes_rss:%.1f", bytes, (double)(bench_resident() - resident) / bench_n);
    bench_report(bench_case, bench_n, bytes, extra);
}

static bool is(const char *name)
{
    return strcmp(bench_case, name) == 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: grun-bench-c CASE N\n");
        return 2;
    }
    bench_case = argv[1];
    bench_n = atol(argv[2]);
    bench_loop = grun_loop_get_main();
    host = g_getenv("HOSTED") == NULL ? NULL : g_main_loop_new(NULL, FALSE);
    bench_set_peer(host == NULL ? "grun-c" : "grun-c-hosted");
    bench_pin(0);
    bench_raise_descriptor_limit();
    if (is("post-local"))
        post_local();
    else if (is("post-burst"))
        post_burst();
    else if (is("post-remote"))
        post_remote();
    else if (is("pingpong"))
        ping_pong();
    else if (is("wake-latency"))
        wake_latency();
    else if (is("timers-create") || is("mem-timers"))
        create_timers();
    else if (is("timers-fire"))
        fire_timers(0);
    else if (is("timers-fire-tolerance"))
        fire_timers(1e-3);
    else if (is("timers-idle-tax"))
        tax_timers();
    else if (is("idle-wakeups"))
        tick();
    else if (is("run-nowait"))
        look_only();
    else if (is("fds-idle-tax"))
        tax_descriptors();
    else if (is("fds-active"))
        ring_of_descriptors(100);
    else if (is("fds-active-1"))
        ring_of_descriptors(1);
    else if (is("mem-fds"))
        add_descriptors();
    else {
        printf("peer=grun-c case=%s n=%ld ns_per_op=NA extra=unsupported\n", bench_case, bench_n);
        return 3;
    }
    return 0;
}
