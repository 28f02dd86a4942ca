// SPDX-License-Identifier: Apache-2.0
// Signals that come at any time, and children that end at any time.
#include "fuzz.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// The default action ignores these signals, so they do no harm without a source.
static const int harmless[] = {SIGURG, SIGWINCH};

int signals_pick(void)
{
    static const int odd[] = {0, -1, G_MAXINT, G_MININT, SIGCHLD, SIGKILL, SIGSEGV, 33};
    return random_chance(70) ? harmless[random_below(G_N_ELEMENTS(harmless))] : odd[random_below(G_N_ELEMENTS(odd))];
}

void signals_raise(void) { raise(harmless[random_below(G_N_ELEMENTS(harmless))]); }

enum { CHILDREN = 16 };
static atomic_int children[CHILDREN];

// The round's children end by themselves. A source or the end of the round reaps them.
int children_pick(void)
{
    static const int odd[] = {0, -1, G_MAXINT, G_MININT, 1};
    if (random_chance(20))
        return odd[random_below(G_N_ELEMENTS(odd))];
    unsigned at = random_below(CHILDREN);
    int none = 0;
    if (!atomic_compare_exchange_strong(&children[at], &none, -1))
        return none;
    unsigned span = random_below(3000);
    pid_t child = fork();
    if (child == 0) {
        usleep(span);
        _exit((int)(span & 0xff));
    }
    atomic_store(&children[at], child < 0 ? 0 : child);
    return child;
}

void children_end(void)
{
    for (unsigned at = 0; at < CHILDREN; at++)
        if (atomic_load(&children[at]) > 0)
            waitpid(atomic_load(&children[at]), NULL, 0);
}
