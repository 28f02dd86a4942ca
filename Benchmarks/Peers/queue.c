// Messages from threads to a loop through a hand-written queue: a malloc node, a mutex, a list, and the loop's wake-up.
// usage: queue-{uv,ev,glib} PRODUCERS N
// GLib's queue is GAsyncQueue, with an idle source if none is pending.
#if defined(USE_UV)
#define PEER "uv"
#elif defined(USE_EV)
#define PEER "ev"
#else
#define PEER "glib"
#endif
#include "bench.h"

#if defined(USE_UV)
#include <uv.h>
#elif defined(USE_EV)
#include <ev.h>
#else
#include <glib.h>
#endif

static long count_, each_, n_;
static uint64_t sum_;

#if defined(USE_UV) || defined(USE_EV)
static workq queue_;
static void stop(void);
static void receive(void *message)
{
    sum_ += (uintptr_t)message | 1;
    if (++count_ >= n_)
        stop();
}
#endif

#if defined(USE_UV)
static uv_loop_t loop_;
static uv_async_t async_;
static void stop(void) { uv_stop(&loop_); }
static void drain(uv_async_t *async)
{
    (void)async;
    q_drain(&queue_);
}
static void send_message(long i)
{
    q_push(&queue_, receive, (void *)i);
    uv_async_send(&async_);
}
static void open_loop(void)
{
    q_init(&queue_);
    uv_loop_init(&loop_);
    uv_async_init(&loop_, &async_, drain);
}
static void drive(void) { uv_run(&loop_, UV_RUN_DEFAULT); }
#elif defined(USE_EV)
static struct ev_loop *loop_;
static ev_async async_;
static void stop(void) { ev_break(loop_, EVBREAK_ALL); }
static void drain(struct ev_loop *loop, ev_async *async, int events)
{
    (void)loop, (void)async, (void)events;
    q_drain(&queue_);
}
static void send_message(long i)
{
    q_push(&queue_, receive, (void *)i);
    ev_async_send(loop_, &async_);
}
static void open_loop(void)
{
    q_init(&queue_);
    loop_ = ev_loop_new(EVFLAG_AUTO);
    ev_async_init(&async_, drain);
    ev_async_start(loop_, &async_);
}
static void drive(void) { ev_run(loop_, 0); }
#else
static GAsyncQueue *queue_;
static GMainLoop *loop_;
static gint scheduled_;
static gboolean drain(gpointer data)
{
    (void)data;
    g_atomic_int_set(&scheduled_, 0);
    for (void *message; (message = g_async_queue_try_pop(queue_));) {
        sum_ += (uintptr_t)message | 1;
        if (++count_ >= n_)
            g_main_loop_quit(loop_);
    }
    return G_SOURCE_REMOVE;
}
static void send_message(long i)
{
    g_async_queue_push(queue_, (void *)(i + 1));
    if (g_atomic_int_compare_and_exchange(&scheduled_, 0, 1))
        g_idle_add_full(G_PRIORITY_DEFAULT, drain, NULL, NULL);
}
static void open_loop(void)
{
    queue_ = g_async_queue_new();
    loop_ = g_main_loop_new(NULL, FALSE);
}
static void drive(void) { g_main_loop_run(loop_); }
#endif

static void *produce(void *unused)
{
    (void)unused;
    pin_side(1);
    for (long i = 0; i < each_; i++)
        send_message(i);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int producers = atoi(argv[1]);
    each_ = atol(argv[2]) / producers;
    n_ = each_ * producers;
    pin_side(0);
    open_loop();
    pthread_t threads[64];
    int64_t begin = now_ns(), cpu = cpu_ns();
    for (int i = 0; i < producers; i++)
        pthread_create(&threads[i], NULL, produce, NULL);
    drive();
    int64_t end = now_ns();
    double used = (double)(cpu_ns() - cpu) / n_;
    for (int i = 0; i < producers; i++)
        pthread_join(threads[i], NULL);
    char name[32];
    snprintf(name, sizeof name, "queue-%d", producers);
    report(name, n_, (double)(end - begin) / n_, "cpu_ns:%.1f", used);
    return 0;
}
