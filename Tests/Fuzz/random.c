// SPDX-License-Identifier: Apache-2.0
// Random values. Every step and every callback has its own seed, so that leaving one out does not change the others.
#include "fuzz.h"

#include <float.h>
#include <math.h>
#include <string.h>

uint64_t random_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9E3779B97F4A7C15u + b + 0x632BE59BD9B4E019u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t random_next(void)
{
    Thread *self = thread_self();
    self->random += 0x9E3779B97F4A7C15u;
    return random_mix(self->random, 0);
}

unsigned random_below(unsigned limit) { return limit == 0 ? 0 : (unsigned)(random_next() % limit); }

bool random_chance(unsigned percent) { return random_below(100) < percent; }

gint64 random_integer(gint64 min, gint64 max)
{
    switch (random_below(10)) {
    case 0:
        return min;
    case 1:
        return max;
    case 2:
        return MIN(MAX(-1, min), max);
    case 3:
        return min + 1;
    case 4:
        return max - 1;
    case 5:
        return (gint64)random_next() % max;
    default:
        return random_below(4);
    }
}

gdouble random_seconds(void)
{
    static const gdouble extremes[] = {
        NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN, 0x1p-1074, -0.0, -1.0, 1e-9, 4.9e-10, 9.2e9, -9.3e9,
        9223372036.854775807, 5.1e8, 1e300,
    };
    if (random_chance(30))
        return extremes[random_below(G_N_ELEMENTS(extremes))];
    if (random_chance(20))
        return 0;
    return random_below(3000) / 1e6;
}

gint64 random_date(GRunLoop *loop)
{
    static const gint64 extremes[] = {
        G_MAXINT64, G_MININT64, 0, 1, -1, G_MAXINT64 - 1, G_MININT64 + 1, G_MAXINT64 / 1000, G_MAXINT64 / 1000 + 1};
    if (random_chance(30))
        return extremes[random_below(G_N_ELEMENTS(extremes))];
    return (loop != NULL ? grun_loop_get_time(loop) : g_get_monotonic_time()) + random_below(4000) - 1000;
}

// Few texts, so that several items get the same mode.
static const char *long_text(void)
{
    static char text[70001];
    static atomic_int state;
    int none = 0;
    if (atomic_compare_exchange_strong(&state, &none, 1)) {
        memset(text, 'm', sizeof text - 1);
        atomic_store(&state, 2);
    }
    return atomic_load(&state) == 2 ? text : "m";
}

static const char *odd_text(void)
{
    static const char *const texts[] = {
        "", "\xff\xfe", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "e\xcc\x81", "\xc3\xa9", "%s%n%d", "a\nb",
        "\xe2\x80\xae", "\xef\xbb\xbf", " ", "kCFRunLoopDefaultMode ", "kcfrunloopdefaultmode", "/../", "\x01\x7f",
    };
    return texts[random_below(G_N_ELEMENTS(texts))];
}

const char *random_mode(void)
{
    switch (random_below(20)) {
    case 0:
        return NULL;
    case 1:
    case 2:
        return odd_text();
    case 3:
        return random_chance(20) ? long_text() : "o";
    case 4:
    case 5:
    case 6:
        return GRUN_MODE_COMMON;
    case 7:
        return GRUN_MODE_TRACKING;
    case 8:
    case 9:
    case 10:
        return "private";
    default:
        return GRUN_MODE_DEFAULT;
    }
}

/// Paths that no call can damage.
const char *random_path(void)
{
    static const char *const paths[] = {
        NULL, "", "/", "/dev/null", "/dev/null", "/dev/full", "/no/such/file.json", "/no/\xff\xfe"};
    return paths[random_below(G_N_ELEMENTS(paths))];
}

const char *random_name(void)
{
    switch (random_below(8)) {
    case 0:
        return NULL;
    case 1:
        return odd_text();
    case 2:
        return long_text();
    case 3:
        return "another";
    default:
        return "fuzz";
    }
}

const char *const *random_modes(void)
{
    enum { LISTS = 6 };
    static const char *const none[] = {NULL};
    static const char *const two[] = {GRUN_MODE_DEFAULT, "private", NULL};
    static const char *const same[] = {GRUN_MODE_DEFAULT, GRUN_MODE_DEFAULT, GRUN_MODE_COMMON, NULL};
    static const char *const broken[] = {"private", "\xff\xfe", NULL};
    static const char *const empty[] = {"", NULL};
    static const char *const many[] = {
        "1", "2", "3", "4", "5", "6", "7", "8", "9", GRUN_MODE_TRACKING, GRUN_MODE_COMMON, NULL};
    static const char *const *const lists[LISTS] = {none, two, same, broken, empty, many};
    return random_chance(10) ? NULL : lists[random_below(LISTS)];
}

// Few senders, so that notifications coalesce.
gpointer random_sender(void)
{
    static char senders[2];
    return random_chance(30) ? NULL : &senders[random_below(2)];
}

GBytes *random_bytes(void)
{
    static gsize made[3];
    unsigned size = random_below(3);
    if (g_once_init_enter(&made[size]))
        g_once_init_leave(&made[size], (gsize)g_bytes_new("bytes", size));
    return (GBytes *)made[size];
}
