// The common code of the cases that all peers have, in C and in C++.
#pragma once
#include "bench.h"

// The functions that a peer provides. It runs its loop, stops it, and makes one pass without waiting. It posts a
// function that counts one, from the loop's thread and from another thread, and a function that notes the latency.
static void run(void);
static void stop(void);
static void look(void);
static void post(void);
static void post_remote(void);
static void wake(void);
// Watches a descriptor. When it is ready, the peer calls passed_on() or served(), or does nothing. If the peer's loop
// reads the byte, the peer calls pass_on() or serve() instead.
enum { SERVED = -1, IDLE = -2 };
static void watch(int fd, long place_or_role);
// Makes the loop take up new watches, if it does that only when it looks.
#ifndef TAKEN_UP
#define TAKEN_UP
#endif

static const char *CASE;
static long N, count_;
static int64_t t0, t1, t2, c0;
static long r0, r1, h0, h1;
static tax_t tax;
static int taxmode;

#define IS(x) (!strcmp(CASE, x))

static inline void begin(int argc, char **argv)
{
    if (argc < 3)
        exit(2);
    pin_side(0);
    CASE = argv[1];
    N = atol(argv[2]);
    raise_nofile();
}

static inline double each(int64_t from, int64_t to)
{
    return (double)(to - from) / N;
}

// Called in a callback: counts one. At the last count, stops the loop and returns true.
static inline int counted(void)
{
    if (++count_ < N)
        return 0;
    stop();
    return 1;
}

// As counted(), or a measured step of a pass.
static inline int stepped(void)
{
    if (!taxmode)
        return counted();
    if (!tax_step(&tax))
        return 0;
    stop();
    return 1;
}

static inline void run_local(const char *note)
{
    t0 = now_ns();
    run();
    report(CASE, N, each(t0, now_ns()), note);
}

static inline void run_passes(void)
{
    taxmode = 1;
    tax_begin(&tax, N);
    run();
    report(CASE, N, tax_ns(&tax), "passes:%ld", tax.ops);
}

static inline void run_burst(void)
{
    t0 = now_ns();
    for (long i = 0; i < N; i++)
        post();
    t1 = now_ns();
    run();
    t2 = now_ns();
    report(CASE, N, each(t0, t2), "enq:%.1f,drain:%.1f", each(t0, t1), each(t1, t2));
}

// Starts another thread, which posts or plays, and joins it.
static inline void begin_both(void)
{
    t0 = now_ns();
    c0 = cpu_ns();
}

static inline void end_both(pthread_t other)
{
    int64_t c1;
    t1 = now_ns();
    c1 = cpu_ns();
    pthread_join(other, NULL);
    report(CASE, N, each(t0, t1), "cpu_ns:%.1f", each(c0, c1));
}

static void *poster(void *a)
{
    (void)a;
    pin_side(1);
    for (long i = 0; i < N; i++)
        post_remote();
    return NULL;
}

static inline void run_remote(void)
{
    pthread_t other;
    begin_both();
    pthread_create(&other, NULL, poster, NULL);
    run();
    end_both(other);
}

static inline pthread_t begin_playing(void *(*player)(void *))
{
    pthread_t other;
    pthread_create(&other, NULL, player, NULL);
    usleep(20000);
    begin_both();
    return other;
}

// wake-latency
static int64_t *lat;
static volatile int64_t stamp;
static volatile long seen;

static inline void noted(void)
{
    lat[seen] = now_ns() - stamp;
    if (++seen >= N)
        stop();
}

static void *lat_thread(void *a)
{
    (void)a;
    pin_side(1);
    for (long i = 0; i < N; i++) {
        usleep(1000);
        stamp = now_ns();
        wake();
        note_posted(i, seen != i);
        while (seen == i)
            usleep(50);
    }
    return NULL;
}

static inline void run_latencies(void)
{
    pthread_t other;
    lat = (int64_t *)calloc(N, 8);
    pthread_create(&other, NULL, lat_thread, NULL);
    run();
    pthread_join(other, NULL);
    report_latencies(CASE, N, lat);
}

// timers-create, and memory
static inline void begin_adding(void)
{
    r0 = rss_bytes();
    h0 = heap_bytes();
    t0 = now_ns();
}

