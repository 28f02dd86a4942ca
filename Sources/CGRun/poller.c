// SPDX-License-Identifier: Apache-2.0
// One poll for a set of contexts and the loop's own descriptors. Each context is prepared, and its poll records are
// queried into a slice of one array. One poll waits for the whole array. Then each context is checked with its slice of
// the array and its priority.
//
// No user code runs in this file, because GDK holds Wayland's read lock from prepare to check. GLib skips the check if
// the poll set has changed meanwhile. To notice a skipped check, the poller uses the hub in each context as a canary:
// GLib has then not called the hub's check() either. The poller immediately queries, polls without waiting and checks
// such a context again.
//
// This file is written in C, because every pass executes it, and Swift could add reference counts and copies.

#include "cgrun.h"
#include "perturbed.h"

#include <errno.h>

static __attribute__((noinline)) void grow(cgrun_poller *poller, unsigned needed)
{
    poller->capacity = PERTURBS(CGRUN_SITE_CAPACITY) ? needed : MAX(MAX(poller->capacity * 2, needed), 32);
    poller->records = g_renew(GPollFD, poller->records, poller->capacity);
}

static GPollFD *make_room(cgrun_poller *poller, unsigned needed)
{
    if (G_UNLIKELY(needed > poller->capacity))
        grow(poller, needed);
    return poller->records;
}

void cgrun_poller_clear(cgrun_poller *poller)
{
    g_free(poller->records);
    *poller = (cgrun_poller){.records = NULL};
}

// This function is inlined, because each of our polls executes it, and a call would cost 20 instructions.
__attribute__((always_inline)) static inline void query(
    cgrun_poller *poller, cgrun_polled *polled, unsigned first, gint *timeout)
{
    GPollFD *records = make_room(poller, first + 1);
    gint room = poller->capacity - first;
    gint count;
    while (G_UNLIKELY(
        (count = g_main_context_query(polled->context, polled->priority, timeout, records + first, room)) > room)) {
        records = make_room(poller, first + count);
        room = poller->capacity - first;
    }
    polled->first = first;
    polled->count = count;
}

bool cgrun_poller_look(cgrun_poller *poller, cgrun_polled *polled, gint *timeout)
{
    bool is_ready;
    do {
        query(poller, polled, 0, timeout);
        g_poll(poller->records, polled->count, 0);
        cgrun_hub_clear_canary(polled->hub);
        is_ready = g_main_context_check(polled->context, polled->priority, poller->records, polled->count);
    } while (!is_ready && !cgrun_hub_saw_check(polled->hub) && !g_source_is_destroyed(polled->hub));
    return is_ready;
}

// Repeats the poll and the check of a context whose check GLib skipped. Uses separate memory, because the poller's
// later slices have not been checked yet.
static __attribute__((noinline)) bool check_again(const cgrun_polled *polled)
{
    cgrun_poller own = {.records = NULL};
    cgrun_polled again = *polled;
    gint timeout;
    bool is_ready = cgrun_poller_look(&own, &again, &timeout);
    cgrun_poller_clear(&own);
    return is_ready;
}

static bool check(const cgrun_poller *poller, const cgrun_polled *polled)
{
    cgrun_hub_clear_canary(polled->hub);
    if (g_main_context_check(polled->context, polled->priority, poller->records + polled->first, polled->count))
        return true;
    return G_UNLIKELY(!cgrun_hub_saw_check(polled->hub)) && check_again(polled);
}

// Returns how many nanoseconds to wait: until GLib's timeout (`milliseconds`) or the deadline, whichever is first. A
// negative result means forever.
static __attribute__((noinline)) int64_t span_until(int64_t deadline, gint milliseconds)
{
    int64_t span = milliseconds < 0 ? INT64_MAX : milliseconds * INT64_C(1000000);
    if (deadline != INT64_MAX && span > 0) {
        // If the deadline has passed, the span is zero. CLAMP evaluates its argument more than once, so `left` is a
        // variable.
        int64_t left = deadline - cgrun_now();
        span = CLAMP(left, 0, span);
    }
    return span == INT64_MAX ? -1 : span;
}

// Waits with the poll function that the program has set for a context, which takes milliseconds.
static __attribute__((noinline)) void wait_by(GPollFunc foreign, cgrun_poller *poller, unsigned count, int64_t span)
{
    foreign(poller->records, count, span < 0 ? -1 : MIN((span + 999999) / 1000000, G_MAXINT));
}

