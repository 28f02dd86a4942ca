// SPDX-License-Identifier: Apache-2.0
// A GIO server in a mode. Its sockets belong to a separate context, which the loop serves only in the mode "network".
// Timers of the run loop go on beside it, in the same sleep. The client is a thread that connects over the loopback
// interface.

#include <gio/gio.h>
#include <grun/grun.h>

#define MODE_NETWORK "network"
#define MODE_QUIET "quiet"

typedef struct {
    GRunLoop *loop;
    guint16 port;
    guint connections;
    guint ticks;
    gboolean is_done;
} Server;

static void line_is_read(GObject *object, GAsyncResult *result, gpointer user_data)
{
    g_autoptr(GSocketConnection) connection = user_data;
    g_autofree char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(object), result, NULL, NULL);
    if (line == NULL)
        return;
    g_autofree char *reply = g_strconcat("echo of ", line, "\n", NULL);
    g_output_stream_write_all(
        g_io_stream_get_output_stream(G_IO_STREAM(connection)), reply, strlen(reply), NULL, NULL, NULL);
}

static gboolean incoming(GSocketService *service, GSocketConnection *connection, GObject *source, gpointer user_data)
{
    (void)service;
    (void)source;
    ((Server *)user_data)->connections++;
    g_autoptr(GDataInputStream) input = g_data_input_stream_new(g_io_stream_get_input_stream(G_IO_STREAM(connection)));
    g_data_input_stream_read_line_async(input, G_PRIORITY_DEFAULT, NULL, line_is_read, g_object_ref(connection));
    return TRUE;
}

static gboolean tick(GRunTimer *timer, gpointer user_data)
{
    (void)timer;
    Server *server = user_data;
    server->ticks++;
    if (server->is_done)
        grun_loop_stop(server->loop);
    return G_SOURCE_CONTINUE;
}

static void client_is_done(gpointer user_data)
{
    ((Server *)user_data)->is_done = TRUE;
}

static gpointer talk(gpointer user_data)
{
    Server *server = user_data;
    g_autoptr(GSocketClient) client = g_socket_client_new();
    for (guint i = 1; i <= 3; i++) {
        g_autoptr(GSocketConnection) connection =
            g_socket_client_connect_to_host(client, "127.0.0.1", server->port, NULL, NULL);
        g_autofree char *line = g_strdup_printf("line %u\n", i);
        g_output_stream_write_all(
            g_io_stream_get_output_stream(G_IO_STREAM(connection)), line, strlen(line), NULL, NULL, NULL);
        g_autoptr(GDataInputStream) input =
            g_data_input_stream_new(g_io_stream_get_input_stream(G_IO_STREAM(connection)));
        g_autofree char *reply = g_data_input_stream_read_line(input, NULL, NULL, NULL);
        g_print("client: %s\n", reply);
    }
    // Called on another thread: enqueues the function and wakes the loop.
    grun_loop_post(server->loop, MODE_NETWORK, client_is_done, server, NULL);
    return NULL;
}

int main(void)
{
    Server server = {.loop = grun_loop_get_current()};

    // Operations that GIO starts while this context is the thread's default context belong to it.
    GMainContext *context = g_main_context_new();
    g_main_context_push_thread_default(context);
    GSocketService *service = g_socket_service_new();
    server.port = g_socket_listener_add_any_inet_port(G_SOCKET_LISTENER(service), NULL, NULL);
    g_signal_connect(service, "incoming", G_CALLBACK(incoming), &server);
    g_socket_service_start(service);
    g_main_context_pop_thread_default(context);

    grun_loop_add_context(server.loop, context, MODE_NETWORK);
    g_autoptr(GRunTimer) timer = grun_timer_new(0.01, TRUE, tick, &server, NULL);
    grun_loop_add_timer(server.loop, timer, MODE_NETWORK);
    grun_loop_add_timer(server.loop, timer, MODE_QUIET);
    GThread *client = g_thread_new("client", talk, &server);

    grun_loop_run_in_mode(server.loop, MODE_QUIET, 0.2, FALSE);
    g_print("in mode %s: %u connections, the timer %s\n", MODE_QUIET, server.connections,
        server.ticks > 0 ? "fires" : "rests");
    guint before = server.ticks;
    GRunResult result = grun_loop_run_in_mode(server.loop, MODE_NETWORK, 20, FALSE);
    g_print("in mode %s: %u connections, the timer %s\n", MODE_NETWORK, server.connections,
        server.ticks > before ? "fires" : "rests");

    g_thread_join(client);
    grun_timer_invalidate(timer);
    g_socket_service_stop(service);
    g_socket_listener_close(G_SOCKET_LISTENER(service));
    grun_loop_remove_context(server.loop, context, MODE_NETWORK);
    g_object_unref(service);
    g_main_context_unref(context);
    return result == GRUN_RESULT_STOPPED ? 0 : 1;
}
