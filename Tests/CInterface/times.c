// SPDX-License-Identifier: Apache-2.0
// Time spans of any length, on clocks with any reading.

#include "check.h"

#include <math.h>

static const gdouble spans[] = {
    -HUGE_VAL, -G_MAXDOUBLE, -1e308, -1e9, -1, -1e-320, 0,
    1e-320, G_MINDOUBLE, 1e-10, 1e-9, 0.1, 1, 1e9, 9.3e9, 1e308, G_MAXDOUBLE, HUGE_VAL,
};
static const gint64 dates[] = {
    G_MININT64, -1, 0, 1, G_MAXINT64 / 2000,
    9223372036854774, 9223372036854775, 9223372036854776, G_MAXINT64 - 1, G_MAXINT64,
};
// The largest reading of a clock.
static const gint64 last = 9223372036854775;

// Avoids calls that would count forever: a repeating timer moves the clock from date to date.
static void use_span(GRunLoop *loop, gdouble span, Count *count)
{
    g_autoptr(GRunTimer) timer = grun_timer_new(span, TRUE, count_timer, count, NULL);
    grun_timer_set_tolerance(timer, span);
    g_assert_cmpfloat(grun_timer_get_interval(timer), >, 0);
    g_assert_cmpfloat(grun_timer_get_tolerance(timer), >=, 0);
    grun_loop_add_timer(loop, timer, MODE);
    for (int i = 0; i < 3; i++) {
        guint calls = count->calls;
        gboolean advances = grun_loop_advance_to_next_timer(loop, MODE);
        g_assert_cmpuint(count->calls, ==, calls + (advances ? 1 : 0));
    }
    grun_timer_invalidate(timer);

    grun_loop_perform_after(loop, span, MODE, count_func, count, NULL);
    grun_loop_set_time_slice(loop, span);
    g_assert_cmpfloat(grun_loop_get_time_slice(loop), >=, 0);
    gint64 before = grun_loop_get_time(loop);
    pass(loop);
    grun_loop_advance_time(loop, span, MODE);
    g_assert_cmpint(grun_loop_get_time(loop), >=, before);
    g_assert_cmpint(grun_loop_get_time(loop), <=, last);
    grun_loop_cancel_performs(loop, count_func, count);
    // A run without a limit would wait for another thread.
    if (span < 1e8) {
        g_autoptr(GRunSource) keeps = grun_source_new(0, count_source, count, NULL);
        grun_loop_add_source(loop, keeps, MODE);
        g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, span, FALSE), ==, GRUN_RESULT_TIMED_OUT);
        grun_source_invalidate(keeps);
    }
}

static void use_date(GRunLoop *loop, gint64 date, Count *count)
{
    for (guint i = 0; i < G_N_ELEMENTS(spans); i++) {
        g_autoptr(GRunTimer) timer = grun_timer_new_at(date, spans[i], count_timer, count, NULL);
        grun_loop_add_timer(loop, timer, MODE);
        grun_timer_set_next_fire_date(timer, date);
        g_assert_cmpint(grun_timer_get_next_fire_date(timer), >=, 0);
        g_assert_cmpint(grun_loop_get_next_timer_fire_date(loop, MODE), >=, 0);
        g_autofree char *text = grun_timer_to_string(timer);
        g_autofree char *all = grun_loop_to_string(loop);
        g_assert_true(*text && *all);
        grun_loop_advance_to_next_timer(loop, MODE);
        grun_loop_poll_limit_date(loop, MODE);
        grun_timer_invalidate(timer);
    }
    g_assert_false(grun_loop_run_mode_before_date(loop, MODE, date));
    grun_loop_run_until_date(loop, date);
    grun_loop_accept_input(loop, MODE, date);
    g_assert_cmpint(grun_loop_run_in_mode_usec(loop, MODE, date, FALSE), ==, GRUN_RESULT_FINISHED);
}

static void try_every_time(GRunLoop *loop, gpointer data)
{
    g_assert_cmpint(grun_loop_get_time(loop), <=, last);
    Count *count = data;
    count->loop = loop;
    for (guint i = 0; i < G_N_ELEMENTS(spans); i++)
        use_span(loop, spans[i], count);
    for (guint i = 0; i < G_N_ELEMENTS(dates); i++)
        use_date(loop, dates[i], count);
}

static void round_times(GRunLoop *loop, gpointer data)
{
    Count *count = data;
    count->loop = loop;
    // As a double, 1.9 is a little less than 1.9 s.
    g_autoptr(GRunTimer) timer = grun_timer_new_at(1900000, 0, count_timer, count, NULL);
    grun_loop_add_timer(loop, timer, MODE);
    grun_loop_advance_time(loop, 1.9, MODE);
    g_assert_cmpuint(count->calls, ==, 1);
    // The shortest span is rounded up to one clock tick, which has to elapse.
    g_autoptr(GRunTimer) next = grun_timer_new(1e-320, FALSE, count_timer, count, NULL);
    grun_loop_add_timer(loop, next, MODE);
    grun_loop_advance_time(loop, 0, MODE);
    g_assert_cmpuint(count->calls, ==, 1);
    grun_loop_advance_time(loop, 1e-320, MODE);
    g_assert_cmpuint(count->calls, ==, 2);
}

void check_times(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(dates); i++) {
        Count count = count_of(NULL);
        grun_with_virtual_time(dates[i], try_every_time, &count);
        g_free(count.mode);
    }
    Count count = count_of(NULL);
    grun_with_virtual_time(0, round_times, &count);
    g_free(count.mode);
}
