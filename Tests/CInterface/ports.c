// SPDX-License-Identifier: Apache-2.0
// grun-port.h: messages arrive in order with unchanged bytes, and each message is delivered once or freed.

#include "check.h"

// The ids of the messages that a port has received.
typedef struct {
    Count count;
    GString *came;
    GRunPortMessage *last;
    GRunPort *port;
} Inbox;

static Inbox inbox_of(GRunLoop *loop)
{
    return (Inbox){.count = count_of(loop), .came = g_string_new(NULL)};
}

static void clear(Inbox *inbox)
{
    g_string_free(inbox->came, TRUE);
    if (inbox->last != NULL)
        grun_port_message_unref(inbox->last);
}

static void note(GRunPortMessage *message, gpointer inbox)
{
    Inbox *self = inbox;
    g_autoptr(GRunPort) port = grun_port_message_get_receive_port(message);
    g_assert_true(port == self->port);
    g_assert_true(grun_loop_get_current() == self->count.loop);
    self->count.calls++;
    g_string_append_printf(self->came, "%u ", grun_port_message_get_id(message));
    if (self->last != NULL)
        grun_port_message_unref(self->last);
    self->last = grun_port_message_ref(message);
}

static void let_go_of_inbox(gpointer inbox) { ((Inbox *)inbox)->count.lets_go++; }

static gboolean send_number(GRunPort *port, guint32 number)
{
    g_autoptr(GRunPortMessage) message = grun_port_message_new(number);
    return grun_port_send(port, message);
}

static void check_delivery(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    GRunPort *port = inbox.port = grun_port_new(3, note, &inbox, let_go_of_inbox);
    g_assert_cmpint(grun_port_get_capacity(port), ==, 3);
    g_assert_true(grun_port_is_valid(port));
    g_autofree char *text = grun_port_to_string(port);
    g_assert_nonnull(strstr(text, "GRunLoop.Port"));
    for (guint32 number = 1; number <= 3; number++)
        g_assert_true(send_number(port, number));
    g_assert_false(send_number(port, 4));
    g_assert_cmpint(grun_port_get_count(port), ==, 3);

    // The port delivers one message per pass, in its modes.
    g_assert_false(grun_loop_contains_port(loop, port, MODE));
    grun_loop_add_port(loop, port, MODE);
    g_assert_true(grun_loop_contains_port(loop, port, MODE));
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 0, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpstr(inbox.came->str, ==, "1 ");
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0, TRUE), ==, GRUN_RESULT_FINISHED);
    grun_loop_remove_port(loop, port, MODE);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, TRUE), ==, GRUN_RESULT_FINISHED);
    grun_loop_add_port(loop, port, GRUN_MODE_COMMON);
    for (int passes = 0; passes < 2; passes++)
        g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpstr(inbox.came->str, ==, "1 2 3 ");
    // The port keeps the mode from being empty although no message arrives.
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 0.001, TRUE), ==, GRUN_RESULT_TIMED_OUT);

    g_assert_true(grun_port_ref(port) == port);
    grun_port_unref(port);
    grun_port_unref(port);
    // The loop and the message hold references to the port.
    g_assert_cmpuint(inbox.count.lets_go, ==, 0);
    grun_loop_remove_port(loop, port, GRUN_MODE_COMMON);
    g_assert_cmpuint(inbox.count.lets_go, ==, 0);
    clear(&inbox);
    g_assert_cmpuint(inbox.count.lets_go, ==, 1);
}