static inline void end_adding(void)
{
    t1 = now_ns();
    r1 = rss_bytes();
    h1 = heap_bytes();
    look();
    t2 = now_ns();
}

// Cancels what was added.
static inline void end_cancelling(const char *note)
{
    int64_t t3 = now_ns();
    if (IS("timers-create")) {
        report("timers-create-add", N, each(t0, t1), NULL);
        report("timers-create-cancel", N, each(t2, t3), note);
    } else
        report(CASE, N, each(h0, h1), "bytes_heap:%.1f,bytes_rss:%.1f", each(h0, h1), each(r0, r1));
}

// timers-fire
static int64_t *dl, *late, first_;

static inline void draw_deadlines(long setup_ns)
{
    dl = (int64_t *)malloc(N * 8);
    late = (int64_t *)malloc(N * 8);
    first_ = now_ns() + 100000000 + N * setup_ns;
    for (long i = 0; i < N; i++)
        dl[i] = first_ + rng() % FIRE_SPREAD_NS;
}

static inline void fired(int64_t deadline)
{
    late[count_] = now_ns() - deadline;
    counted();
}

static inline void run_deadlines(void)
{
    int64_t slack = first_ - now_ns();
    c0 = cpu_ns();
    run();
    report_lateness(CASE, N, cpu_ns() - c0, late, slack);
}

// idle-wakeups, with a timer a second, and run-nowait, with one far away
static inline void ticked(void)
{
    if (idle_tick(N))
        stop();
}

static inline void run_ticks(const char *look_note)
{
    if (IS("idle-wakeups")) {
        run();
        report(CASE, N, idle_ns(N), "cpu_ns_per_tick");
        return;
    }
    t0 = now_ns();
    for (long i = 0; i < N; i++)
        look();
    report(CASE, N, each(t0, now_ns()), look_note);
}

// Descriptors: a ring of pipes
static int (*pp)[2];
static int np;

// Called after the peer has read the byte.
static inline void pass_on(long i)
{
    if (!counted())
        put1(pp[(i + 1) % np][1]);
}

static inline void serve(void)
{
    if (tax_step(&tax))
        stop();
    else
        put1(pp[0][1]);
}

static inline void passed_on(long i)
{
    get1(pp[i][0]);
    pass_on(i);
}

static inline void served(void)
{
    get1(pp[0][0]);
    serve();
}

static void run_served(void)
{
    np = 1;
    pp = (int(*)[2])calloc(1, sizeof *pp);
    for (long i = 0; i < N; i++)
        watch(mk_eventfd(), IDLE);
    mk_pipe(pp[0]);
    watch(pp[0][0], SERVED);
    TAKEN_UP;
    put1(pp[0][1]);
    tax_begin(&tax, N);
    run();
    report(CASE, N, tax_ns(&tax), "events:%ld", tax.ops);
}

static void run_ring(int tokens)
{
    np = 100;
    pp = (int(*)[2])calloc(np, sizeof *pp);
    for (long i = 0; i < np; i++) {
        mk_pipe(pp[i]);
        watch(pp[i][0], i);
    }
    for (int i = 0; i < tokens; i++)
        put1(pp[i][1]);
    t0 = now_ns();
    run();
    report(CASE, N, each(t0, now_ns()), "tokens:%d", tokens);
}

static void add_descriptors(void)
{
    int *f = (int *)malloc(N * 4);
    for (long i = 0; i < N; i++)
        f[i] = mk_eventfd();
    begin_adding();
    for (long i = 0; i < N; i++)
        watch(f[i], IDLE);
    TAKEN_UP;
    end_adding();
    report(CASE, N, each(h0, h1), "bytes_heap:%.1f,bytes_rss:%.1f,add_ns:%.0f", each(h0, h1), each(r0, r1),
        each(t0, t1));
}

// Runs the cases that need only the functions above. Returns the program's status.
static int run_rest(void)
{
    if (IS("post-burst"))
        run_burst();
    else if (IS("post-remote"))
        run_remote();
    else if (IS("wake-latency"))
        run_latencies();
    else if (IS("fds-idle-tax"))
        run_served();
    else if (IS("fds-active"))
        run_ring(100);
    else if (IS("fds-active-1"))
        run_ring(1);
    else if (IS("mem-fds"))
        add_descriptors();
    else {
        report_skip(CASE, N, "unsupported");
        return 3;
    }
    return 0;
}
