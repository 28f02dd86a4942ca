// SPDX-License-Identifier: Apache-2.0
// The table of a loop's waiters.

/// A task, a thread or a channel's sender that waits for a result or a value from a loop. The waiter is notified when
/// the loop's thread ends, because the loop delivers nothing after that.
package protocol AsyncWaiter: AnyObject, Sendable {
    func loopHasEnded()
}

/// The waiters of one loop. Guarded by the loop's lock.
struct AsyncWaiters {
    private var waiting: [ObjectIdentifier: any AsyncWaiter] = [:]
    private var isClosed = false

    /// Adds a waiter. Returns false, and adds nothing, if the loop has ended.
    mutating func add(_ waiter: any AsyncWaiter) -> Bool {
        if !isClosed { waiting[ObjectIdentifier(waiter)] = waiter }
        return !isClosed
    }

    /// Removes and returns a waiter; nil if it is not in the table. The caller releases the waiter after unlocking.
    mutating func remove(_ waiter: any AsyncWaiter) -> (any AsyncWaiter)? {
        waiting.removeValue(forKey: ObjectIdentifier(waiter))
    }

    var count: Int { waiting.count }

    mutating func close() -> [any AsyncWaiter] {
        isClosed = true
        defer { waiting = [:] }
        return Array(waiting.values)
    }
}

extension GRunLoop {
    /// Adds a waiter. Returns false if the loop has ended. Threads: any.
    package func addWaiter(_ waiter: any AsyncWaiter) -> Bool { lock.withLock { waiters.add(waiter) } }

    /// Removes a waiter. Returns false if the waiter was removed before, or if the end of the loop notifies it.
    /// Threads: any.
    package func removeWaiter(_ waiter: any AsyncWaiter) -> Bool { lock.withLock { waiters.remove(waiter) } != nil }
}
