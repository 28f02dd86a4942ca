// SPDX-License-Identifier: Apache-2.0
// A program in C without knowledge of run loops, dispatch queues or Swift. It runs a GMainLoop, and loads a plug-in
// into it.
//
// usage: swift-plugin-host PLUGIN [--thread]    --thread: the plug-in is loaded and started on a thread that is not the
// main one

#include <gmodule.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *path;
    GMainLoop *loop;
    unsigned (*served)(void); // atomic: another thread may set it
    unsigned expected;
    gboolean passed;
    // The thread that has loaded the plug-in goes on, like a program's own thread.
    GMutex is_running;
} Host;

static void load(Host *host)
{
    GModule *plugin = g_module_open(host->path, G_MODULE_BIND_LOCAL);
    gpointer start, served;
    if (plugin == NULL || !g_module_symbol(plugin, "plugin_start", &start) ||
        !g_module_symbol(plugin, "plugin_served", &served))
        g_error("%s", g_module_error());
    // Swift code stays loaded, because its runtime cannot be unloaded.
    g_module_make_resident(plugin);
    ((void (*)(void))start)();
    g_atomic_pointer_set(&host->served, served);
}

static unsigned served(Host *host)
{
    unsigned (*ask)(void) = (unsigned (*)(void))g_atomic_pointer_get(&host->served);
    return ask == NULL ? 0 : ask();
}

static void *load_on_thread(void *data)
{
    Host *host = data;
    load(host);
    g_mutex_lock(&host->is_running);
    g_mutex_unlock(&host->is_running);
    return NULL;
}

static gboolean begin(void *data)
{
    Host *host = data;
    load(host);
    return G_SOURCE_REMOVE;
}

static gboolean look(void *data)
{
    Host *host = data;
    if (served(host) != host->expected)
        return G_SOURCE_CONTINUE;
    host->passed = TRUE;
    g_main_loop_quit(host->loop);
    return G_SOURCE_REMOVE;
}

static gboolean give_up(void *data)
{
    g_main_loop_quit(((Host *)data)->loop);
    return G_SOURCE_REMOVE;
}

int main(int count, char **arguments)
{
    gboolean on_thread = count == 3 && strcmp(arguments[2], "--thread") == 0;
    if (count != 2 && !on_thread) {
        fprintf(stderr, "usage: swift-plugin-host PLUGIN [--thread]\n");
        return 2;
    }
    // On another thread, everything is served except the main queue and the main actor.
    Host host = {.path = arguments[1], .loop = g_main_loop_new(NULL, FALSE), .expected = on_thread ? 35 : 63};
    GThread *thread = NULL;
    g_mutex_init(&host.is_running);
    g_mutex_lock(&host.is_running);
    if (on_thread)
        thread = g_thread_new("plug-in", load_on_thread, &host);
    else
        g_timeout_add(20, begin, &host);
    g_timeout_add(2, look, &host);
    g_timeout_add_seconds(20, give_up, &host);
    g_main_loop_run(host.loop);
    printf("swift-plugin-host: plug-in loaded %s: served %u of 63%s\n",
        on_thread ? "on another thread" : "late, on the main thread", served(&host), host.passed ? "" : ": FAILED");
    g_mutex_unlock(&host.is_running);
    if (thread != NULL)
        g_thread_join(thread);
    g_mutex_clear(&host.is_running);
    g_main_loop_unref(host.loop);
    return host.passed ? 0 : 1;
}
