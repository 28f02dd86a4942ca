// SPDX-License-Identifier: Apache-2.0
// A service that other processes of this user find by its name. Its clients are message-client-c and message-client-py.
// The same service in Python is message-service-py.

#include <grun/grun.h>
#include <string.h>
#include <unistd.h>

#define NAME "org.example.words"

// The ids of messages, as agreed by both sides.
enum { COUNT_WORDS = 1, COUNT_WORDS_OF_FILE = 2, REMIND = 3, STOP = 4 };

static guint count_words(const char *text, gsize size)
{
    guint words = 0;
    for (gsize at = 0; at < size; at++)
        words += !g_ascii_isspace(text[at]) && (at == 0 || g_ascii_isspace(text[at - 1]));
    return words;
}

// Ignores the error if the client has gone meanwhile.
static void reply(GRunMessage *message, const char *text)
{
    g_autoptr(GBytes) data = g_bytes_new(text, strlen(text));
    g_autoptr(GError) error = NULL;
    if (!grun_message_reply(message, data, NULL, 0, &error))
        g_printerr("not replied to: %s\n", error->message);
}

static void answer_with_number(GRunMessage *message, guint number)
{
    g_autofree char *text = g_strdup_printf("%u", number);
    reply(message, text);
}

static gboolean remind(GRunTimer *timer, gpointer message)
{
    (void)timer;
    reply(message, "now");
    return G_SOURCE_REMOVE;
}

static void handle(GRunMessagePort *port, GRunMessage *message, gpointer loop)
{
    (void)port;
    gsize size;
    const char *text = g_bytes_get_data(grun_message_get_data(message), &size);
    switch (grun_message_get_id(message)) {
    case COUNT_WORDS:
        answer_with_number(message, count_words(text, size));
        break;
    case COUNT_WORDS_OF_FILE: {
        // The service now owns the descriptor, perhaps of a file that the service could not open itself.
        guint count;
        g_autofree gint *fds = grun_message_take_fds(message, &count);
        char content[4096];
        gssize read_bytes = count == 0 ? -1 : read(fds[0], content, sizeof content);
        for (guint index = 0; index < count; index++)
            close(fds[index]);
        answer_with_number(message, read_bytes < 0 ? 0 : count_words(content, (gsize)read_bytes));
        break;
    }
    case REMIND: {
        // The reply comes later, because the timer holds a reference. The service handles other messages meanwhile.
        g_autoptr(GRunTimer) timer =
            grun_timer_new(0.05, FALSE, remind, grun_message_ref(message), (GDestroyNotify)grun_message_unref);
        grun_loop_add_timer(loop, timer, GRUN_MODE_DEFAULT);
        break;
    }
    case STOP:
        grun_loop_stop(loop);
        break;
    default:
        // The message is released without a reply, so the client gets an error.
        g_print("message %d means nothing\n", grun_message_get_id(message));
    }
}

int main(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GError) error = NULL;
    g_autoptr(GRunMessagePort) port = grun_message_port_new(NAME, handle, loop, NULL, &error);
    if (port == NULL || !grun_loop_add_message_port(loop, port, GRUN_MODE_DEFAULT, &error)) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    g_print("ready: %s\n", NAME);
    grun_loop_run(loop);
    // The name is free now, and clients notice.
    grun_message_port_invalidate(port);
    g_print("stopped\n");
    return 0;
}
