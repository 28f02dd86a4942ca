// SPDX-License-Identifier: Apache-2.0
// usage: ring-glib loops N, ring-uv loops N: N threads in a ring. Each has a loop that sleeps until the previous one
// wakes it. ring-glib loops-cross N: as many callbacks as loops. Each callback goes from loop to loop by a stride of
// its own.
#ifdef USE_UV
#define PEER "libuv"
#include <uv.h>
#else
#define PEER "GLib"
#include <glib.h>
#endif
#include "bench.h"

enum { HOPS = 20000 };

typedef struct loop {
    struct loop *next;
    pthread_t thread;
#ifdef USE_UV
    uv_loop_t loop;
    uv_async_t async;
#else
    GMainContext *context;
#endif
} loop;

static loop *loops;
static long n, left = HOPS;
static volatile int over;
static pthread_barrier_t started;
static int done;

#ifdef USE_UV
static void pass(uv_async_t *async)
{
    loop *own = async->data;
    if (over) {
        uv_close((uv_handle_t *)async, NULL);
        return;
    }
    if (--left > 0)
        uv_async_send(&own->next->async);
    else
        ev_put(done);
}

static void *run(void *data)
{
    loop *own = data;
    uv_loop_init(&own->loop);
    uv_async_init(&own->loop, &own->async, pass);
    own->async.data = own;
    pthread_barrier_wait(&started);
    uv_run(&own->loop, UV_RUN_DEFAULT);
    return NULL;
}

static void wake(loop *l)
{
    uv_async_send(&l->async);
}
#else
static gboolean pass(gpointer data);

static void attach(loop *l, GSourceFunc function, gpointer data)
{
    GSource *s = g_idle_source_new();
    g_source_set_priority(s, G_PRIORITY_DEFAULT);
    g_source_set_callback(s, function, data, NULL);
    g_source_attach(s, l->context);
    g_source_unref(s);
}

static void wake(loop *l)
{
    attach(l, pass, l);
}

struct ball {
    long stride, at, left;
};
static gint running;

static gboolean cross(gpointer data)
{
    struct ball *ball = data;
    if (ball->left-- > 0) {
        ball->at = (ball->at + ball->stride) % n;
        attach(&loops[ball->at], cross, ball);
    } else if (g_atomic_int_dec_and_test(&running))
        ev_put(done);
    return G_SOURCE_REMOVE;
}

static long cross_all(void)
{
    long hops = HOPS / n > 0 ? HOPS / n : 1;
    running = n;
    for (long i = 0; i < n; i++) {
        struct ball *ball = malloc(sizeof *ball);
        *ball = (struct ball){1 + i % (n > 1 ? n - 1 : 1), i, hops};
        attach(&loops[i], cross, ball);
    }
    return n * (hops + 1);
}

static gboolean pass(gpointer data)
{
    loop *own = data;
    if (over)
        return G_SOURCE_REMOVE;
    if (--left > 0)
        wake(own->next);
    else
        ev_put(done);
    return G_SOURCE_REMOVE;
}

static void *run(void *data)
{
    loop *own = data;
    own->context = g_main_context_new();
    g_main_context_acquire(own->context);
    pthread_barrier_wait(&started);
    while (!over)
        g_main_context_iteration(own->context, TRUE);
    return NULL;
}
#endif

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    n = atol(argv[2]);
    raise_nofile();
    done = eventfd(0, 0);
    long before = rss_bytes(), hops = HOPS;
    loops = calloc(n, sizeof *loops);
    pthread_barrier_init(&started, NULL, n + 1);
    for (long i = 0; i < n; i++) {
        loops[i].next = &loops[(i + 1) % n];
        pthread_create(&loops[i].thread, NULL, run, &loops[i]);
    }
    pthread_barrier_wait(&started);
    int64_t begin = now_ns();
    if (!strcmp(argv[1], "loops"))
        wake(&loops[0]);
#ifndef USE_UV
    else if (!strcmp(argv[1], "loops-cross"))
        hops = cross_all();
#endif
    else
        return 2;
    ev_get(done);
    int64_t end = now_ns();
    long bytes = (rss_bytes() - before) / n;
    over = 1;
    for (long i = 0; i < n; i++) {
        wake(&loops[i]);
        pthread_join(loops[i].thread, NULL);
    }
    report(argv[1], n, (double)(end - begin) / hops, "bytes:%ld", bytes);
    return 0;
}
