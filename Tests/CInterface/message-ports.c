// SPDX-License-Identifier: Apache-2.0
// grun-message-port.h: messages reach a port by its name, with bytes and descriptors. Each request gets a reply or an
// error. Both sides are in one process here; message-service-c and message-client-c test two processes.

#include "check.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NAME "org.example.check"

// The messages that a port has received, and how its functions handle them.
typedef struct {
    Count count;
    GString *came;
    GRunMessage *last;
} Inbox;

static Inbox inbox_of(GRunLoop *loop)
{
    return (Inbox){.count = count_of(loop), .came = g_string_new(NULL)};
}

static void clear(Inbox *inbox)
{
    g_string_free(inbox->came, TRUE);
    g_clear_pointer(&inbox->last, grun_message_unref);
}

static void let_go_of_inbox(gpointer inbox) { ((Inbox *)inbox)->count.lets_go++; }

static void note(GRunMessagePort *port, GRunMessage *message, Inbox *inbox)
{
    g_assert_true(grun_message_port_is_valid(port));
    g_assert_true(grun_loop_get_current() == inbox->count.loop);
    inbox->count.calls++;
    gsize size;
    const char *text = g_bytes_get_data(grun_message_get_data(message), &size);
    g_string_append_printf(inbox->came, "%d:%.*s%s ", grun_message_get_id(message), (int)MIN(size, 100),
        text != NULL ? text : "", grun_message_wants_reply(message) ? "?" : "");
}

static void count_end(GRunMessagePort *port, gpointer count)
{
    Count *self = count;
    self->calls++;
    self->item = port;
}

static void count_remote_end(GRunRemoteMessagePort *port, gpointer count)
{
    Count *self = count;
    self->calls++;
    self->item = port;
}

static void cancel_wait(gpointer user_data)
{
    (void)user_data;
    g_assert_true(grun_remote_message_port_cancel_wait());
}

static void keep(GRunMessagePort *port, GRunMessage *message, gpointer inbox)
{
    note(port, message, inbox);
    Inbox *self = inbox;
    g_clear_pointer(&self->last, grun_message_unref);
    self->last = grun_message_ref(message);
}

static GBytes *repeat(GRunMessagePort *port, GRunMessage *message, gpointer inbox)
{
    note(port, message, inbox);
    return grun_message_get_id(message) == 0 ? NULL : g_bytes_ref(grun_message_get_data(message));
}

static GRunMessagePort *new_port(Inbox *inbox, const char *mode)
{
    g_autoptr(GError) error = NULL;
    GRunMessagePort *port = grun_message_port_new_replying(NAME, repeat, inbox, let_go_of_inbox, &error);
    g_assert_no_error(error);
    g_assert_true(grun_loop_add_message_port(inbox->count.loop, port, mode, &error));
    g_assert_no_error(error);
    return port;
}

static GRunRemoteMessagePort *look_up(void)
{
    g_autoptr(GError) error = NULL;
    GRunRemoteMessagePort *port = grun_remote_message_port_look_up(NAME, &error);
    g_assert_no_error(error);
    return port;
}

static GBytes *bytes_of(const char *text) { return g_bytes_new(text, strlen(text)); }

// Sends a request to a port of this thread.
static GRunMessage *ask(GRunRemoteMessagePort *port, gint32 id, const char *text, GError **error)
{
    g_autoptr(GBytes) data = text != NULL ? bytes_of(text) : NULL;
    return grun_remote_message_port_request(port, id, data, NULL, 0, 1, 10, MODE, error);
}

