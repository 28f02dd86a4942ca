// SPDX-License-Identifier: Apache-2.0
// A producer on its own thread, and a source that consumes its products. The queue is a GAsyncQueue, and the source
// signals that the queue is not empty. Several signals cause one call, which takes everything from the queue.

#include <grun/grun.h>

typedef struct {
    GRunLoop *loop;
    GAsyncQueue *queue;
    GRunSource *source;
    guint received;
} Channel;

enum { ITEMS = 5 };

static void scheduled(GRunSource *source, GRunLoop *loop, const char *mode, gpointer user_data)
{
    (void)source;
    (void)loop;
    (void)user_data;
    g_print("the source is in mode %s\n", mode);
}

static void cancelled(GRunSource *source, GRunLoop *loop, const char *mode, gpointer user_data)
{
    (void)source;
    (void)loop;
    (void)user_data;
    g_print("the source has left mode %s\n", mode);
}

static gboolean take(GRunSource *source, gpointer user_data)
{
    (void)source;
    Channel *channel = user_data;
    char *item;
    while ((item = g_async_queue_try_pop(channel->queue)) != NULL) {
        g_print("received %s\n", item);
        g_free(item);
        channel->received++;
    }
    if (channel->received < ITEMS)
        return G_SOURCE_CONTINUE;
    grun_loop_stop(channel->loop);
    return G_SOURCE_REMOVE;
}

static gpointer produce(gpointer user_data)
{
    Channel *channel = user_data;
    for (guint i = 1; i <= ITEMS; i++) {
        g_async_queue_push(channel->queue, g_strdup_printf("item %u", i));
        // A signal does not wake the loop, so a program may signal several sources and wake the loop once.
        grun_source_signal(channel->source);
        grun_loop_wake_up(channel->loop);
    }
    return NULL;
}

int main(void)
{
    Channel channel = {.loop = grun_loop_get_current(), .queue = g_async_queue_new_full(g_free)};
    g_autoptr(GRunSource) source = grun_source_new_full(0, scheduled, cancelled, take, &channel, NULL);
    channel.source = source;
    grun_loop_add_source(channel.loop, source, GRUN_MODE_DEFAULT);

    GThread *producer = g_thread_new("producer", produce, &channel);
    GRunResult result = grun_loop_run_in_mode(channel.loop, GRUN_MODE_DEFAULT, 10, FALSE);
    g_thread_join(producer);
    g_async_queue_unref(channel.queue);
    g_print("%s\n", result == GRUN_RESULT_STOPPED ? "all is there" : "something is missing");
    return result == GRUN_RESULT_STOPPED ? 0 : 1;
}