// A signal handler may end the wait early; the caller then waits again (item 80). Returns whether poll() has failed.
static bool wait_for(cgrun_poller *poller, unsigned count, gint milliseconds, int64_t deadline, GPollFunc foreign)
{
    bool is_endless = deadline == INT64_MAX && milliseconds < 0;
    int64_t span = deadline == INT64_MIN ? 0 : is_endless ? -1 : span_until(deadline, milliseconds);
    // The `revents` of each record are still zero, so the caller sees a poll that found nothing.
    if (span != 0 && PERTURBS(CGRUN_SITE_INTERRUPT))
        return false;
    if (span != 0 && PERTURBS(CGRUN_SITE_SLEEP)) {
        int64_t shorter = PERTURBED(200000);
        span = span < 0 ? shorter : MIN(span, shorter);
    }
    if (G_UNLIKELY(foreign != NULL)) {
        wait_by(foreign, poller, count, span);
        return false;
    }
    if (G_LIKELY(cgrun_poll(poller->records, count, span) >= 0) || errno == EINTR)
        return false;
    poller->error = errno;
    return true;
}

int cgrun_poller_stuck_descriptor(cgrun_poller *poller)
{
    for (unsigned i = 0; i < poller->used; i++) {
        if (!(poller->records[i].revents & G_IO_NVAL))
            continue;
        int64_t now = cgrun_now();
        if (poller->fruitless == 0)
            poller->stuck_since = now;
        poller->fruitless++;
        bool is_stuck = poller->fruitless > CGRUN_MOST_FRUITLESS && now - poller->stuck_since > CGRUN_LONGEST_STUCK;
        return is_stuck ? poller->records[i].fd : -1;
    }
    poller->fruitless = 0;
    return -1;
}

// Returns true if a poll of the slice without waiting needs no system call. No call is needed if the slice has no
// record, or only the record of GLib's wake-up descriptor, which only interrupts sleeps. The wake-up record has
// priority 0. So if the context's priority is below 0, a single record belongs to a source.
static bool is_quiet(const cgrun_polled *polled)
{
    return polled->count == 0 || (polled->count == 1 && polled->priority >= 0);
}

unsigned cgrun_poller_poll(cgrun_poller *poller, cgrun_polled *polled, unsigned count, const int *own, int64_t deadline)
{
    unsigned used = 0;
    gint milliseconds = -1;
    GPollFunc foreign = NULL;
    bool asks = deadline != INT64_MIN;
    // All hubs become dormant, and lose their READY flags, before the first context is prepared. The reason is that a
    // source of one context may itself prepare and check another of these contexts.
    for (unsigned i = 0; i < count; i++)
        cgrun_hub_set_dormant(polled[i].hub, true);
    for (unsigned i = 0; i < count; i++) {
        gint timeout = -1;
        g_main_context_prepare(polled[i].context, &polled[i].priority);
        query(poller, &polled[i], used, &timeout);
        used += polled[i].count;
        if (timeout >= 0 && (milliseconds < 0 || timeout < milliseconds))
            milliseconds = timeout;
        asks = asks || !is_quiet(&polled[i]);
        GPollFunc function = g_main_context_get_poll_func(polled[i].context);
        if (foreign == NULL && function != NULL && function != g_poll)
            foreign = function;
    }
    unsigned first_own = used;
    GPollFD *records = make_room(poller, used + CGRUN_OWN_DESCRIPTORS);
    for (unsigned slot = 0; slot < CGRUN_OWN_DESCRIPTORS; slot++)
        if (own[slot] >= 0)
            records[used++] = (GPollFD){.fd = own[slot], .events = G_IO_IN, .revents = 0};
    bool has_failed = false;
    if (asks || used > first_own || foreign != NULL)
        has_failed = wait_for(poller, used, milliseconds, deadline, foreign);
    else
        for (unsigned i = 0; i < used; i++)
            records[i].revents = 0;
    // A failed poll without waiting counts as a poll that found nothing. The next poll that waits reports the failure.
    unsigned found = G_UNLIKELY(has_failed) && deadline != INT64_MIN ? CGRUN_POLL_FAILED : 0;
    poller->used = used;
    for (unsigned slot = 0, record = first_own; slot < CGRUN_OWN_DESCRIPTORS; slot++)
        if (own[slot] >= 0 && records[record++].revents != 0)
            found |= 1u << slot;
    for (unsigned i = 0; i < count; i++)
        polled[i].is_ready = check(poller, &polled[i]);
    for (unsigned i = 0; i < count; i++)
        cgrun_hub_set_dormant(polled[i].hub, false);
    return found;
}
