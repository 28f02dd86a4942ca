// Peer: the minimum of any loop on GLib. A run acquires its context and makes it the thread's default context. A wait
// is GLib's prepare, query and check of a context with one source, with one poll between them. A wake-up is
// g_main_context_wakeup(). A post is one function under a mutex: no modes, no timers, no observers, no nesting, no
// stop.
#define PEER "bound"
#include "bench.h"
#include <glib.h>

typedef struct {
    GMainContext *ctx;
    pthread_mutex_t m;
    void (*fn)(void);
} side;

static side A, B;
static long N, count_;
static volatile int over;

static gboolean no(GSource *s, gint *timeout)
{
    *timeout = -1;
    return FALSE;
}

static gboolean unchecked(GSource *s)
{
    return FALSE;
}

static gboolean keep(GSource *s, GSourceFunc f, gpointer d)
{
    return TRUE;
}

static GSourceFuncs hub = {no, unchecked, keep, NULL};

static void init(side *x)
{
    x->ctx = g_main_context_new();
    pthread_mutex_init(&x->m, NULL);
    GSource *s = g_source_new(&hub, sizeof(GSource));
    g_source_set_can_recurse(s, TRUE);
    g_source_attach(s, x->ctx);
}

static void begin(side *x)
{
    if (!g_main_context_acquire(x->ctx))
        die("acquire");
    g_main_context_push_thread_default(x->ctx);
}

static void end(side *x)
{
    g_main_context_pop_thread_default(x->ctx);
    g_main_context_release(x->ctx);
}

// The deadline is in nanoseconds from now; negative means none.
static void wait_for(side *x, int64_t span)
{
    GPollFD fds[32];
    gint priority, timeout;
    g_main_context_prepare(x->ctx, &priority);
    int n = g_main_context_query(x->ctx, priority, &timeout, fds, 32);
    struct timespec ts = {span / 1000000000, span % 1000000000};
    if (span > 0)
        ppoll((struct pollfd *)fds, n, &ts, NULL);
    else
        poll((struct pollfd *)fds, n, span < 0 ? -1 : 0);
    g_main_context_check(x->ctx, priority, fds, n);
}

static void post(side *x, void (*fn)(void))
{
    pthread_mutex_lock(&x->m);
    x->fn = fn;
    pthread_mutex_unlock(&x->m);
    g_main_context_wakeup(x->ctx);
}

static void serve(side *x)
{
    wait_for(x, -1);
    pthread_mutex_lock(&x->m);
    void (*fn)(void) = x->fn;
    x->fn = NULL;
    pthread_mutex_unlock(&x->m);
    if (fn)
        fn();
}

static void ball_b(void);

static void ball_a(void)
{
    if (++count_ >= N)
        over = 1;
    post(&B, ball_b);
}

static void ball_b(void)
{
    if (!over)
        post(&A, ball_a);
}

static void *bthread(void *a)
{
    pin_side(1);
    begin(&B);
    while (!over)
        serve(&B);
    end(&B);
    return NULL;
}

static int64_t *lat;
static volatile int64_t stamp;
static volatile long seen;

static void lat_fn(void)
{
    lat[seen] = now_ns() - stamp;
    seen++;
}

static void *lat_thread(void *a)
{
    pin_side(1);
    for (long i = 0; i < N; i++) {
        usleep(1000);
        stamp = now_ns();
        post(&A, lat_fn);
        note_posted(i, seen != i);
        while (seen == i)
            usleep(50);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pin_side(0);
    const char *CASE = argv[1];
    N = atol(argv[2]);
    init(&A);
    init(&B);
    pthread_t t;
#define IS(x) (!strcmp(CASE, x))
    if (IS("run-nowait")) {
        int64_t t0 = now_ns();
        for (long i = 0; i < N; i++) {
            begin(&A);
            wait_for(&A, 0);
            end(&A);
        }
        report(CASE, N, (double)(now_ns() - t0) / N, "acquire,prepare,query,poll,check,release");
    } else if (IS("pingpong")) {
        pthread_create(&t, NULL, bthread, NULL);
        usleep(20000);
        begin(&A);
        int64_t t0 = now_ns();
        post(&B, ball_b);
        while (!over)
            serve(&A);
        report(CASE, N, (double)(now_ns() - t0) / N, NULL);
        end(&A);
        pthread_join(t, NULL);
    } else if (IS("wake-latency")) {
        lat = calloc(N, 8);
        pthread_create(&t, NULL, lat_thread, NULL);
        begin(&A);
        while (seen < N)
            serve(&A);
        end(&A);
        pthread_join(t, NULL);
        report_latencies(CASE, N, lat);
    } else if (IS("idle-wakeups")) {
        begin(&A);
        int64_t next = now_ns();
        do {
            next += 1000000000;
            int64_t left;
            while ((left = next - now_ns()) > 0)
                wait_for(&A, left);
        } while (!idle_tick(N));
        report(CASE, N, idle_ns(N), "cpu_ns_per_tick");
        end(&A);
    } else {
        report_skip(CASE, N, "unsupported");
        return 3;
    }
    return 0;
}
