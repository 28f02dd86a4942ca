// SPDX-License-Identifier: Apache-2.0
// The number and the times of an item's calls, which its description shows while loops are recorded.

import CGRun

enum CallCounts {
    private static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var counter: Recording?

    /// Sets the recording that descriptions ask; nil if none is under way.
    static func count(by counter: Recording?) {
        // The former counter is released after the lock.
        var former = counter
        lock.withLock { swap(&former, &self.counter) }
    }

    /// Returns the counts for an item's description:
    /// `calls = 3, total = 0.0021 s, longest = 0.001 s, lateness = 0 s, `. The lateness is the greatest lateness of a
    /// timer.
    static func part(of item: AnyObject) -> String {
        guard !Fork.isChild else { return "" }
        guard let counter = lock.withLock({ counter }) else { return "calls = (not recorded), " }
        let counts = counter.counts(of: ObjectIdentifier(item)) ?? cgrun_counts()
        return "calls = \(counts.calls), total = \(briefSeconds(counts.total)) s, "
            + "longest = \(briefSeconds(counts.longest)) s, lateness = \(briefSeconds(counts.latest)) s, "
    }
}

/// Returns the beginning of an item's description: its label, if it has one, and its counts.
package func facts(of item: AnyObject) -> String { Labels.part(of: item) + CallCounts.part(of: item) }
