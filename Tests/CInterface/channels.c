// SPDX-License-Identifier: Apache-2.0
// grun-channel.h: each sent message arrives once and in order, or is returned to the sender.

#include "check.h"

#include <string.h>

// Messages are numbers. The strings hold the received digits and the returned ones.
static GString *came;
static GMutex mutex;
static guint64 lost;

static void lose(gpointer message)
{
    g_mutex_lock(&mutex);
    lost += GPOINTER_TO_UINT(message);
    g_mutex_unlock(&mutex);
}

static void note(gpointer message, gpointer count)
{
    ((Count *)count)->calls++;
    g_string_append_printf(came, "%u ", GPOINTER_TO_UINT(message));
}

typedef struct {
    Count count;
    GRunChannel *channel;
    guint closes_at;
} Closing;

static void close_there(gpointer message, gpointer closing)
{
    Closing *self = closing;
    note(message, &self->count);
    if (GPOINTER_TO_UINT(message) == self->closes_at)
        grun_channel_invalidate(self->channel);
    if (GPOINTER_TO_UINT(message) == 1)
        g_assert_cmpint(grun_channel_send(self->channel, GUINT_TO_POINTER(100)), ==, GRUN_SEND_RESULT_ENQUEUED);
}

static GRunSendResult send_number(GRunChannel *channel, guint number)
{
    return grun_channel_send(channel, GUINT_TO_POINTER(number));
}

