// SPDX-License-Identifier: Apache-2.0
// The sites at which a debug build perturbs its own timing: a seed decides what otherwise only a busy machine does.
//
// GRUN_PERTURB=seed[,permille[,sites]] in the environment switches it on, for every thread of the process. Each site
// then deviates in so many of 1,000 cases, 20 unless the variable says otherwise. `sites` are names joined by `+`, and
// behind a `-` those that do not deviate; `quiet` stands for all sites that no trace of a run loop shows. A release
// build has none of this: GRUN_PERTURB is then not defined, and each site is the constant false.
//
// A site may do only what the machine, the kernel, GLib or another thread may do at that place anyway. So no site
// loses an event, and no site changes an order that the documentation promises.
#ifndef CGRUN_PERTURB_H
#define CGRUN_PERTURB_H

#include <stdbool.h>
#include <stdint.h>

/// Each case says what happens there, and why it is allowed.
typedef enum {
    /// The time slice is used up after an item. Allowed, because the processor may be taken away for 4 ms in any item.
    /// A slice of more than 4 ms is not cut, because the program wants no cuts then.
    CGRUN_SITE_SLICE,
    /// A query of an epoll fetches 1 to 3 events. Allowed, because the others may become ready after it. The kernel
    /// keeps the events that it has not reported.
    CGRUN_SITE_BATCH,
    /// The look that decides whose turn it is finds fewer kinds than are ready. Allowed, because they may become ready
    /// after it. Every kind is found by the next look.
    CGRUN_SITE_TURN,
    /// The same look finds kinds that are not ready. Allowed, because another thread may remove what was ready.
    CGRUN_SITE_STALE_TURN,
    /// A sleep ends after 0.2 ms or less, and nothing is ready. Allowed, because a kick may arrive late, in the next
    /// sleep.
    CGRUN_SITE_SLEEP,
    /// A sleep ends with EINTR. Allowed, because any signal handler does that.
    CGRUN_SITE_INTERRUPT,
    /// A further context cannot be acquired for a moment. Allowed, because another thread may own it. The loop tries
    /// again before it sleeps. The first context is never refused: a run completes GIO's operations there.
    /// At a rate of 1,000 a run with two contexts would try forever.
    CGRUN_SITE_ACQUIRE,
    /// A pass does not serve from memory, but looks. Allowed, because the memory only spares a system call.
    CGRUN_SITE_MEMORY,
    /// A look allows 1 to 5 passes from memory, not 64. Allowed for the same reason.
    CGRUN_SITE_ROW,
    /// The hub reports that it is ready, and has no work. Allowed, because GLib keeps a source ready after
    /// g_main_context_pending().
    CGRUN_SITE_READY,
    /// The hub is not checked after a poll. Allowed, because GLib leaves out the check when another thread has changed
    /// the poll set. Not while there are sentinels: GLib then leaves out theirs, too.
    CGRUN_SITE_CHECK,
    /// A host gets one or two iterations for itself, not three. Allowed, because one may take as long as a slice.
    CGRUN_SITE_YIELD,
    /// A kick is sent up to 0.3 ms late. Allowed, because the sender may lose the processor after it has released the
    /// lock.
    CGRUN_SITE_KICK,
    /// A container begins with a capacity of 1, and nothing is kept for reuse. Allowed, because capacities are not
    /// promised.
    CGRUN_SITE_CAPACITY,
    /// A counter begins near its maximum. Allowed, because a long life leads there.
    CGRUN_SITE_COUNTER,
    CGRUN_SITES,
} cgrun_site;

/// Whether the site deviates this time. Debug builds only, as all of these functions.
bool cgrun_perturbs(cgrun_site site);
/// A number that the seed decides, for the extent of a deviation.
uint32_t cgrun_perturbed(uint32_t below);

/// Begins again with another seed; GRUN_PERTURB still decides which sites deviate, and how often. To call it while
/// other threads use a loop is allowed, but then a run is not repeatable.
void cgrun_perturb_restart(uint64_t seed);
const char *cgrun_site_name(cgrun_site site);
/// How often the site has deviated in this process. GRUN_PERTURB_REPORT=file has each process append the figures of
/// all sites when it ends.
uint64_t cgrun_site_hits(cgrun_site site);

#endif
