// SPDX-License-Identifier: Apache-2.0
// The sites are places in the code at which a debug build changes its own behaviour at random. A seed decides when a
// site deviates. Without a seed, only a busy machine causes such deviations.
//
// GRUN_PERTURB=seed[,permille[,sites]] in the environment enables them for every thread of the process. Each site then
// deviates in `permille` of 1,000 cases, by default 20. `sites` are names joined by `+`, and only these sites deviate.
// If the list begins with `-`, only the other sites deviate. The name `quiet` means all sites whose deviations do not
// appear in any trace of a run loop. In a release build, the macro GRUN_PERTURB is not defined, and each site is the
// constant false.
//
// A site may only cause effects that the machine, the kernel, GLib or another thread may also cause at that place. So
// no site loses an event, and no site changes an order that the documentation promises.
#ifndef CGRUN_PERTURB_H
#define CGRUN_PERTURB_H

#include <stdbool.h>
#include <stdint.h>

/// The sites. Each comment says how the site deviates, and why that is allowed.
typedef enum {
    /// A time slice of at most 4 ms ends early, after an item. Allowed, because the thread may lose the processor for 4
    /// ms in any item. A longer slice does not end early, because the program itself has chosen this length.
    CGRUN_SITE_SLICE,
    /// A query of an epoll fetches 1 to 3 events. Allowed, because other events may become ready only after the query.
    /// The kernel keeps the events that it has not reported.
    CGRUN_SITE_BATCH,
    /// The check that decides which kind of item is served next finds fewer kinds than are ready. Allowed, because the
    /// other kinds may become ready only after the check. A later check finds them.
    CGRUN_SITE_TURN,
    /// The check of CGRUN_SITE_TURN finds kinds of items that are not ready. Allowed, because another thread may remove
    /// a ready item.
    CGRUN_SITE_STALE_TURN,
    /// A sleep ends after 0.2 ms or less, and nothing is ready. Allowed, because a kick (the write that ends a sleep)
    /// may arrive late, and end the next sleep instead.
    CGRUN_SITE_SLEEP,
    /// A sleep ends with EINTR. Allowed, because any signal handler causes that.
    CGRUN_SITE_INTERRUPT,
    /// A context of a mode cannot be acquired for a moment. Allowed, because another thread may own the context. The
    /// loop tries again before it sleeps. The mode's first context is never refused, because a run completes GIO's
    /// operations there. If `permille` were 1,000, a run with two contexts would try forever.
    CGRUN_SITE_ACQUIRE,
    /// A pass asks the kernel which items are ready, although memory already shows a ready item. Allowed, because
    /// serving from memory only saves a system call.
    CGRUN_SITE_MEMORY,
    /// Only 1 to 5 passes, instead of 64, serve items from memory before a pass asks the kernel again. Allowed, because
    /// serving from memory only saves system calls.
    CGRUN_SITE_ROW,
    /// The hub reports that it is ready, but has no work. Allowed, because GLib keeps a source ready after
    /// g_main_context_pending().
    CGRUN_SITE_READY,
    /// The hub is not checked after a poll. Allowed, because GLib skips the check when another thread has changed the
    /// poll set. The site does not deviate while there are sentinels, because GLib would also skip their checks.
    CGRUN_SITE_CHECK,
    /// When a time slice is used up, the host gets one to three iterations instead of always three. Allowed, because
    /// one iteration may take as long as a slice, and then the host's turn ends.
    CGRUN_SITE_YIELD,
    /// A kick is sent up to 0.3 ms late. Allowed, because the sender may lose the processor after it has released the
    /// lock.
    CGRUN_SITE_KICK,
    /// A container begins with a capacity of 1, and nothing is kept for reuse. Allowed, because capacities are not
    /// promised.
    CGRUN_SITE_CAPACITY,
    /// A counter begins near its maximum. Allowed, because a counter reaches such values in a long-running process.
    CGRUN_SITE_COUNTER,
    CGRUN_SITES,
} cgrun_site;

/// Returns whether the site changes the timing this time. This function and the functions below exist only in debug
/// builds.
bool cgrun_perturbs(cgrun_site site);
/// A number from 0 to `below` - 1 that depends on the seed. Callers use the number as the extent of a deviation.
uint32_t cgrun_perturbed(uint32_t below);

/// Restarts the sequence of deviations with another seed. GRUN_PERTURB still decides which sites deviate, and how
/// often. If other threads use a loop during the call, the run is not repeatable.
void cgrun_perturb_restart(uint64_t seed);
const char *cgrun_site_name(cgrun_site site);
/// The number of deviations of a site in this process. GRUN_PERTURB_REPORT=file in the environment makes each process
/// append the numbers of all sites to the file when it ends.
uint64_t cgrun_site_hits(cgrun_site site);

#endif