static void check_delivery(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop);
    GRunChannel *channel = grun_channel_new(3, lose);
    g_assert_cmpint(grun_channel_get_capacity(channel), ==, 3);
    g_assert_true(grun_channel_is_open(channel));
    for (guint number = 1; number <= 3; number++)
        g_assert_cmpint(send_number(channel, number), ==, GRUN_SEND_RESULT_ENQUEUED);
    g_assert_cmpint(send_number(channel, 4), ==, GRUN_SEND_RESULT_FULL);
    g_assert_cmpint(grun_channel_get_count(channel), ==, 3);

    grun_channel_receive(channel, loop, MODE, note, &count, let_go);
    g_assert_true(grun_loop_contains_channel(loop, channel, MODE));
    pass(loop);
    g_assert_cmpstr(came->str, ==, "1 2 3 ");
    g_assert_cmpint(grun_channel_get_count(channel), ==, 0);

    // The channel is in another mode, and then in no mode.
    grun_loop_add_channel(loop, channel, "other");
    grun_loop_remove_channel(loop, channel, MODE);
    g_assert_false(grun_loop_contains_channel(loop, channel, MODE));
    send_number(channel, 5);
    pass(loop);
    g_assert_cmpuint(count.calls, ==, 3);
    grun_loop_run_in_mode(loop, "other", 0, FALSE);
    g_assert_cmpuint(count.calls, ==, 4);

    g_assert_true(grun_channel_ref(channel) == channel);
    grun_channel_unref(channel);
    send_number(channel, 6);
    grun_channel_close(channel);
    g_assert_cmpint(send_number(channel, 7), ==, GRUN_SEND_RESULT_CLOSED);
    g_assert_cmpint(grun_loop_run_in_mode(loop, "other", 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpstr(came->str, ==, "1 2 3 5 6 ");
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_assert_false(grun_channel_is_open(channel));
    grun_channel_unref(channel);
    g_assert_cmpuint(lost, ==, 0);
}

static void check_closing(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_string_truncate(came, 0);
    Closing closing = {.count = count_of(loop), .closes_at = 2, .channel = grun_channel_new(G_MAXINT64, lose)};
    grun_channel_receive(closing.channel, loop, MODE, close_there, &closing, NULL);
    for (guint number = 1; number <= 4; number++)
        send_number(closing.channel, number);
    pass(loop);
    g_assert_cmpstr(came->str, ==, "1 2 ");
    g_assert_cmpuint(lost, ==, 3 + 4 + 100);
    grun_channel_unref(closing.channel);

    // Releasing the last reference invalidates a channel without a receiver, and closes a channel with one.
    lost = 0;
    GRunChannel *unused = grun_channel_new(-1, lose);
    send_number(unused, 8);
    g_assert_cmpint(send_number(unused, 8), ==, GRUN_SEND_RESULT_FULL);
    grun_channel_unref(unused);
    g_assert_cmpuint(lost, ==, 8);
    Count count = count_of(loop);
    GRunChannel *last = grun_channel_new(10, NULL);
    grun_channel_receive(last, loop, MODE, note, &count, let_go);
    send_number(last, 9);
    grun_channel_unref(last);
    g_assert_cmpint(grun_loop_run_in_mode(loop, MODE, 60, FALSE), ==, GRUN_RESULT_FINISHED);
    g_assert_cmpuint(count.calls, ==, 1);
    g_assert_cmpuint(count.lets_go, ==, 1);
}

enum { PRODUCERS = 4, EACH = 5000 };
static guint64 sum;
static guint left;

static void add_up(gpointer message, gpointer loop)
{
    sum += GPOINTER_TO_UINT(message);
    if (--left == 0)
        grun_loop_stop(loop);
}

static gpointer produce(gpointer channel)
{
    for (guint number = 1; number <= EACH; number++)
        while (send_number(channel, number) == GRUN_SEND_RESULT_FULL)
            g_thread_yield();
    return NULL;
}

static void check_producers(void)
{
    GRunLoop *loop = grun_loop_get_current();
    g_autoptr(GRunChannel) channel = grun_channel_new(64, NULL);
    sum = 0;
    left = PRODUCERS * EACH;
    grun_channel_receive(channel, loop, GRUN_MODE_COMMON, add_up, loop, NULL);
    GThread *threads[PRODUCERS];
    for (guint index = 0; index < PRODUCERS; index++)
        threads[index] = g_thread_new("producer", produce, channel);
    g_assert_cmpint(grun_loop_run_in_mode(loop, GRUN_MODE_DEFAULT, 60, FALSE), ==, GRUN_RESULT_STOPPED);
    for (guint index = 0; index < PRODUCERS; index++)
        g_thread_join(threads[index]);
    g_assert_cmpuint(sum, ==, (guint64)PRODUCERS * EACH * (EACH + 1) / 2);
    grun_channel_invalidate(channel);
}

static void note_value(GValue *value, gpointer count)
{
    ((Count *)count)->calls++;
    if (G_VALUE_HOLDS_POINTER(value))
        g_string_append_printf(came, "pointer %u, ", GPOINTER_TO_UINT(g_value_get_pointer(value)));
    else
        g_string_append_printf(came, "%s %s, ", G_VALUE_TYPE_NAME(value), g_value_get_string(value));
}

// The values that grun_channel_receive() takes are pointers to copies.
static void note_copy(gpointer message, gpointer count)
{
    note_value(message, count);
    g_boxed_free(G_TYPE_VALUE, message);
}

static void lose_copy(gpointer message)
{
    lost += strlen(g_value_get_string(message));
    g_boxed_free(G_TYPE_VALUE, message);
}

static GRunSendResult send_text(GRunChannel *channel, const char *text)
{
    g_auto(GValue) value = G_VALUE_INIT;
    g_value_set_string(g_value_init(&value, G_TYPE_STRING), text);
    return grun_channel_send_value(channel, &value);
}

static void check_values(void)
{
    GRunLoop *loop = grun_loop_get_current();
    Count count = count_of(loop), undelivered = count_of(loop);
    g_string_truncate(came, 0);
    GRunChannel *channel = grun_channel_new_for_values(2, note_value, &undelivered, let_go);
    g_assert_cmpint(send_text(channel, "one"), ==, GRUN_SEND_RESULT_ENQUEUED);
    g_assert_cmpint(send_number(channel, 2), ==, GRUN_SEND_RESULT_ENQUEUED);
    g_assert_cmpint(send_text(channel, "three"), ==, GRUN_SEND_RESULT_FULL);
    grun_channel_receive_values(channel, loop, MODE, note_value, &count, let_go);
    pass(loop);
    g_assert_cmpstr(came->str, ==, "gchararray one, pointer 2, ");
    g_assert_cmpuint(count.calls, ==, 2);

    // The function for undelivered messages gets values as well.
    send_text(channel, "four");
    send_number(channel, 5);
    grun_channel_invalidate(channel);
    g_assert_cmpstr(came->str, ==, "gchararray one, pointer 2, gchararray four, pointer 5, ");
    g_assert_cmpuint(count.lets_go, ==, 1);
    g_assert_cmpuint(undelivered.calls, ==, 2);
    g_assert_cmpint(send_text(channel, "six"), ==, GRUN_SEND_RESULT_CLOSED);
    g_assert_cmpuint(undelivered.lets_go, ==, 0);
    grun_channel_unref(channel);
    g_assert_cmpuint(undelivered.lets_go, ==, 1);

    // Nothing receives these values. Valgrind checks that they are freed.
    channel = grun_channel_new_for_values(G_MAXINT64, NULL, NULL, NULL);
    send_text(channel, "seven");
    grun_channel_unref(channel);
    channel = grun_channel_new(1, NULL);
    send_text(channel, "eight");
    grun_channel_unref(channel);

    // A receiver that takes pointers owns the value.
    lost = 0;
    g_string_truncate(came, 0);
    channel = grun_channel_new(2, lose_copy);
    grun_channel_receive(channel, loop, MODE, note_copy, &count, NULL);
    send_text(channel, "nine");
    pass(loop);
    g_assert_cmpstr(came->str, ==, "gchararray nine, ");
    send_text(channel, "eleven");
    grun_channel_invalidate(channel);
    g_assert_cmpuint(lost, ==, 6);
    grun_channel_unref(channel);
}

void check_channel(void)
{
    came = g_string_new(NULL);
    check_delivery();
    check_closing();
    check_values();
    check_producers();
    g_string_free(came, TRUE);
}
