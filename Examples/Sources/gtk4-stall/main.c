// SPDX-License-Identifier: Apache-2.0
// A window that stalls: a button whose handler takes 300 ms, a timer that takes as long, and a thread that posts many
// short functions. A stall monitor and a timeline name the first two, and not the third.
//
// usage: gtk4-stall [--check]    --check: clicks by itself, says what was told, and ends

#include <grun/grun.h>
#include <gtk/gtk.h>
#include <string.h>

typedef struct {
    GtkWidget *button;
    gboolean checks;
    GMutex mutex;
    /// The reports of the monitor, one after the other.
    GString *told;
    GThread *flood;
    gint is_over;
    guint64 monitor;
    int status;
} Program;

// Works in pieces, because a call at the end of a function replaces its caller on the stack.
static void keep_busy(gint64 milliseconds)
{
    gint64 end = g_get_monotonic_time() + milliseconds * 1000;
    while (g_get_monotonic_time() < end)
        ;
}

__attribute__((noinline)) static void search_the_whole_disk(void)
{
    for (int piece = 0; piece < 30; piece++)
        keep_busy(10);
}

__attribute__((noinline)) static void save_everything(void)
{
    for (int piece = 0; piece < 60; piece++)
        keep_busy(5);
}

static void on_clicked(GtkButton *button, gpointer data)
{
    (void)button;
    (void)data;
    search_the_whole_disk();
}

static gboolean on_save(GRunTimer *timer, gpointer data)
{
    (void)timer;
    (void)data;
    save_everything();
    return TRUE;
}

static void on_small_thing(gpointer data)
{
    (void)data;
    keep_busy(1);
}

static gpointer flood(gpointer data)
{
    Program *program = data;
    while (!g_atomic_int_get(&program->is_over)) {
        grun_loop_post(grun_loop_get_main(), GRUN_MODE_COMMON, on_small_thing, NULL, NULL);
        g_usleep(2000);
    }
    return NULL;
}

static void on_stall(GRunLoop *loop, const char *report, gdouble seconds, gboolean is_over, gpointer data)
{
    (void)loop;
    Program *program = data;
    g_mutex_lock(&program->mutex);
    g_string_append_printf(program->told, "%s%s\n", is_over ? "over: " : "", report);
    g_mutex_unlock(&program->mutex);
    if (!is_over)
        g_print("%.0f ms and more: %s\n", seconds * 1000, report);
}

static gboolean click(gpointer data)
{
    g_signal_emit_by_name(((Program *)data)->button, "clicked");
    return G_SOURCE_REMOVE;
}

static gboolean names(Program *program, const char *what, const char *text, const char *wanted)
{
    gboolean does = text != NULL && strstr(text, wanted) != NULL;
    g_print("%-6s %s names %s\n", does ? "ok" : "FAILED", what, wanted);
    if (!does)
        program->status = 1;
    return does;
}

/// Returns the longest event with a name in a file of trace events, in milliseconds.
static double longest(const char *events, const char *name)
{
    double longest = 0;
    g_autofree char *wanted = g_strdup_printf("\"name\":\"%s\"", name);
    g_auto(GStrv) lines = g_strsplit(events, "\n", -1);
    for (char **line = lines; *line != NULL; line++) {
        const char *duration = strstr(*line, wanted) != NULL ? strstr(*line, "\"dur\":") : NULL;
        if (duration != NULL)
            longest = MAX(longest, g_ascii_strtod(duration + strlen("\"dur\":"), NULL) / 1000);
    }
    return longest;
}

static void check_timeline(Program *program)
{
    g_autofree char *path = g_strdup_printf("%s/gtk4-stall-%d.json", g_get_tmp_dir(), (int)getpid());
    g_autofree char *events = NULL;
    g_autoptr(GError) error = NULL;
    if (!grun_timeline_write(path, &error) || !g_file_get_contents(path, &events, NULL, &error)) {
        g_printerr("gtk4-stall: %s\n", error->message);
        program->status = 1;
        return;
    }
    remove(path);
    for (int each = 0; each < 2; each++) {
        const char *name = each == 0 ? "autosave" : "host";
        double time = longest(events, name);
        gboolean is_seen = time >= 290 && time < 2000;
        g_print("%-6s the timeline has %.0f ms of %s in one piece\n", is_seen ? "ok" : "FAILED", time, name);
        if (!is_seen)
            program->status = 1;
    }
}

static gboolean end(gpointer data)
{
    Program *program = data;
    g_atomic_int_set(&program->is_over, TRUE);
    g_thread_join(program->flood);
    grun_loop_unwatch_stalls(grun_loop_get_main(), program->monitor);
    g_mutex_lock(&program->mutex);
    const char *told = program->told->str;
    names(program, "the monitor", told, "a callback of the host \"a click\"");
    names(program, "the monitor", told, "search_the_whole_disk in gtk4-stall");
    names(program, "the monitor", told, "a timer \"autosave\"");
    names(program, "the monitor", told, "save_everything in gtk4-stall");
    if (strstr(told, "on_small_thing") != NULL) {
        g_print("FAILED the flood is told of: %s\n", told);
        program->status = 1;
    }
    g_mutex_unlock(&program->mutex);
    check_timeline(program);
    g_application_quit(g_application_get_default());
    return G_SOURCE_REMOVE;
}

static void activate(GtkApplication *application, gpointer data)
{
    Program *program = data;
    GtkWidget *window = gtk_application_window_new(application);
    program->button = gtk_button_new_with_label("Search");
    g_signal_connect(program->button, "clicked", G_CALLBACK(on_clicked), NULL);
    gtk_window_set_child(GTK_WINDOW(window), program->button);
    gtk_window_present(GTK_WINDOW(window));

    g_autoptr(GError) error = NULL;
    grun_timeline_start();
    program->monitor = grun_loop_watch_stalls(grun_loop_get_main(), 0.15, on_stall, program, NULL, &error);
    if (program->monitor == 0)
        g_error("gtk4-stall: %s", error->message);
    g_autoptr(GRunTimer) timer = grun_timer_new(0.6, FALSE, on_save, NULL, NULL);
    grun_timer_set_label(timer, "autosave");
    grun_loop_add_timer(grun_loop_get_main(), timer, GRUN_MODE_COMMON);
    program->flood = g_thread_new("flood", flood, program);
    if (program->checks) {
        g_source_set_name_by_id(g_timeout_add(200, click, program), "a click");
        g_timeout_add(1400, end, program);
    }
}

int main(int count, char **arguments)
{
    Program program = {.checks = count > 1 && strcmp(arguments[1], "--check") == 0, .told = g_string_new(NULL)};
    g_mutex_init(&program.mutex);
    g_autoptr(GtkApplication) application = gtk_application_new("com.example.gtk4-stall", G_APPLICATION_NON_UNIQUE);
    g_signal_connect(application, "activate", G_CALLBACK(activate), &program);
    int status = g_application_run(G_APPLICATION(application), 1, arguments);
    g_atomic_int_set(&program.is_over, TRUE);
    g_string_free(program.told, TRUE);
    return program.status != 0 ? program.status : status;
}