static void check_message(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GRunPort) port = inbox.port = grun_port_new(G_MAXINT64, note, &inbox, NULL);
    g_assert_cmpint(grun_port_get_capacity(port), ==, G_MAXINT64);
    g_autoptr(GRunPort) other = grun_port_new(1, NULL, NULL, NULL);
    g_autoptr(GRunPortMessage) message = grun_port_message_new(G_MAXUINT32);
    g_assert_true(grun_port_message_ref(message) == message);
    grun_port_message_unref(message);
    g_assert_null(grun_port_message_get_reply_port(message));
    g_assert_null(grun_port_message_get_receive_port(message));

    Count bytes_count = count_of(loop);
    static char content[] = "content";
    GBytes *bytes = g_bytes_new_with_free_func(content, sizeof content, let_go, &bytes_count);
    g_autoptr(GBytes) empty = g_bytes_new(NULL, 0);
    grun_port_message_add_bytes(message, bytes);
    g_bytes_unref(bytes);
    grun_port_message_add_port(message, other);
    grun_port_message_add_bytes(message, empty);
    grun_port_message_set_reply_port(message, port);
    grun_port_message_set_reply_port(message, NULL);
    g_assert_null(grun_port_message_get_reply_port(message));
    grun_port_message_set_reply_port(message, other);

    grun_loop_add_port(loop, port, MODE);
    g_assert_true(grun_port_send(port, message));
    // Bytes and ports that are added now are sent with the next message.
    grun_port_message_add_port(message, port);
    pass(loop);
    g_assert_true(inbox.last != message);
    g_assert_cmpuint(grun_port_message_get_id(inbox.last), ==, G_MAXUINT32);
    g_assert_cmpuint(grun_port_message_get_n_components(inbox.last), ==, 3);
    g_assert_cmpuint(grun_port_message_get_n_components(message), ==, 4);
    g_autoptr(GRunPort) reply = grun_port_message_get_reply_port(inbox.last);
    g_assert_true(reply == other);

    // The port receives the same GBytes that were sent.
    GBytes *received = grun_port_message_get_bytes(inbox.last, 0);
    g_assert_true(received == bytes && g_bytes_get_data(received, NULL) == content);
    g_bytes_unref(received);
    g_autoptr(GBytes) received_empty = grun_port_message_get_bytes(inbox.last, 2);
    g_assert_true(received_empty == empty);
    g_autoptr(GRunPort) component = grun_port_message_get_port(inbox.last, 1);
    g_assert_true(component == other);
    g_assert_null(grun_port_message_get_port(inbox.last, 0));
    g_assert_null(grun_port_message_get_bytes(inbox.last, 1));

    // The bytes are forwarded, and freed with the last message that holds them.
    g_assert_cmpint(bytes_count.lets_go, ==, 0);
    g_assert_true(grun_port_send(port, inbox.last));
    pass(loop);
    g_assert_cmpuint(inbox.count.calls, ==, 2);
    grun_port_message_unref(g_steal_pointer(&message));
    g_assert_cmpint(bytes_count.lets_go, ==, 0);
    clear(&inbox);
    g_assert_cmpint(bytes_count.lets_go, ==, 1);
    grun_port_invalidate(port);
}

static void send_on(GRunPortMessage *message, gpointer inbox)
{
    Inbox *self = inbox;
    self->count.calls++;
    // The queue has room for one message again, and no other thread waits for room.
    g_assert_true(grun_port_send_before(self->port, message, G_MAXINT64));
    g_assert_false(grun_port_send_before(self->port, message, G_MAXINT64));
    grun_port_invalidate(self->port);
    g_assert_false(grun_port_send(self->port, message));
}

// Gets NULL if the port is being freed, because no new reference can be taken then.
static void count_end(GRunPort *port, gpointer count)
{
    Count *self = count;
    self->calls++;
    self->item = port != NULL && !grun_port_is_valid(port) ? port : NULL;
}

static void check_invalidation(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    Count notices = count_of(loop), bytes_count = count_of(loop);
    GRunPort *port = inbox.port = grun_port_new(0, note, &inbox, let_go_of_inbox);
    grun_port_add_invalidation_func(port, count_end, &notices, let_go);
    GRunPortMessage *message = grun_port_message_new(1);
    GBytes *bytes = g_bytes_new_with_free_func("", 0, let_go, &bytes_count);
    grun_port_message_add_bytes(message, bytes);
    g_bytes_unref(bytes);
    g_assert_true(grun_port_send(port, message));
    grun_port_message_unref(message);
    grun_loop_add_port(loop, port, MODE);
    grun_port_invalidate(port);
    g_assert_true(notices.item == port);
    grun_port_invalidate(port);
    g_assert_false(grun_port_is_valid(port));
    g_assert_false(grun_loop_contains_port(loop, port, MODE));
    g_assert_cmpint(grun_port_get_count(port), ==, 0);
    g_assert_cmpuint(bytes_count.lets_go, ==, 1);
    g_assert_cmpuint(notices.calls, ==, 1);
    g_assert_cmpuint(notices.lets_go, ==, 1);
    g_assert_false(send_number(port, 2));
    grun_port_add_invalidation_func(port, count_end, &notices, let_go);
    g_assert_cmpuint(notices.calls, ==, 2);
    g_assert_cmpuint(notices.lets_go, ==, 2);
    grun_port_unref(port);
    g_assert_cmpuint(inbox.count.calls, ==, 0);
    g_assert_cmpuint(inbox.count.lets_go, ==, 1);

    // Releasing the last reference invalidates the port.
    port = grun_port_new(1, NULL, &inbox, let_go_of_inbox);
    grun_port_add_invalidation_func(port, count_end, &notices, NULL);
    grun_port_unref(port);
    g_assert_null(notices.item);
    g_assert_cmpuint(notices.calls, ==, 3);
    g_assert_cmpuint(inbox.count.lets_go, ==, 2);

    // In the port's own function, and on the port's thread, a send does not wait for room.
    g_autoptr(GRunPort) itself = inbox.port = grun_port_new(1, send_on, &inbox, NULL);
    grun_loop_add_port(loop, itself, MODE);
    send_number(itself, 1);
    g_assert_false(send_number(itself, 2));
    g_autoptr(GRunPortMessage) late = grun_port_message_new(3);
    g_assert_false(grun_port_send_before(itself, late, G_MAXINT64));
    grun_loop_run_in_mode(loop, MODE, 60, FALSE);
    g_assert_cmpuint(inbox.count.calls, ==, 1);
    clear(&inbox);
}

