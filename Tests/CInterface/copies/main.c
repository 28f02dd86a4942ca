// SPDX-License-Identifier: Apache-2.0
// Tests several copies of the library in one process. The first copy serves; the others log an error and do nothing.
//
// usage: copies library LIBRARY PLUGIN    this program's copy first, then a second one, then a plug-in in Swift with a
// third
//        copies plugins PLUGIN PLUGIN     two plug-ins in Swift, each with a copy of its own

#include <gmodule.h>
#include <grun/grun.h>
#include <string.h>

static GPtrArray *messages;

static void on_log(const char *domain, GLogLevelFlags level, const char *text, gpointer data)
{
    (void)domain;
    (void)data;
    if (level & G_LOG_LEVEL_CRITICAL)
        g_ptr_array_add(messages, g_strdup(text));
}

/// Asserts that the last message names this function and the other copy, and gives the remedy.
static void assert_refused(const char *function, guint count)
{
    g_assert_cmpuint(messages->len, ==, count);
    const char *message = g_ptr_array_index(messages, count - 1);
    g_assert_true(g_str_has_prefix(message, function));
    g_assert_nonnull(strstr(message, "another copy of GRunLoop serves this process"));
    g_assert_nonnull(strstr(message, "Link the program and its plug-ins"));
}

static gpointer symbol(GModule *module, const char *name)
{
    gpointer found = NULL;
    if (!g_module_symbol(module, name, &found))
        g_error("%s", g_module_error());
    return found;
}

static GModule *open_module(const char *path)
{
    GModule *module = g_module_open(path, G_MODULE_BIND_LOCAL);
    if (module == NULL)
        g_error("%s", g_module_error());
    g_module_make_resident(module);
    return module;
}

static gboolean fired(GRunTimer *timer, gpointer count)
{
    (void)timer;
    ++*(guint *)count;
    return G_SOURCE_CONTINUE;
}

static void never(gpointer data)
{
    (void)data;
    g_error("performed by a copy that does not serve");
}

static gpointer wait_for_other(gpointer module)
{
    GRunLoop *loop = ((GRunLoop * (*)(void)) symbol(module, "grun_loop_get_main"))();
    gboolean (*wait)(GRunLoop *, const char *, GRunFunc, gpointer, GError **) =
        symbol(module, "grun_loop_perform_and_wait");
    gboolean (*perform)(GRunLoop *, const char *, GRunFunc, gpointer, GDestroyNotify, GError **) =
        symbol(module, "grun_loop_perform_on_thread");
    g_assert_false(wait(loop, GRUN_MODE_COMMON, never, NULL, NULL));
    g_assert_false(perform(loop, GRUN_MODE_COMMON, never, NULL, NULL, NULL));
    return NULL;
}

// Bits of what a plug-in was served. If another copy serves, its main queue and main actor still run, because the
// serving copy runs them. Its timer, its block and its actor do not.
enum { ALL = 63, MAIN_QUEUE = 4 + 8 + 16 };
typedef unsigned (*Served)(void);

static Served start_plugin(const char *path)
{
    GModule *module = open_module(path);
    ((void (*)(void))symbol(module, "plugin_start"))();
    return (Served)symbol(module, "plugin_served");
}

static void iterate_until(Served served, unsigned expected)
{
    for (gint64 end = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
        served() != expected && g_get_monotonic_time() < end;)
        g_main_context_iteration(NULL, FALSE);
    g_assert_cmpuint(served(), ==, expected);
}

static void check_library(const char *path, const char *plugin)
{
    guint own = 0, others = 0;
    g_autoptr(GRunTimer) timer = grun_timer_new(0.001, TRUE, fired, &own, NULL);
    grun_loop_add_timer(grun_loop_get_main(), timer, GRUN_MODE_DEFAULT);
    g_assert_cmpuint(messages->len, ==, 0);

    GModule *other = open_module(path);
    GRunLoop *(*get_main)(void) = symbol(other, "grun_loop_get_main");
    GRunResult (*run)(GRunLoop *) = symbol(other, "grun_loop_run");
    GRunTimer *(*make)(gdouble, gboolean, GRunTimerFunc, gpointer, GDestroyNotify) = symbol(other, "grun_timer_new");
    void (*add)(GRunLoop *, GRunTimer *, const char *) = symbol(other, "grun_loop_add_timer");
    void (*unref)(GRunTimer *) = symbol(other, "grun_timer_unref");
    GType (*type)(void) = symbol(other, "grun_timer_get_type");
    g_assert_true((gpointer)get_main != (gpointer)grun_loop_get_main);

    GRunLoop *loop = get_main();
    assert_refused("grun_loop_get_main: ", 1);
    g_assert_cmpint(run(loop), ==, GRUN_RESULT_FINISHED);
    assert_refused("grun_loop_run: ", 2);
    GRunTimer *theirs = make(0, TRUE, fired, &others, NULL);
    add(loop, theirs, GRUN_MODE_COMMON);
    assert_refused("grun_loop_add_timer: ", 3);
    unref(theirs);
    g_assert_cmpuint(type(), ==, 0);
    // A wait for the refused loop returns immediately.
    g_thread_join(g_thread_new("waits", wait_for_other, other));
    g_ptr_array_set_size(messages, 3);

    // The first copy keeps running.
    for (gint64 end = g_get_monotonic_time() + 20000; g_get_monotonic_time() < end;)
        g_main_context_iteration(NULL, FALSE);
    g_assert_cmpuint(own, >, 0);
    g_assert_cmpuint(others, ==, 0);
    grun_timer_invalidate(timer);
    g_assert_cmpuint(messages->len, ==, 3);
    iterate_until(start_plugin(plugin), MAIN_QUEUE);
    g_print("copies: the second copy of the library refuses 3 calls, the first one goes on, and serves a plug-in's "
            "main queue\n");
}

static void check_plugins(const char *first, const char *second)
{
    Served served = start_plugin(first), others = start_plugin(second);
    iterate_until(served, ALL);
    iterate_until(others, MAIN_QUEUE);
    g_assert_cmpuint(messages->len, >, 0);
    assert_refused("GRunLoop.", messages->len);
    g_print("copies: of two plug-ins the first was served %u of %u, the second %u\n", served(), ALL, others());
}

int main(int count, char **arguments)
{
    messages = g_ptr_array_new_with_free_func(g_free);
    g_log_set_default_handler(on_log, NULL);
    if (count == 4 && strcmp(arguments[1], "library") == 0)
        check_library(arguments[2], arguments[3]);
    else if (count == 4 && strcmp(arguments[1], "plugins") == 0)
        check_plugins(arguments[2], arguments[3]);
    else
        return 2;
    g_ptr_array_unref(messages);
    return 0;
}
