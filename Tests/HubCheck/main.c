// SPDX-License-Identifier: Apache-2.0
// The C side of the hub without a run loop, for valgrind: hubs, sentinels, records and carriers in every order of
// making, using and freeing them. scripts/hosted runs it.

#include <cgrun.h>
#include <glib.h>
#include <stdio.h>
#include <unistd.h>

/// Stands in for a run loop.
typedef struct {
    GSource *hub;
    unsigned prepared, checked, dispatched, idle, released;
    bool has_work;
    unsigned watched;
    void (*body)(void *loop);
} Loop;

static bool prepare(void *data, bool is_waiting, bool is_stale, unsigned *watched)
{
    (void)is_waiting;
    (void)is_stale;
    Loop *loop = data;
    loop->prepared++;
    *watched = loop->watched;
    return loop->has_work;
}

static bool check(void *data, bool is_waiting, bool has_slept, unsigned found)
{
    (void)is_waiting;
    Loop *loop = data;
    loop->checked++;
    return found != 0 || has_slept || loop->has_work;
}

static void dispatch(void *data)
{
    Loop *loop = data;
    loop->dispatched++;
    loop->has_work = false;
    cgrun_hub_set_waiting(loop->hub, false);
    void (*body)(void *) = loop->body;
    loop->body = NULL;
    if (body != NULL)
        body(loop);
    cgrun_hub_note_head(loop->hub);
}

static void idle(void *data, bool is_fresh)
{
    Loop *loop = data;
    loop->idle++;
    if (is_fresh)
        cgrun_hub_set_waiting(loop->hub, true);
    else
        cgrun_hub_note_head(loop->hub);
}

static void release(void *data)
{
    ((Loop *)data)->released++;
}

static const cgrun_hub_funcs funcs = {
    .prepare = prepare, .check = check, .dispatch = dispatch, .idle = idle, .release = release};

static void loop_init(Loop *loop, GMainContext *context)
{
    *loop = (Loop){.has_work = true};
    loop->hub = cgrun_hub_new(&funcs, loop, false);
    g_source_attach(loop->hub, context);
}

static void loop_end(Loop *loop)
{
    cgrun_hub_close(loop->hub);
    // The second time it does nothing.
    cgrun_hub_close(loop->hub);
    g_source_unref(loop->hub);
    g_assert_cmpuint(loop->released, ==, 1);
}

static void iterate(GMainContext *context, unsigned count)
{
    while (count-- > 0)
        g_main_context_iteration(context, FALSE);
}

static gboolean once(void *data)
{
    ++*(unsigned *)data;
    return G_SOURCE_REMOVE;
}