enum { PRODUCERS = 4, EACH = 2000 };

typedef struct {
    GRunLoop *loop;
    guint64 sum;
    guint left;
    guint next[PRODUCERS];
} Total;

static void add_up(GRunPortMessage *message, gpointer total)
{
    Total *self = total;
    guint32 id = grun_port_message_get_id(message);
    guint producer = id >> 16, number = id & 0xffff;
    g_assert_cmpuint(number, ==, ++self->next[producer]);
    self->sum += number;
    if (--self->left == 0)
        grun_loop_stop(self->loop);
}

typedef struct {
    GRunPort *port;
    guint producer;
} Producer;

static gpointer produce(gpointer producer)
{
    Producer *self = producer;
    for (guint number = 1; number <= EACH; number++) {
        g_autoptr(GRunPortMessage) message = grun_port_message_new(self->producer << 16 | number);
        g_assert_true(grun_port_send_before(self->port, message, G_MAXINT64));
    }
    return NULL;
}

static void check_producers(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Total total = {.loop = loop, .left = PRODUCERS * EACH};
    g_autoptr(GRunPort) port = grun_port_new(8, add_up, &total, NULL);
    grun_loop_add_port(loop, port, MODE);
    Producer producers[PRODUCERS];
    GThread *threads[PRODUCERS];
    for (guint index = 0; index < PRODUCERS; index++) {
        producers[index] = (Producer){port, index};
        threads[index] = g_thread_new("producer", produce, &producers[index]);
    }
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_STOPPED);
    for (guint index = 0; index < PRODUCERS; index++)
        g_thread_join(threads[index]);
    g_assert_cmpuint(total.sum, ==, (guint64)PRODUCERS * EACH * (EACH + 1) / 2);

    // Nothing makes room, so the send waits until the date.
    grun_port_invalidate(port);
    g_autoptr(GRunPort) full = grun_port_new(1, NULL, NULL, NULL);
    g_assert_true(send_number(full, 1));
    gint64 limit = g_get_monotonic_time() + 3000;
    g_autoptr(GRunPortMessage) message = grun_port_message_new(2);
    g_assert_false(grun_port_send_before(full, message, 0));
    g_assert_false(grun_port_send_before(full, message, G_MININT64));
    g_assert_false(grun_port_send_before(full, message, limit));
    g_assert_cmpint(g_get_monotonic_time(), >=, limit);
}

// The handshake: a worker sends its own port and gets the reply through that port.
static void answer(GRunPortMessage *message, gpointer loop)
{
    g_autoptr(GRunPort) worker = grun_port_message_get_reply_port(message);
    g_autoptr(GRunPortMessage) reply = grun_port_message_new(grun_port_message_get_id(message) + 1);
    g_assert_true(grun_port_send(worker, reply));
    grun_loop_stop(loop);
}

static gpointer check_in(gpointer port)
{
    GRunLoop *loop = grun_loop_get_current();
    Inbox inbox = inbox_of(loop);
    g_autoptr(GRunPort) own = inbox.port = grun_port_new(1, note, &inbox, NULL);
    grun_loop_add_port(loop, own, GRUN_MODE_DEFAULT);
    g_autoptr(GRunPortMessage) message = grun_port_message_new(100);
    grun_port_message_set_reply_port(message, own);
    g_assert_true(grun_port_send(port, message));
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, TRUE), ==, GRUN_RESULT_HANDLED_SOURCE);
    g_assert_cmpstr(inbox.came->str, ==, "101 ");
    clear(&inbox);
    return NULL;
}

static void check_handshake(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GRunPort) port = grun_port_new(G_MAXINT64, answer, loop, NULL);
    grun_loop_add_port(loop, port, GRUN_MODE_DEFAULT);
    GThread *worker = g_thread_new("worker", check_in, port);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, FALSE), ==, GRUN_RESULT_STOPPED);
    g_thread_join(worker);
    grun_port_invalidate(port);
}

void check_port(void)
{
    check_delivery();
    check_message();
    check_invalidation();
    check_producers();
    check_handshake();
}
