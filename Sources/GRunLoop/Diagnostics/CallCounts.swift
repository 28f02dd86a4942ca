// SPDX-License-Identifier: Apache-2.0
// What an item has cost, for its description: known while loops are recorded.

import CGRun

/// Who counts, which stands above.
protocol CallCounter: AnyObject {
    /// Calls of an item since the recording began; nil if there was none.
    func counts(of item: ObjectIdentifier) -> cgrun_counts?
}

enum CallCounts {
    private static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var counter: (any CallCounter)?

    /// Nil: nobody counts.
    static func count(by counter: (any CallCounter)?) {
        // Released after the lock.
        var former = counter
        lock.withLock { swap(&former, &self.counter) }
    }

    /// Of an item's description: `calls = 3, total = 0.0021 s, longest = 0.001 s, lateness = 0 s, `, where the last is
    /// the greatest one of a timer.
    static func part(of item: AnyObject) -> String {
        guard !Fork.isChild else { return "" }
        guard let counter = lock.withLock({ counter }) else { return "calls = (not recorded), " }
        let counts = counter.counts(of: ObjectIdentifier(item)) ?? cgrun_counts()
        return "calls = \(counts.calls), total = \(briefSeconds(counts.total)) s, "
            + "longest = \(briefSeconds(counts.longest)) s, lateness = \(briefSeconds(counts.latest)) s, "
    }
}

/// What stands first in an item's description: its label, if it has one, and what it has cost.
func facts(of item: AnyObject) -> String { Labels.part(of: item) + CallCounts.part(of: item) }
