// SPDX-License-Identifier: Apache-2.0
// A client of message-service-c or message-service-py, whichever runs. It requests an immediate reply, a count of a
// file that only this side has opened, and a reply that takes its time, while this side's own loop goes on. Then it
// stops the service.

#include <grun/grun.h>
#include <string.h>
#include <unistd.h>

#define NAME "org.example.words"

// The ids of messages, as agreed by both sides.
enum { COUNT_WORDS = 1, COUNT_WORDS_OF_FILE = 2, REMIND = 3, STOP = 4, NONSENSE = 99 };

// Returns the reply as text; NULL with an error.
static char *ask(GRunRemoteMessagePort *port, gint32 id, const char *text, gint fd, GError **error)
{
    g_autoptr(GBytes) data = g_bytes_new(text, strlen(text));
    // The service has a second to take the message, and ten to reply. Meanwhile this loop runs.
    g_autoptr(GRunMessage) reply = grun_remote_message_port_request(
        port, id, data, &fd, fd >= 0 ? 1 : 0, 1, 10, GRUN_MODE_DEFAULT, error);
    if (reply == NULL)
        return NULL;
    gsize size;
    const char *found = g_bytes_get_data(grun_message_get_data(reply), &size);
    return g_strndup(found, size);
}

static gboolean tick(GRunTimer *timer, gpointer ticks)
{
    (void)timer;
    ++*(guint *)ticks;
    return G_SOURCE_CONTINUE;
}

int main(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GError) error = NULL;
    g_autoptr(GRunRemoteMessagePort) port = grun_remote_message_port_look_up(NAME, &error);
    if (port == NULL) {
        g_printerr("%s\n", error->message);
        return 1;
    }
    g_autofree char *words = ask(port, COUNT_WORDS, "to be or not to be", -1, &error);
    g_print("words: %s\n", words != NULL ? words : error->message);
    g_clear_error(&error);

    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], "that is the question", 20) != 20)
        return 1;
    g_autofree char *in_file = ask(port, COUNT_WORDS_OF_FILE, "", ends[0], &error);
    g_print("words of a file: %s\n", in_file != NULL ? in_file : error->message);
    g_clear_error(&error);
    close(ends[0]);
    close(ends[1]);

    guint ticks = 0;
    g_autoptr(GRunTimer) timer = grun_timer_new(0.005, TRUE, tick, &ticks, NULL);
    grun_loop_add_timer(loop, timer, GRUN_MODE_DEFAULT);
    g_autofree char *reminder = ask(port, REMIND, "", -1, &error);
    g_print("reminder: %s%s\n", reminder != NULL ? reminder : error->message,
        ticks > 0 ? ", and the timer has gone on" : ", and the timer has stood still");
    g_clear_error(&error);
    grun_timer_invalidate(timer);

    g_autofree char *nothing = ask(port, NONSENSE, "", -1, &error);
    g_print("nonsense: %s\n", nothing != NULL ? nothing : error->message);
    g_clear_error(&error);

    // This message wants no reply. A request to a service that has ended gets no reply either.
    if (!grun_remote_message_port_send(port, STOP, NULL, NULL, 0, 1, NULL, &error))
        g_printerr("%s\n", error->message);
    g_clear_error(&error);
    g_autofree char *late = ask(port, COUNT_WORDS, "anybody there", -1, &error);
    gboolean has_gone = g_error_matches(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID) ||
        g_error_matches(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID);
    g_print("%s\n", has_gone ? "the service has gone" : "the service goes on");
    return words != NULL && in_file != NULL && reminder != NULL && has_gone ? 0 : 1;
}