static void check_asking(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    GRunMessagePort *port = new_port(&inbox, MODE);
    g_autoptr(GRunRemoteMessagePort) remote = look_up();
    g_autoptr(GRunRemoteMessagePort) same = look_up();
    g_assert_true(same == remote);
    g_autofree char *name = grun_remote_message_port_copy_name(remote);
    g_assert_cmpstr(name, ==, NAME);
    g_autofree char *text = grun_message_port_to_string(port);
    g_assert_nonnull(strstr(text, "message port"));
    g_autofree char *remote_text = grun_remote_message_port_to_string(remote);
    g_assert_nonnull(strstr(remote_text, "RemoteMessagePort"));

    g_autoptr(GError) error = NULL;
    g_autoptr(GRunMessage) reply = ask(remote, 7, "ping", &error);
    g_assert_no_error(error);
    g_assert_cmpint(grun_message_get_id(reply), ==, 7);
    g_assert_false(grun_message_wants_reply(reply));
    g_autoptr(GBytes) expected = bytes_of("ping");
    g_assert_true(g_bytes_equal(grun_message_get_data(reply), expected));
    g_assert_true(grun_message_get_data(reply) == grun_message_get_data(reply));
    g_assert_cmpuint(grun_message_get_size(reply), ==, g_bytes_get_size(expected));
    // A request without data, and NULL as the reply.
    g_autoptr(GRunMessage) empty = ask(remote, 0, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(g_bytes_get_size(grun_message_get_data(empty)), ==, 0);
    g_assert_cmpuint(grun_message_get_size(empty), ==, 0);
    guint count = 9;
    g_assert_null(grun_message_take_fds(empty, &count));
    g_assert_cmpuint(count, ==, 0);
    // The message is sent, and the return value of the port's function is ignored.
    g_assert_true(grun_remote_message_port_send(remote, -1, expected, NULL, 0, 0, NULL, &error));
    g_assert_true(grun_remote_message_port_send(remote, G_MININT32, NULL, NULL, 0, 0, MODE, &error));
    g_assert_no_error(error);
    while (inbox.count.calls < 4)
        grun_loop_run_in_mode(loop, MODE, 1, TRUE);
    g_assert_cmpstr(inbox.came->str, ==, "7:ping? 0:? -1:ping -2147483648: ");

    // No code runs the mode of the port.
    g_assert_true(grun_loop_contains_message_port(loop, port, MODE));
    grun_loop_remove_message_port(loop, port, MODE);
    g_assert_false(grun_loop_contains_message_port(loop, port, MODE));
    g_assert_null(grun_remote_message_port_request(remote, 1, NULL, NULL, 0, 0, 0.001, MODE, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT);
    g_clear_error(&error);

    // A function that the loop calls during the wait cancels the wait.
    g_assert_false(grun_remote_message_port_cancel_wait());
    grun_loop_perform_after(loop, 0.001, MODE, cancel_wait, NULL, NULL);
    g_assert_null(grun_remote_message_port_request(remote, 1, NULL, NULL, 0, 0, 600, MODE, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_CANCELLED);
    g_clear_error(&error);

    Count notices = count_of(loop);
    grun_remote_message_port_add_invalidation_func(remote, count_remote_end, &notices, let_go);
    grun_message_port_add_invalidation_func(port, count_end, &notices, let_go);
    g_assert_true(grun_message_port_ref(port) == port);
    grun_message_port_unref(port);
    g_assert_cmpuint(grun_message_port_get_maximum_handler_depth(port), ==, 16);
    grun_message_port_set_maximum_handler_depth(port, 0);
    g_assert_cmpuint(grun_message_port_get_maximum_handler_depth(port), ==, 1);
    grun_message_port_set_maximum_handler_depth(port, G_MAXUINT);
    g_assert_cmpuint(grun_message_port_get_maximum_handler_depth(port), ==, G_MAXUINT);
    grun_message_port_invalidate(port);
    g_assert_false(grun_message_port_is_valid(port));
    g_assert_cmpuint(notices.calls, ==, 1);
    g_assert_true(notices.item == port);
    g_assert_cmpuint(inbox.count.lets_go, ==, 1);
    g_assert_null(grun_message_port_copy_name(port));
    grun_message_port_add_invalidation_func(port, count_end, &notices, let_go);
    g_assert_cmpuint(notices.calls, ==, 2);
    g_assert_false(grun_message_port_set_name(port, NAME, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_INVALID_PORT);
    g_clear_error(&error);
    // The other side notices the end of the port.
    g_assert_false(grun_remote_message_port_is_valid(remote));
    g_assert_cmpuint(notices.calls, ==, 3);
    g_assert_true(notices.item == remote);
    g_assert_cmpuint(notices.lets_go, ==, 3);
    g_assert_null(ask(remote, 1, NULL, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID);
    g_clear_error(&error);
    g_assert_false(grun_remote_message_port_send(remote, 1, NULL, NULL, 0, 0, NULL, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID);
    grun_message_port_unref(port);
    clear(&inbox);
}

static void check_names(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GError) error = NULL;
    GRunMessagePort *port = new_port(&inbox, MODE);
    g_assert_null(grun_message_port_new(NAME, keep, &inbox, let_go_of_inbox, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NAME_TAKEN);
    g_assert_nonnull(strstr(error->message, NAME));
    g_clear_error(&error);
    // The port has released its data.
    g_assert_cmpuint(inbox.count.lets_go, ==, 1);
    g_autofree char *long_name = g_strnfill(129, 'x');
    g_assert_null(grun_message_port_new(long_name, keep, &inbox, NULL, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_INVALID_NAME);
    g_clear_error(&error);
    g_assert_null(grun_remote_message_port_look_up("", &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_INVALID_NAME);
    g_clear_error(&error);
    g_assert_null(grun_remote_message_port_look_up(NAME ".other", &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NOT_FOUND);
    g_clear_error(&error);

    // A port without a name is found once it gets a name.
    g_autoptr(GRunMessagePort) other = grun_message_port_new(NULL, keep, &inbox, NULL, &error);
    g_assert_no_error(error);
    g_assert_null(grun_message_port_copy_name(other));
    g_assert_false(grun_message_port_set_name(other, NAME, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NAME_TAKEN);
    g_clear_error(&error);
    g_assert_true(grun_message_port_set_name(other, NAME ".other", &error));
    g_assert_no_error(error);
    g_autoptr(GRunRemoteMessagePort) remote = grun_remote_message_port_look_up(NAME ".other", &error);
    g_assert_true(grun_message_port_set_name(other, NAME ".another", &error));
    g_autofree char *name = grun_message_port_copy_name(other);
    g_assert_cmpstr(name, ==, NAME ".another");
    g_assert_true(grun_remote_message_port_is_valid(remote));

    // The directory is open to other users, or does not exist.
    g_autofree char *directory = g_strdup(g_getenv("XDG_RUNTIME_DIR"));
    g_setenv("XDG_RUNTIME_DIR", "/", TRUE);
    g_assert_null(grun_remote_message_port_look_up(NAME, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_UNSAFE_DIRECTORY);
    g_clear_error(&error);
    g_unsetenv("XDG_RUNTIME_DIR");
    g_assert_null(grun_message_port_new(NAME ".third", keep, &inbox, NULL, &error));
    g_assert_error(error, GRUN_ERROR, GRUN_ERROR_NO_RUNTIME_DIRECTORY);
    g_clear_error(&error);
    g_setenv("XDG_RUNTIME_DIR", directory, TRUE);

    // Releasing the last reference frees the name.
    grun_loop_remove_message_port(loop, port, MODE);
    grun_message_port_unref(port);
    g_assert_cmpuint(inbox.count.lets_go, ==, 2);
    g_autoptr(GRunMessagePort) next = grun_message_port_new(NAME, keep, &inbox, NULL, &error);
    g_assert_no_error(error);
    clear(&inbox);
}

// A question from another thread, in the place of another process.
typedef struct {
    GRunRemoteMessagePort *port;
    gint32 id;
    GRunMessage *reply;
    GError *error;
} Question;

static gpointer put(gpointer question)
{
    Question *self = question;
    self->reply = ask(self->port, self->id, "question", &self->error);
    return NULL;
}

static void check_answering_later(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GError) error = NULL;
    g_autoptr(GRunMessagePort) port = grun_message_port_new(NAME, keep, &inbox, NULL, &error);
    g_assert_true(grun_loop_add_message_port(loop, port, MODE, &error));
    g_assert_no_error(error);
    g_autoptr(GRunRemoteMessagePort) remote = look_up();

    // The port replies long after its function has returned, with descriptors and more bytes than a socket holds.
    Question question = {.port = remote, .id = 1};
    GThread *thread = g_thread_new("question", put, &question);
    while (inbox.last == NULL)
        grun_loop_run_in_mode(loop, MODE, 1, TRUE);
    enum { SIZE = 100000 };
    g_autofree char *content = g_strnfill(SIZE, 'c');
    g_autoptr(GBytes) data = g_bytes_new(content, SIZE);
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    g_assert_true(grun_message_reply(inbox.last, data, ends, 2, &error));
    g_assert_no_error(error);
    g_thread_join(thread);
    g_assert_no_error(question.error);
    g_assert_true(g_bytes_equal(grun_message_get_data(question.reply), data));
    g_autofree gint *fds = NULL;
    guint count = 0;
    fds = grun_message_take_fds(question.reply, &count);
    g_assert_cmpuint(count, ==, 2);
    g_assert_true(fds[0] >= 0 && fds[1] >= 0 && fds[2] == -1 && fds[0] != ends[0]);
    g_assert_cmpint(fcntl(fds[0], F_GETFD), ==, FD_CLOEXEC);
    g_assert_null(grun_message_take_fds(question.reply, NULL));
    g_assert_cmpint(write(ends[1], "x", 1), ==, 1);
    char letter = 0;
    g_assert_cmpint(read(fds[0], &letter, 1), ==, 1);
    for (int index = 0; index < 2; index++)
        close(fds[index]), close(ends[index]);
    // The bytes outlive the message.
    GBytes *kept = g_bytes_ref(grun_message_get_data(question.reply));
    g_assert_true(grun_message_ref(question.reply) == question.reply);
    grun_message_unref(question.reply);
    grun_message_unref(question.reply);
    g_assert_true(g_bytes_equal(kept, data));
    g_bytes_unref(kept);

    // The message is released without a reply, so the request fails with an error.
    g_clear_pointer(&inbox.last, grun_message_unref);
    question = (Question){.port = remote, .id = 2};
    thread = g_thread_new("question", put, &question);
    while (inbox.last == NULL)
        grun_loop_run_in_mode(loop, MODE, 1, TRUE);
    g_assert_true(grun_message_wants_reply(inbox.last));
    g_clear_pointer(&inbox.last, grun_message_unref);
    g_thread_join(thread);
    g_assert_null(question.reply);
    g_assert_error(question.error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED);
    g_clear_error(&question.error);

    // After a reply that cannot be sent, the port can still send another reply.
    question = (Question){.port = remote, .id = 3};
    thread = g_thread_new("question", put, &question);
    while (inbox.last == NULL)
        grun_loop_run_in_mode(loop, MODE, 1, TRUE);
    int closed = -1;
    g_assert_false(grun_message_reply(inbox.last, NULL, &closed, 1, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR);
    g_clear_error(&error);
    int many[17] = {0};
    g_assert_false(grun_message_reply(inbox.last, NULL, many, G_N_ELEMENTS(many), &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_TRANSPORT_ERROR);
    g_clear_error(&error);
    g_assert_true(grun_message_reply(inbox.last, NULL, NULL, 0, &error));
    g_assert_no_error(error);
    g_thread_join(thread);
    g_clear_pointer(&question.reply, grun_message_unref);
    g_clear_pointer(&inbox.last, grun_message_unref);

    // The client has closed its port.
    question = (Question){.port = remote, .id = 4};
    thread = g_thread_new("question", put, &question);
    while (inbox.last == NULL)
        grun_loop_run_in_mode(loop, MODE, 1, TRUE);
    g_assert_true(grun_remote_message_port_ref(remote) == remote);
    grun_remote_message_port_unref(remote);
    grun_remote_message_port_invalidate(remote);
    g_thread_join(thread);
    g_assert_error(question.error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID);
    g_clear_error(&question.error);
    g_assert_false(grun_message_reply(inbox.last, NULL, NULL, 0, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID);
    grun_message_port_invalidate(port);
    clear(&inbox);
}

typedef struct {
    Inbox *inbox;
    GRunMessage *reply;
    GError *error;
    guint calls;
    guint lets_go;
} Started;

static void end(GRunRemoteMessagePort *port, GRunMessage *reply, const GError *error, gpointer data)
{
    Started *started = data;
    g_assert_true(grun_remote_message_port_ref(port) == port);
    grun_remote_message_port_unref(port);
    g_assert_true(grun_loop_get_current() == started->inbox->count.loop);
    g_assert_cmpuint(started->lets_go, ==, 0);
    started->calls++;
    if (reply != NULL)
        started->reply = grun_message_ref(reply);
    if (error != NULL)
        started->error = g_error_copy(error);
}

static void let_go_of_started(gpointer started) { ((Started *)started)->lets_go++; }

static guint32 start(GRunRemoteMessagePort *port, gint32 id, gdouble limit, Started *started, GError **error)
{
    g_autoptr(GBytes) data = bytes_of("later");
    return grun_remote_message_port_start_request(
        port, id, data, NULL, 0, 1, limit, started->inbox->count.loop, MODE, end, started, let_go_of_started, error);
}

static void wait_for(Started *started)
{
    g_assert_cmpuint(started->calls, ==, 0);
    for (guint runs = 0; started->calls == 0 && runs < 300; runs++)
        grun_loop_run_in_mode(started->inbox->count.loop, MODE, 0.1, TRUE);
    while (started->lets_go == 0)
        grun_loop_run_in_mode(started->inbox->count.loop, MODE, 0, FALSE);
    g_assert_cmpuint(started->calls, ==, 1);
    g_assert_cmpuint(started->lets_go, ==, 1);
}

static void wait_for_error(Started *started, GRunMessageRequestError code)
{
    wait_for(started);
    g_assert_null(started->reply);
    g_assert_error(started->error, GRUN_MESSAGE_REQUEST_ERROR, (gint)code);
    g_error_free(started->error);
}

static gpointer start_elsewhere(gpointer data)
{
    g_autoptr(GRunRemoteMessagePort) port = look_up();
    g_assert_cmpuint(start(port, 9, 10, data, NULL), !=, 0);
    return NULL;
}

// The loop's thread ends before the reply arrives.
static void check_start_on_ended_loop(Inbox *inbox, GRunRemoteMessagePort *remote)
{
    GRunThread *thread = grun_thread_new("short", NULL, NULL, NULL);
    g_autoptr(GRunLoop) other = grun_loop_ref(grun_thread_get_loop(thread));
    Started started = {.inbox = inbox};
    g_assert_cmpuint(
        grun_remote_message_port_start_request(
            remote, 3, NULL, NULL, 0, 1, 1000, other, GRUN_MODE_COMMON, end, &started, let_go_of_started, NULL), !=, 0);
    grun_thread_stop(thread);
    grun_thread_wait(thread);
    grun_thread_unref(thread);
    g_assert_cmpuint(started.calls, ==, 0);
    g_assert_cmpuint(started.lets_go, ==, 1);
    g_autoptr(GError) error = NULL;
    g_assert_cmpuint(
        grun_remote_message_port_start_request(
            remote, 3, NULL, NULL, 0, 1, 1, other, GRUN_MODE_COMMON, end, &started, let_go_of_started, &error), ==, 0);
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_LOOP_ENDED);
    g_assert_cmpuint(started.calls, ==, 0);
    g_assert_cmpuint(started.lets_go, ==, 2);
}

static void check_starting(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    GRunMessagePort *port = new_port(&inbox, MODE);
    g_autoptr(GRunRemoteMessagePort) remote = look_up();
    g_autoptr(GError) error = NULL;

    // The request is sent immediately, so it arrives before the next message.
    Started started = {.inbox = &inbox};
    guint32 number = start(remote, 1, 10, &started, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(number, !=, 0);
    g_assert_true(grun_remote_message_port_send(remote, 2, NULL, NULL, 0, 0, NULL, NULL));
    wait_for(&started);
    g_assert_no_error(started.error);
    g_assert_cmpint(grun_message_get_id(started.reply), ==, 1);
    g_assert_cmpuint(g_bytes_get_size(grun_message_get_data(started.reply)), ==, strlen("later"));
    grun_message_unref(started.reply);
    while (inbox.count.calls < 2)
        grun_loop_run_in_mode(loop, MODE, 10, TRUE);
    g_assert_cmpstr(inbox.came->str, ==, "1:later? 2: ");
    g_assert_false(grun_remote_message_port_cancel_request(remote, number));

    // Another thread starts several requests.
    Started many[3] = {{.inbox = &inbox}, {.inbox = &inbox}, {.inbox = &inbox}};
    for (guint index = 0; index < G_N_ELEMENTS(many); index++)
        g_thread_join(g_thread_new("starts", start_elsewhere, &many[index]));
    while (many[0].lets_go + many[1].lets_go + many[2].lets_go < 3)
        grun_loop_run_in_mode(loop, MODE, 10, TRUE);
    for (guint index = 0; index < G_N_ELEMENTS(many); index++)
        g_clear_pointer(&many[index].reply, grun_message_unref);
    grun_message_port_invalidate(port);
    grun_message_port_unref(port);

    port = grun_message_port_new(NAME, keep, &inbox, let_go_of_inbox, &error);
    g_assert_no_error(error);
    g_assert_true(grun_loop_add_message_port(loop, port, MODE, &error));
    g_autoptr(GRunRemoteMessagePort) silent = look_up();
    started = (Started){.inbox = &inbox};
    g_assert_cmpuint(start(silent, 1, 0.02, &started, NULL), !=, 0);
    wait_for_error(&started, GRUN_MESSAGE_REQUEST_ERROR_RECEIVE_TIMEOUT);
    // The request leaves nothing in the mode, so the mode is empty.
    g_clear_pointer(&inbox.last, grun_message_unref);
    grun_loop_remove_message_port(loop, port, MODE);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 0, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_true(grun_loop_add_message_port(loop, port, MODE, &error));
    started = (Started){.inbox = &inbox};
    number = start(silent, 1, 1000, &started, NULL);
    // After the first look, the loop looks at the request again only after an event.
    while (grun_loop_run_in_mode(loop, MODE, 0.02, TRUE) == GRUN_RESULT_HANDLED_SOURCE)
        continue;
    g_assert_true(grun_remote_message_port_cancel_request(silent, number));
    g_assert_false(grun_remote_message_port_cancel_request(silent, number));
    g_assert_false(grun_remote_message_port_cancel_request(silent, 0));
    wait_for_error(&started, GRUN_MESSAGE_REQUEST_ERROR_CANCELLED);
    check_start_on_ended_loop(&inbox, silent);
    started = (Started){.inbox = &inbox};
    g_assert_cmpuint(start(silent, 1, 1000, &started, NULL), !=, 0);
    grun_message_port_invalidate(port);
    grun_message_port_unref(port);
    wait_for_error(&started, GRUN_MESSAGE_REQUEST_ERROR_BECAME_INVALID);

    started = (Started){.inbox = &inbox};
    g_assert_cmpuint(start(silent, 1, 1000, &started, &error), ==, 0);
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_IS_INVALID);
    g_assert_cmpuint(started.calls, ==, 0);
    g_assert_cmpuint(started.lets_go, ==, 1);
    // The requests leave nothing in the mode.
    g_clear_pointer(&inbox.last, grun_message_unref);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 0, FALSE), ==, GRUN_RESULT_FINISHED);
    clear(&inbox);
}

static void check_full_queue(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GRunMessagePort) port = new_port(&inbox, MODE);
    g_autoptr(GRunRemoteMessagePort) remote = look_up();
    g_autoptr(GError) error = NULL;
    // Nothing receives, so the queue fills up. The sender waits no longer than its limit.
    guint sent = 0;
    while (grun_remote_message_port_send(remote, (gint32)sent, NULL, NULL, 0, 0, NULL, &error))
        sent++;
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT);
    g_clear_error(&error);
    g_assert_cmpuint(sent, >, 0);
    gint64 start = g_get_monotonic_time();
    g_assert_false(grun_remote_message_port_send(remote, 0, NULL, NULL, 0, 0.003, NULL, &error));
    g_assert_error(error, GRUN_MESSAGE_REQUEST_ERROR, GRUN_MESSAGE_REQUEST_ERROR_SEND_TIMEOUT);
    g_clear_error(&error);
    g_assert_cmpint(g_get_monotonic_time() - start, >=, 3000);
    // A sender that runs the loop makes room.
    g_assert_true(grun_remote_message_port_send(remote, 0, NULL, NULL, 0, 10, MODE, &error));
    g_assert_no_error(error);
    while (inbox.count.calls < sent + 1)
        grun_loop_run_in_mode(loop, MODE, 10, TRUE);
    g_assert_cmpuint(inbox.count.calls, ==, sent + 1);
    grun_message_port_invalidate(port);
    clear(&inbox);
}

// The boxed types: a copy is another reference.
static void check_boxes(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GRunMessagePort) port = new_port(&inbox, MODE);
    g_autoptr(GRunRemoteMessagePort) remote = look_up();
    g_autoptr(GRunMessage) reply = ask(remote, 1, NULL, NULL);
    const struct {
        GType type;
        const char *name;
        gpointer object;
    } boxes[] = {
        {grun_message_port_get_type(), "GRunMessagePort", port},
        {grun_remote_message_port_get_type(), "GRunRemoteMessagePort", remote},
        {grun_message_get_type(), "GRunMessage", reply},
    };
    for (guint index = 0; index < G_N_ELEMENTS(boxes); index++) {
        g_assert_cmpstr(g_type_name(boxes[index].type), ==, boxes[index].name);
        g_assert_true(g_boxed_copy(boxes[index].type, boxes[index].object) == boxes[index].object);
        g_boxed_free(boxes[index].type, boxes[index].object);
    }
    g_autoptr(GEnumClass) errors = g_type_class_ref(grun_message_request_error_get_type());
    const GEnumValue *value = g_enum_get_value(errors, GRUN_MESSAGE_REQUEST_ERROR_UNANSWERED);
    g_assert_cmpint(value->value, ==, -6);
    g_assert_cmpstr(value->value_nick, ==, "unanswered");
    g_assert_cmpstr(g_quark_to_string(grun_message_request_error_quark()), ==, "grun-message-request-error-quark");
    grun_message_port_invalidate(port);
    clear(&inbox);
}

void check_message_port(void)
{
    check_boxes();
    check_asking();
    check_names();
    check_answering_later();
    check_starting();
    check_full_queue();
}
