// SPDX-License-Identifier: Apache-2.0
// Swift functions for perturbation. In tests, a debug build changes its own timing at certain places, which are called
// sites. cgrun-perturb.h describes each site, and explains why its deviation is allowed.

import CGRun
import Glibc

/// Returns whether the site changes the timing this time. False in a release build.
@inline(__always) func perturbs(_ site: cgrun_site) -> Bool {
    #if GRUN_PERTURB
        return cgrun_perturbs(site)
    #else
        return false
    #endif
}

/// Delays the calling thread without a sleep, which would be a cancellation point.
func loseProcessor(for span: Nanoseconds) {
    let end = Nanoseconds.now().addingSaturating(span)
    while Nanoseconds.now() < end { sched_yield() }
}

/// Returns the extent of a deviation: a number from 0 to `limit` - 1, which depends on the seed. Returns 0 in a release
/// build.
@inline(__always) func perturbed(below limit: Int) -> Int {
    #if GRUN_PERTURB
        return Int(cgrun_perturbed(UInt32(limit)))
    #else
        return 0
    #endif
}
