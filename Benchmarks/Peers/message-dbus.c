// SPDX-License-Identifier: Apache-2.0
// The same call through GDBus and the session bus. Run it with dbus-run-session.
// usage: message-dbus SIZE N

#include <gio/gio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *interface =
    "<node><interface name='org.example.Echo'><method name='Call'><arg type='ay' direction='in'/>"
    "<arg type='ay' direction='out'/></method></interface></node>";

static void called(GDBusConnection *connection, const char *sender, const char *path, const char *name,
                   const char *method, GVariant *parameters, GDBusMethodInvocation *invocation, gpointer data)
{
    g_dbus_method_invocation_return_value(invocation, g_variant_new_tuple(
        (GVariant *[]) { g_variant_get_child_value(parameters, 0) }, 1));
}

static int serve(void)
{
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    GDBusInterfaceVTable table = { called };
    GDBusNodeInfo *node = g_dbus_node_info_new_for_xml(interface, NULL);
    g_dbus_connection_register_object(bus, "/echo", node->interfaces[0], &table, NULL, NULL, NULL);
    g_bus_own_name_on_connection(bus, "org.example.Echo", 0, NULL, NULL, NULL, NULL);
    g_main_loop_run(g_main_loop_new(NULL, FALSE));
    return 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int count, char **arguments)
{
    gsize size = atol(arguments[1]);
    long n = atol(arguments[2]);
    pid_t service = fork();
    if (service == 0)
        return serve();
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
    char *bytes = g_malloc0(size);
    double begin = 0;
    for (long i = -100; i < n;) {
        if (i == 0)
            begin = now();
        GVariant *reply = g_dbus_connection_call_sync(
            bus, "org.example.Echo", "/echo", "org.example.Echo", "Call",
            g_variant_new("(@ay)", g_variant_new_fixed_array(G_VARIANT_TYPE_BYTE, bytes, size, 1)),
            NULL, G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        // The service may not own its name yet.
        if (!reply)
            continue;
        g_variant_unref(reply);
        i++;
    }
    printf("peer=dbus case=message-port n=%ld ns_per_op=%.1f extra=-\n", n, (now() - begin) / n);
    kill(service, SIGKILL);
    waitpid(service, NULL, 0);
}
