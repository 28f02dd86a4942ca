// SPDX-License-Identifier: Apache-2.0
// usage: grun-bench-c CASE N     cases of grun-bench by way of C, with the same line
//
// HOSTED=1 in the environment: g_main_loop_run() drives the main loop.

#include <bench-support.h>
#include <grun/grun.h>
#include <stdio.h>
#include <string.h>

static const char *name;
static long n, count;
static GRunLoop *loop;
static GMainLoop *host;

static void drive(void)
{
    if (host != NULL)
        g_main_loop_run(host);
    else
        grun_loop_run(loop);
}

static void stop(void)
{
    if (host != NULL)
        g_main_loop_quit(host);
    else
        grun_loop_stop(loop);
}

static void report_since(int64_t begin)
{
    bench_report(name, n, (double)(bench_now() - begin) / n, "-");
}

static gboolean nothing(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    return G_SOURCE_CONTINUE;
}

static GRunTimer *add_timer(gdouble seconds)
{
    GRunTimer *timer = grun_timer_new(seconds, FALSE, nothing, NULL, NULL);
    grun_loop_add_timer(loop, timer, GRUN_MODE_DEFAULT);
    return timer;
}

static void post_again(gpointer data)
{
    if (++count < n)
        grun_loop_async(loop, GRUN_MODE_COMMON, post_again, data, NULL);
    else
        stop();
}

static void count_down(gpointer data)
{
    (void)data;
    if (++count >= n)
        stop();
}

static void post_all(void *data)
{
    for (long i = 0; i < n; i++)
        grun_loop_async(loop, GRUN_MODE_COMMON, count_down, data, NULL);
}

static void create_timers(void)
{
    GRunTimer **timers = g_new(GRunTimer *, n);
    int64_t begin = bench_now();
    for (long i = 0; i < n; i++)
        timers[i] = add_timer(3600 + bench_random() % 3600);
    bench_report("timers-create-add", n, (double)(bench_now() - begin) / n, "-");
    begin = bench_now();
    for (long i = 0; i < n; i++) {
        grun_timer_invalidate(timers[i]);
        grun_timer_unref(timers[i]);
    }
    bench_report("timers-create-cancel", n, (double)(bench_now() - begin) / n, "-");
    g_free(timers);
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

static void watch(int descriptor, GRunFdSourceFunc func, gpointer data)
{
    g_autoptr(GRunFdSource) source = grun_fd_source_new(descriptor, G_IO_IN, func, data, NULL);
    g_autoptr(GError) error = NULL;
    if (!grun_loop_add_fd_source(loop, source, GRUN_MODE_DEFAULT, &error))
        g_error("%s", error->message);
}

static void tax_descriptors(void)
{
    static int ends[2];
    for (long i = 0; i < n; i++)
        watch(bench_event(), no_event, NULL);
    bench_pipe(ends);
    watch(ends[0], one_event, ends);
    bench_put(ends[1]);
    bench_begin_steps();
    drive();
    bench_report(name, n, bench_step_time(), "-");
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: grun-bench-c CASE N\n");
        return 2;
    }
    name = argv[1];
    n = atol(argv[2]);
    loop = grun_loop_get_main();
    host = g_getenv("HOSTED") == NULL ? NULL : g_main_loop_new(NULL, FALSE);
    bench_set_peer(host == NULL ? "grun-c" : "grun-c-hosted");
    bench_pin(0);
    bench_raise_descriptor_limit();
    int64_t begin = bench_now();
    if (strcmp(name, "post-local") == 0) {
        post_again(NULL);
        drive();
        report_since(begin);
    } else if (strcmp(name, "post-burst") == 0) {
        post_all(NULL);
        drive();
        report_since(begin);
    } else if (strcmp(name, "post-remote") == 0) {
        bench_start(post_all, NULL);
        drive();
        report_since(begin);
        bench_join();
    } else if (strcmp(name, "timers-create") == 0) {
        create_timers();
    } else if (strcmp(name, "fds-idle-tax") == 0) {
        tax_descriptors();
    } else if (strcmp(name, "run-nowait") == 0) {
        grun_timer_unref(add_timer(3600));
        begin = bench_now();
        for (long i = 0; i < n; i++)
            grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0, FALSE);
        report_since(begin);
    } else {
        printf("peer=grun-c case=%s n=%ld ns_per_op=NA extra=unsupported\n", name, n);
        return 3;
    }
    return 0;
}
