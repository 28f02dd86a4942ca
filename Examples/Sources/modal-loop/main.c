// SPDX-License-Identifier: Apache-2.0
// A modal question: a nested run in its own mode. Items of the default mode wait meanwhile; items of the common modes
// and of the private mode go on. GLib's nested main loops serve all modes, so with them a second dialog opens over the
// first.

#include <grun/grun.h>

typedef struct {
    GRunLoop *loop;
    guint background;
    guint questions;
} Program;

#define MODE_QUESTION "com.example.question"

static gboolean background(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Program *program = user_data;
    program->background++;
    return G_SOURCE_CONTINUE;
}

static gboolean answer(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Program *program = user_data;
    g_autofree char *mode = grun_loop_copy_current_mode(program->loop);
    g_print("  the answer comes, in mode %s\n", mode);
    // Stops the innermost run only.
    grun_loop_stop(program->loop);
    return G_SOURCE_REMOVE;
}

static gboolean ask(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Program *program = user_data;
    guint before = program->background;
    g_print("question %u\n", ++program->questions);

    g_autoptr(GRunTimer) reply = grun_timer_new(0.1, FALSE, answer, program, NULL);
    grun_loop_add_timer(program->loop, reply, MODE_QUESTION);
    GRunResult result = grun_loop_run_in_mode(program->loop, MODE_QUESTION, G_MAXDOUBLE, FALSE);

    g_print("  %s; the background timer has fired %u times meanwhile\n",
        result == GRUN_RESULT_STOPPED ? "answered" : "?", program->background - before);
    return G_SOURCE_REMOVE;
}

static gboolean end(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Program *program = user_data;
    g_print("the background timer %s\n", program->background > 0 ? "has gone on before and after" : "never fired");
    grun_loop_stop(program->loop);
    return G_SOURCE_REMOVE;
}

static void add(Program *program, double seconds, gboolean repeats, GRunTimerFunc func)
{
    // The loop holds a reference to the timer.
    g_autoptr(GRunTimer) timer = grun_timer_new(seconds, repeats, func, program, NULL);
    grun_loop_add_timer(program->loop, timer, GRUN_MODE_DEFAULT);
}

int main(void)
{
    Program program = {.loop = grun_loop_get_current()};
    add(&program, 0.01, TRUE, background);
    add(&program, 0.05, FALSE, ask);
    add(&program, 0.25, FALSE, ask);
    add(&program, 0.5, FALSE, end);
    return grun_loop_run(program.loop) == GRUN_RESULT_STOPPED ? 0 : 1;
}
