// SPDX-License-Identifier: Apache-2.0
// Decides which sites deviate, and when. Each thread has its own stream of random numbers, so its deviations do not
// depend on what the other threads do. In a release build, this file contains no code.

#include "perturbed.h"

#ifdef GRUN_PERTURB

#include "cgrun.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP UINT64_C(0x9E3779B97F4A7C15)
enum { STANDARD_PERMILLE = 20, OFTEN = 500, ALL_SITES = (1u << CGRUN_SITES) - 1 };

static const struct {
    const char *name;
    /// True if no trace of a run loop shows a deviation of the site: the program's code is called in the same order.
    bool is_quiet;
    /// The lowest rate of the site. Some sites are reached only once in the life of an object. They need this minimum,
    /// because the rate of GRUN_PERTURB would hardly ever make them deviate.
    unsigned permille;
} sites[CGRUN_SITES] = {
    [CGRUN_SITE_SLICE] = {"slice", false, 0},
    [CGRUN_SITE_BATCH] = {"batch", false, 0},
    [CGRUN_SITE_TURN] = {"turn", false, 0},
    [CGRUN_SITE_STALE_TURN] = {"stale-turn", false, 0},
    [CGRUN_SITE_SLEEP] = {"sleep", true, 0},
    [CGRUN_SITE_INTERRUPT] = {"interrupt", true, 0},
    [CGRUN_SITE_ACQUIRE] = {"acquire", false, 0},
    [CGRUN_SITE_MEMORY] = {"memory", false, 0},
    [CGRUN_SITE_ROW] = {"row", false, 0},
    [CGRUN_SITE_READY] = {"ready", false, 0},
    [CGRUN_SITE_CHECK] = {"check", false, 0},
    [CGRUN_SITE_YIELD] = {"yield", false, 0},
    [CGRUN_SITE_KICK] = {"kick", false, 0},
    [CGRUN_SITE_CAPACITY] = {"capacity", true, OFTEN},
    [CGRUN_SITE_COUNTER] = {"counter", true, OFTEN},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned permille; // 0: off
static unsigned active;   // a bit for each site
static uint64_t seed;
static uint64_t hits[CGRUN_SITES];
static const char *report;

/// Starts at 1, and each restart adds 1. A thread begins a new stream in each round.
static unsigned round = 1;
/// The number of threads that have begun a stream since the last restart.
static uint64_t threads;
static __thread struct {
    unsigned round;
    uint64_t state;
} stream;

static uint64_t next(void)
{
    unsigned current = __atomic_load_n(&round, __ATOMIC_ACQUIRE);
    if (stream.round != current) {
        uint64_t thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
        stream.round = current;
        stream.state = (__atomic_load_n(&seed, __ATOMIC_RELAXED) << 16 ^ thread) * STEP;
    }
    // SplitMix64.
    uint64_t number = stream.state += STEP;
    number = (number ^ (number >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    number = (number ^ (number >> 27)) * UINT64_C(0x94D049BB133111EB);
    return number ^ (number >> 31);
}

static void write_report(void)
{
    char line[64 * CGRUN_SITES];
    int length = 0;
    for (unsigned site = 0; site < CGRUN_SITES; site++)
        length += snprintf(
            line + length, sizeof line - length, "%s %llu\n", sites[site].name,
            (unsigned long long)cgrun_site_hits(site));
    int file = open(report, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    // All lines are written by one write(), so that the lines of several processes do not mix.
    if (file < 0 || write(file, line, length) != length)
        perror(report);
    if (file >= 0)
        close(file);
}

static unsigned bits_named(const char *name)
{
    unsigned bits = 0;
    for (unsigned site = 0; site < CGRUN_SITES; site++)
        if (strcmp(name, sites[site].name) == 0 || (sites[site].is_quiet && strcmp(name, "quiet") == 0))
            bits |= 1u << site;
    return bits;
}

static bool parse(const char *text)
{
    char *end;
    seed = strtoull(text, &end, 10);
    permille = STANDARD_PERMILLE;
    active = ALL_SITES;
    if (end == text)
        return false;
    if (*end == ',')
        permille = strtoul(end + 1, &end, 10);
    if (*end == 0)
        return permille <= 1000;
    if (*end != ',')
        return false;
    bool leaves_out = end[1] == '-';
    gchar **names = g_strsplit(end + 1 + leaves_out, "+", -1);
    bool is_known = true;
    unsigned named = 0;
    for (gchar **name = names; *name != NULL; name++) {
        unsigned bits = bits_named(*name);
        is_known = is_known && bits != 0;
        named |= bits;
    }
    g_strfreev(names);
    active = leaves_out ? ALL_SITES & ~named : named;
    return is_known && permille <= 1000;
}

static void begin(void)
{
    const char *text = cgrun_environment("GRUN_PERTURB");
    if (text == NULL)
        return;
    if (!parse(text)) {
        fprintf(stderr, "GRUN_PERTURB=%s is not valid; write seed[,permille[,sites]]\n", text);
        _exit(2);
    }
    report = cgrun_environment("GRUN_PERTURB_REPORT");
    if (report != NULL)
        atexit(write_report);
}

bool cgrun_perturbs(cgrun_site site)
{
    pthread_once(&once, begin);
    if (permille == 0 || !(active >> site & 1))
        return false;
    unsigned rate = MAX(permille, sites[site].permille);
    if (next() % 1000 >= rate)
        return false;
    __atomic_add_fetch(&hits[site], 1, __ATOMIC_RELAXED);
    return true;
}

uint32_t cgrun_perturbed(uint32_t below)
{
    return next() % below;
}

void cgrun_perturb_restart(uint64_t new_seed)
{
    pthread_once(&once, begin);
    __atomic_store_n(&seed, new_seed, __ATOMIC_RELAXED);
    __atomic_store_n(&threads, 0, __ATOMIC_RELAXED);
    __atomic_add_fetch(&round, 1, __ATOMIC_RELEASE);
}

const char *cgrun_site_name(cgrun_site site)
{
    return sites[site].name;
}

uint64_t cgrun_site_hits(cgrun_site site)
{
    return __atomic_load_n(&hits[site], __ATOMIC_RELAXED);
}

#endif