static void add_idle(GMainContext *context, GSourceFunc body, void *data)
{
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, body, data, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

static gboolean take_long(void *data)
{
    (void)data;
    g_usleep(2000);
    return G_SOURCE_REMOVE;
}

static void nested(void *data)
{
    Loop *loop = data;
    GMainContext *context = g_source_get_context(loop->hub);
    unsigned foreign = 0;
    add_idle(context, once, &foreign);
    loop->has_work = true;
    iterate(context, 10);
    g_assert_cmpuint(foreign, ==, 1);
    cgrun_hub_set_sentinels(loop->hub, false);
    iterate(context, 3);
    cgrun_hub_set_sentinels(loop->hub, true);
}

/// It steps back for so many iterations: three, or fewer that take as long as all of them may.
static void check_yield(Loop *loop, GMainContext *context, gint64 span, unsigned iterations)
{
    cgrun_hub_yield(loop->hub, 3, span);
    loop->has_work = true;
    unsigned before = loop->dispatched;
    iterate(context, iterations);
    g_assert_cmpuint(loop->dispatched, ==, before);
    iterate(context, 1);
    g_assert_cmpuint(loop->dispatched, ==, before + 1);
}

static void closing(void *data)
{
    Loop *loop = data;
    cgrun_hub_close(loop->hub);
}

/// Records, sentinels, yields, nesting, and the hub's end in its own dispatch.
static void check_hub(void)
{
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    for (int round = 0; round < 4; round++) {
        GMainContext *context = g_main_context_new();
        Loop loop;
        loop_init(&loop, context);
        cgrun_hub_set_sentinels(loop.hub, round % 2 == 0);
        cgrun_hub_set_record(loop.hub, 0, ends[0]);
        loop.watched = 1;
        iterate(context, 5);
        g_assert_cmpuint(loop.dispatched, >, 0);
        g_assert_cmpint(write(ends[1], "x", 1), ==, 1);
        unsigned before = loop.dispatched;
        iterate(context, 5);
        g_assert_cmpuint(loop.dispatched, >, before);
        char byte;
        g_assert_cmpint(read(ends[0], &byte, 1), ==, 1);
        loop.body = nested;
        loop.has_work = true;
        iterate(context, 5);
        check_yield(&loop, context, G_USEC_PER_SEC, 3);
        add_idle(context, take_long, NULL);
        check_yield(&loop, context, 1000, 1);
        before = loop.dispatched;
        cgrun_hub_set_dormant(loop.hub, true);
        loop.has_work = true;
        iterate(context, 3);
        g_assert_cmpuint(loop.dispatched, ==, before);
        cgrun_hub_set_dormant(loop.hub, false);
        cgrun_hub_set_record(loop.hub, 0, -1);
        loop.watched = 0;
        if (round == 2)
            loop.body = closing;
        loop.has_work = true;
        iterate(context, 3);
        // The host gives its context up before the loop ends, or after it.
        if (round == 3)
            g_main_context_unref(context);
        loop_end(&loop);
        if (round != 3)
            g_main_context_unref(context);
    }
    close(ends[0]);
    close(ends[1]);
}

static void *own_for_a_while(void *data)
{
    g_assert_true(g_main_context_acquire(data));
    g_usleep(20000);
    g_main_context_release(data);
    return NULL;
}

/// Further contexts: with descriptors, timeouts and idle work in them, owned by another thread for a while, freed
/// before their carrier.
static void check_carrier(void)
{
    GMainContext *home = g_main_context_new(), *further = g_main_context_new();
    Loop loop, canary;
    loop_init(&loop, home);
    loop.has_work = false;
    loop_init(&canary, further);
    canary.has_work = false;
    int ends[2];
    g_assert_cmpint(pipe(ends), ==, 0);
    GSource *carrier = cgrun_carrier_new(loop.hub, further, canary.hub);
    unsigned foreign = 0;
    for (int i = 0; i < 20; i++) {
        add_idle(further, once, &foreign);
        iterate(home, 2);
        g_assert_cmpuint(loop.dispatched, >, 0);
        iterate(further, 2);
    }
    g_assert_cmpuint(foreign, ==, 20);
    // More than the carrier has room for at first.
    static GPollFD records[20];
    for (int i = 0; i < 20; i++) {
        records[i] = (GPollFD){.fd = dup(ends[0]), .events = G_IO_IN};
        g_main_context_add_poll(further, &records[i], 0);
        iterate(home, 2);
    }
    for (int i = 0; i < 20; i++) {
        g_main_context_remove_poll(further, &records[i]);
        close(records[i].fd);
        iterate(home, 1);
    }
    GSource *timeout = g_timeout_source_new(1);
    g_source_set_callback(timeout, once, &foreign, NULL);
    g_source_attach(timeout, further);
    unsigned before = loop.dispatched;
    while (loop.dispatched == before)
        g_main_context_iteration(home, TRUE);
    g_source_destroy(timeout);
    g_source_unref(timeout);
    g_assert_true(cgrun_carrier_owns_context(carrier));
    cgrun_carrier_close(carrier);
    g_source_unref(carrier);

    GThread *thread = g_thread_new("owner", own_for_a_while, further);
    g_usleep(5000);
    carrier = cgrun_carrier_new(loop.hub, further, canary.hub);
    iterate(home, 3);
    g_thread_join(thread);
    iterate(home, 3);
    g_assert_true(cgrun_carrier_owns_context(carrier));
    // What it looks at is given up first: the carrier keeps it.
    cgrun_hub_close(canary.hub);
    g_source_unref(canary.hub);
    g_main_context_unref(further);
    iterate(home, 3);
    g_assert_cmpuint(canary.released, ==, 0);
    cgrun_carrier_close(carrier);
    g_source_unref(carrier);
    g_assert_cmpuint(canary.released, ==, 1);
    loop_end(&loop);
    g_main_context_unref(home);
    close(ends[0]);
    close(ends[1]);
}

static void *iterate_elsewhere(void *data)
{
    iterate(data, 5);
    return NULL;
}

/// On another thread hub and sentinels are silent.
static void check_silence(void)
{
    GMainContext *context = g_main_context_new();
    Loop loop;
    loop_init(&loop, context);
    cgrun_hub_set_sentinels(loop.hub, true);
    g_thread_join(g_thread_new("other", iterate_elsewhere, context));
    g_assert_cmpuint(loop.prepared + loop.checked + loop.dispatched + loop.idle, ==, 0);
    iterate(context, 5);
    g_assert_cmpuint(loop.dispatched, >, 0);
    loop_end(&loop);
    g_main_context_unref(context);
}

int main(void)
{
    check_hub();
    check_carrier();
    check_silence();
    puts("hub-check: hubs, sentinels, records, carriers: passed");
    return 0;
}
