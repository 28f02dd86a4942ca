// SPDX-License-Identifier: Apache-2.0
// The functions by which the Swift files ask whether a site deviates. cgrun-perturb.h says what each site does, and why
// that is allowed.

import CGRun
import Glibc

/// Whether the site deviates this time. False in a release build.
@inline(__always) func perturbs(_ site: cgrun_site) -> Bool {
    #if GRUN_PERTURB
        return cgrun_perturbs(site)
    #else
        return false
    #endif
}

/// Delays the calling thread. It does not sleep, because a sleep is a cancellation point.
func loseProcessor(for span: Nanoseconds) {
    let end = Nanoseconds.now().addingSaturating(span)
    while Nanoseconds.now() < end { sched_yield() }
}

/// Returns a number from zero that is less than `limit`, for the extent of a deviation. The seed decides it. In a
/// release build it is 0.
@inline(__always) func perturbed(below limit: Int) -> Int {
    #if GRUN_PERTURB
        return Int(cgrun_perturbed(UInt32(limit)))
    #else
        return 0
    #endif
}
