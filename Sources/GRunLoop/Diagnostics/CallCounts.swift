// SPDX-License-Identifier: Apache-2.0
// The number and the times of an item's calls, which its description shows while loops are recorded.

import CGRun

/// Counts the calls of items: the recording that is under way.
protocol CallCounter: AnyObject {
    /// Returns the counts of an item since the recording began; nil if it was not called.
    func counts(of item: ObjectIdentifier) -> cgrun_counts?
}

enum CallCounts {
    private static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var counter: (any CallCounter)?

    /// Sets the counter that descriptions ask; nil if no recording is under way.
    static func count(by counter: (any CallCounter)?) {
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
func facts(of item: AnyObject) -> String { Labels.part(of: item) + CallCounts.part(of: item) }
