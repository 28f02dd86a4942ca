// SPDX-License-Identifier: Apache-2.0
// Calls every function of <grun/grun.h> and asserts its result or its effect. Each check has its own thread, and so its
// own loop.

#include "check.h"

#include <glib/gstdio.h>

Count count_of(GRunLoop *loop)
{
    return (Count){.loop = loop, .stays = G_SOURCE_CONTINUE};
}

void let_go(gpointer count)
{
    ((Count *)count)->lets_go++;
}

void count_func(gpointer count)
{
    ((Count *)count)->calls++;
}

static gboolean note(Count *count, gpointer item, guint found)
{
    count->calls++;
    count->item = item;
    count->found = found;
    g_free(count->mode);
    count->mode = grun_loop_copy_current_mode(count->loop);
    return count->stays;
}

gboolean count_source(GRunSource *source, gpointer count)
{
    return note(count, source, 0);
}

gboolean count_fd(GRunFdSource *source, GIOCondition condition, gpointer count)
{
    return note(count, source, condition);
}

gboolean count_timer(GRunTimer *timer, gpointer count)
{
    return note(count, timer, 0);
}

gboolean count_observer(GRunObserver *observer, GRunActivity activity, gpointer count)
{
    return note(count, observer, activity);
}

GRunResult pass(GRunLoop *loop)
{
    return grun_loop_run_in_mode(loop, MODE, 0, FALSE);
}

static gpointer call(gpointer body)
{
    ((void (*)(void))body)();
    return NULL;
}

void on_own_thread(void (*body)(void))
{
    g_thread_join(g_thread_new("check", call, (gpointer)body));
}

static void run_check(gconstpointer body)
{
    on_own_thread((void (*)(void))body);
}

static void add(const char *path, void (*body)(void))
{
    g_test_add_data_func(path, (gconstpointer)body, run_check);
}

// Removes XDG_RUNTIME_DIR, which holds a folder with the names of message ports.
static void remove_names(const char *directory)
{
    g_autofree char *folder = g_build_filename(directory, "grun-ports", NULL);
    GDir *names = g_dir_open(folder, 0, NULL);
    for (const char *name; names != NULL && (name = g_dir_read_name(names)) != NULL;) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        g_unlink(path);
    }
    g_clear_pointer(&names, g_dir_close);
    g_rmdir(folder);
    g_rmdir(directory);
}

int main(int count, char **arguments)
{
    g_test_init(&count, &arguments, NULL);
    g_autofree char *directory = g_dir_make_tmp("grun-check-XXXXXX", NULL);
    g_setenv("XDG_RUNTIME_DIR", directory, TRUE);
    add("/loop", check_loop);
    add("/modes", check_modes);
    add("/contexts", check_contexts);
    add("/tracing", check_tracing);
    add("/stalls", check_stalls);
    add("/timeline", check_timeline);
    add("/source", check_source);
    add("/fd-source", check_fd_source);
    add("/signal-source", check_signal_source);
    add("/child-source", check_child_source);
    add("/channel", check_channel);
    add("/notification-queue", check_notification_queue);
    add("/port", check_port);
    add("/message-port", check_message_port);
    add("/timer", check_timer);
    add("/observer", check_observer);
    add("/labels", check_labels);
    add("/idle-queue", check_idle_queue);
    add("/blocks", check_blocks);
    add("/performs", check_performs);
    add("/thread", check_thread);
    add("/end", check_end);
    add("/virtual-time", check_virtual_time);
    add("/times", check_times);
    add("/types", check_types);
    // The main loop and its host belong to the whole process.
    g_test_add_func("/host", check_host);
    int status = g_test_run();
    remove_names(directory);
    return status;
}
