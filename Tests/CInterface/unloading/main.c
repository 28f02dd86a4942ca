// SPDX-License-Identifier: Apache-2.0
// A host that is not linked with the library loads a plug-in that is. It closes the plug-in while objects of the
// library are still in use.
//
// usage: unloading PLUGIN CASE    `-` before the case: the plug-in is in Swift, and stays loaded

#include <dlfcn.h>
#include <glib.h>
#include <string.h>

typedef unsigned (*Ask)(void);
typedef void (*Do)(void);

static const char *path;
static gboolean is_swift;
static void *plugin;

static void open_plugin(void)
{
    plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL)
        g_error("%s", dlerror());
}

static void *symbol(const char *name)
{
    void *found = dlsym(plugin, name);
    if (found == NULL)
        g_error("%s", dlerror());
    return found;
}

/// dlclose() unloads a plug-in in C. A plug-in in Swift stays loaded.
static void close_plugin(void)
{
    g_assert_cmpint(dlclose(plugin), ==, 0);
    void *left = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    g_assert_cmpint(left != NULL, ==, is_swift);
}

static void iterate_until(Ask served, unsigned expected)
{
    for (gint64 end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
        served() != expected && g_get_monotonic_time() < end;)
        g_main_context_iteration(NULL, FALSE);
    g_assert_cmpuint(served(), ==, expected);
}

static gboolean count_down(gpointer count)
{
    return --*(int *)count > 0;
}

/// Sleeps and wakes with the sources that are left in the context.
static void iterate(void)
{
    int count = 5;
    g_timeout_add(2, count_down, &count);
    while (count > 0)
        g_main_context_iteration(NULL, TRUE);
}

// MARK: The cases

typedef struct {
    GMutex lock;
    GCond changed;
    gboolean has_run, may_end;
} Thread;

static void *run_on_thread(void *data)
{
    Thread *thread = data;
    g_assert_cmpuint(((Ask)symbol("plugin_run"))(), ==, 1);
    g_mutex_lock(&thread->lock);
    thread->has_run = TRUE;
    g_cond_signal(&thread->changed);
    while (!thread->may_end)
        g_cond_wait(&thread->changed, &thread->lock);
    g_mutex_unlock(&thread->lock);
    return NULL;
}

/// A thread of the host has used its loop, and ends while the plug-in is closed.
static void check_thread(void)
{
    Thread state = {.has_run = FALSE};
    g_mutex_init(&state.lock);
    g_cond_init(&state.changed);
    open_plugin();
    GThread *thread = g_thread_new("host", run_on_thread, &state);
    g_mutex_lock(&state.lock);
    while (!state.has_run)
        g_cond_wait(&state.changed, &state.lock);
    close_plugin();
    state.may_end = TRUE;
    g_cond_signal(&state.changed);
    g_mutex_unlock(&state.lock);
    g_thread_join(thread);
    g_mutex_clear(&state.lock);
    g_cond_clear(&state.changed);
}

/// The loop is still in the context that the host iterates.
static void check_attached(void)
{
    open_plugin();
    ((Do)symbol("plugin_start"))();
    Ask served = (Ask)symbol("plugin_served");
    if (is_swift) {
        // The context serves all of it after the plug-in was closed.
        close_plugin();
        iterate_until(served, 63);
    } else {
        iterate_until(served, 1);
        ((Do)symbol("plugin_stop"))();
        close_plugin();
    }
    iterate();
}

static void check_detached(void)
{
    open_plugin();
    ((Do)symbol("plugin_start"))();
    iterate_until((Ask)symbol("plugin_served"), 1);
    ((Do)symbol("plugin_stop"))();
    ((Do)symbol("plugin_detach"))();
    close_plugin();
    iterate();
}

/// The plug-in is closed without use, and used after it is opened again.
static void check_again(void)
{
    for (int turn = 0; turn < 3; turn++) {
        open_plugin();
        close_plugin();
        open_plugin();
        g_assert_cmpuint(((Ask)symbol("plugin_run"))(), ==, 1);
        close_plugin();
        iterate();
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    path = arguments[1];
    const char *name = arguments[2];
    is_swift = name[0] == '-';
    static const struct {
        const char *name;
        Do check;
    } cases[] = {
        {"thread", check_thread}, {"attached", check_attached}, {"detached", check_detached}, {"again", check_again}};
    for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
        if (strcmp(cases[i].name, name + is_swift) == 0) {
            cases[i].check();
            return 0;
        }
    }
    return 2;
}
