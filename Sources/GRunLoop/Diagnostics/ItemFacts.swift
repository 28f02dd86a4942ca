// SPDX-License-Identifier: Apache-2.0
// The beginning of an item's description: its label, and the number and times of its calls.

/// The call counts that an item's description contains while loops are recorded.
package enum ItemFacts {
    private static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var counter: CallCounter?

    /// Sets the function that returns the counts for descriptions; nil if there is no recording.
    package static func count(by counter: CallCounter?) {
        // This variable releases the former counter after unlocking.
        var former = counter
        lock.withLock { swap(&former, &self.counter) }
    }

    fileprivate static func counts(of item: AnyObject) -> String {
        guard !Fork.isChild else { return "" }
        guard let counter = lock.withLock({ counter }) else { return "calls = (not recorded), " }
        let counts = counter(ObjectIdentifier(item))
        return "calls = \(counts.calls), total = \(briefSeconds(counts.total)) s, "
            + "longest = \(briefSeconds(counts.longest)) s, lateness = \(briefSeconds(counts.latest)) s, "
    }
}

/// A function that returns the counts of an item.
package typealias CallCounter = @Sendable (_ item: ObjectIdentifier) -> CallCounts

/// The number and the times of an item's calls.
package struct CallCounts {
    package var calls: UInt64 = 0
    package var total: Nanoseconds = 0
    package var longest: Nanoseconds = 0
    /// The greatest lateness of a timer.
    package var latest: Nanoseconds = 0

    package init() {}
}

/// Returns the beginning of an item's description: its label, if it has one, and its counts.
package func facts(of item: AnyObject) -> String { Labels.part(of: item) + ItemFacts.counts(of: item) }
