// SPDX-License-Identifier: Apache-2.0
// usage: ring-glib loops N, ring-uv loops N: N threads in a ring. Each has a loop that sleeps until the previous one
// wakes it.
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

static void wake(loop *l)
{
    GSource *s = g_idle_source_new();
    g_source_set_priority(s, G_PRIORITY_DEFAULT);
    g_source_set_callback(s, pass, l, NULL);
    g_source_attach(s, l->context);
    g_source_unref(s);
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
    loops = calloc(n, sizeof *loops);
    pthread_barrier_init(&started, NULL, n + 1);
    for (long i = 0; i < n; i++) {
        loops[i].next = &loops[(i + 1) % n];
        pthread_create(&loops[i].thread, NULL, run, &loops[i]);
    }
    pthread_barrier_wait(&started);
    int64_t begin = now_ns();
    wake(&loops[0]);
    ev_get(done);
    int64_t end = now_ns();
    over = 1;
    for (long i = 0; i < n; i++) {
        wake(&loops[i]);
        pthread_join(loops[i].thread, NULL);
    }
    report("loops", n, (double)(end - begin) / HOPS, "hops:%d", HOPS);
    return 0;
}
