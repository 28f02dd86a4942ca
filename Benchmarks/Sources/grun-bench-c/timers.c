// SPDX-License-Identifier: Apache-2.0
// Timers: added and removed, fired, idle; a tick per second; memory.

#include "bench.h"

static gboolean nothing(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    return G_SOURCE_CONTINUE;
}

GRunTimer *add_far_timer(gdouble seconds)
{
    GRunTimer *timer = grun_timer_new(seconds, FALSE, nothing, NULL, NULL);
    grun_loop_add_timer(bench_loop, timer, GRUN_MODE_DEFAULT);
    return timer;
}

void create_timers(void)
{
    g_autofree GRunTimer **timers = g_new(GRunTimer *, bench_n);
    long heap = bench_heap(), resident = bench_resident();
    int64_t begin = bench_now();
    for (long i = 0; i < bench_n; i++)
        timers[i] = add_far_timer(3600 + (bench_random() % 3600000000000) / 1e9);
    double adding = (double)(bench_now() - begin) / bench_n;
    if (bench_case[0] == 'm') {
        report_memory(heap, resident);
        return;
    }
    begin = bench_now();
    for (long i = 0; i < bench_n; i++) {
        grun_timer_invalidate(timers[i]);
        grun_timer_unref(timers[i]);
    }
    double cancelling = (double)(bench_now() - begin) / bench_n;
    bench_report("timers-create-add", bench_n, adding, "-");
    bench_report("timers-create-cancel", bench_n, cancelling, "-");
}

static int64_t *late;

static gboolean note_lateness(GRunTimer *timer, gpointer date)
{
    (void)timer;
    late[bench_count] = bench_now() - *(int64_t *)date;
    count_one();
    return G_SOURCE_CONTINUE;
}

void fire_timers(gdouble tolerance)
{
    g_autofree int64_t *dates = g_new(int64_t, bench_n);
    late = g_new0(int64_t, bench_n);
    int64_t first = bench_now() + 100000000 + bench_n * 1000;
    for (long i = 0; i < bench_n; i++) {
        // GLib's dates are in microseconds.
        int64_t microseconds = (first + (int64_t)(bench_random() % 50000000)) / 1000;
        dates[i] = microseconds * 1000;
        g_autoptr(GRunTimer) timer = grun_timer_new_at(microseconds, 0, note_lateness, &dates[i], NULL);
        if (tolerance > 0)
            grun_timer_set_tolerance(timer, tolerance);
        grun_loop_add_timer(bench_loop, timer, GRUN_MODE_DEFAULT);
    }
    int64_t cpu = bench_cpu();
    drive();
    bench_report_lateness(bench_case, bench_n, bench_cpu() - cpu, late);
}

static void post_step(gpointer data)
{
    if (bench_step())
        grun_loop_post(bench_loop, GRUN_MODE_COMMON, post_step, data, NULL);
    else
        stop();
}

void tax_timers(void)
{
    for (long i = 0; i < bench_n; i++)
        grun_timer_unref(add_far_timer(3600 + bench_random() % 3600));
    bench_begin_steps();
    grun_loop_post(bench_loop, GRUN_MODE_COMMON, post_step, NULL, NULL);
    drive();
    bench_report(bench_case, bench_n, bench_step_time(), "-");
}

static gboolean count_tick(GRunTimer *timer, gpointer data)
{
    (void)timer;
    int64_t *cpu = data;
    if (*cpu == 0)
        *cpu = bench_cpu();
    else
        count_one();
    return G_SOURCE_CONTINUE;
}

// Measures ticks after a first one, in which a program touches most of its code and memory for the first time.
void tick(void)
{
    int64_t cpu = 0;
    g_autoptr(GRunTimer) timer = grun_timer_new(1, TRUE, count_tick, &cpu, NULL);
    grun_loop_add_timer(bench_loop, timer, GRUN_MODE_DEFAULT);
    drive();
    bench_report(bench_case, bench_n, (double)(bench_cpu() - cpu) / bench_n, "cpu_ns_per_tick");
}

void look_only(void)
{
    g_autoptr(GRunTimer) timer = add_far_timer(3600);
    int64_t begin = bench_now();
    for (long i = 0; i < bench_n; i++)
        look();
    report_since(begin);
}
