// SPDX-License-Identifier: Apache-2.0
// A thread that ends calls that may wait forever by contract, such as runs and waits for threads. If an ended call goes
// on, callbacks do nothing and remove themselves. If it still goes on, the watchdog reports it.
#include "fuzz.h"

#include <pthread.h>
#include <time.h>

enum { WAITS = 256, PATIENCE = IS_SANITIZED ? 1000000 : 200000 };

typedef struct {
    atomic_int is_used;
    pthread_mutex_t lock;  // held while the object of the wait is used
    bool is_armed;
    WaitType type;
    gpointer object;
    int index;
    uint64_t deadline;
} Wait;

static Wait waits[WAITS];
static pthread_t thread;
static atomic_bool must_end;

int keeper_begin(WaitType type, gpointer object, int index, unsigned milliseconds)
{
    for (int at = 0; at < WAITS; at++) {
        int none = 0;
        if (!atomic_compare_exchange_strong(&waits[at].is_used, &none, 1))
            continue;
        pthread_mutex_lock(&waits[at].lock);
        waits[at].type = type;
        waits[at].object = object;
        waits[at].index = index;
        waits[at].deadline = now_in_microseconds() + milliseconds * 1000;
        waits[at].is_armed = true;
        pthread_mutex_unlock(&waits[at].lock);
        return at;
    }
    fuzz_fail("the fuzzer: more than %d waits", WAITS);
}

void keeper_end(int at)
{
    if (at < 0)
        return;
    pthread_mutex_lock(&waits[at].lock);
    waits[at].is_armed = false;
    pthread_mutex_unlock(&waits[at].lock);
    atomic_store(&waits[at].is_used, 0);
}

static void end(Wait *wait)
{
    switch (wait->type) {
    case WAIT_RUN:
        grun_loop_stop(wait->object);
        break;
    case WAIT_THREAD:
        grun_thread_stop(wait->object);
        break;
    case WAIT_ROUND_THREAD:
        atomic_store(&must_finish[wait->index], true);
        break;
    case WAIT_HOST:
        g_main_loop_quit(wait->object);
        break;
    }
}

static void *keep(void *unused)
{
    (void)unused;
    while (!atomic_load(&must_end)) {
        bool is_late = false;
        for (int at = 0; at < WAITS; at++) {
            if (!atomic_load(&waits[at].is_used))
                continue;
            pthread_mutex_lock(&waits[at].lock);
            if (waits[at].is_armed) {
                uint64_t now = now_in_microseconds();
                if (now > waits[at].deadline)
                    end(&waits[at]);
                is_late |= now > waits[at].deadline + PATIENCE;
            }
            pthread_mutex_unlock(&waits[at].lock);
        }
        atomic_store(&is_calm, is_late);
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    return NULL;
}

void keeper_start(void)
{
    for (int at = 0; at < WAITS; at++)
        pthread_mutex_init(&waits[at].lock, NULL);
    atomic_store(&must_end, false);
    pthread_create(&thread, NULL, keep, NULL);
}

void keeper_stop(void)
{
    atomic_store(&must_end, true);
    pthread_join(thread, NULL);
}
