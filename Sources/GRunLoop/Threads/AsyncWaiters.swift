// SPDX-License-Identifier: Apache-2.0
// The tasks, threads and senders that wait for something from a loop.

/// Waits for something from a loop. Notified when the loop's thread ends, since nothing will come then.
protocol AsyncWaiter: AnyObject, Sendable {
    func loopHasEnded()
}

/// The waiters of one loop. Guarded by its lock.
struct AsyncWaiters {
    private var waiting: [ObjectIdentifier: any AsyncWaiter] = [:]
    private var isClosed = false

    /// False if the loop has ended.
    mutating func add(_ waiter: any AsyncWaiter) -> Bool {
        if !isClosed { waiting[ObjectIdentifier(waiter)] = waiter }
        return !isClosed
    }

    /// The caller releases the result after the lock.
    mutating func remove(_ waiter: any AsyncWaiter) -> (any AsyncWaiter)? {
        waiting.removeValue(forKey: ObjectIdentifier(waiter))
    }

    mutating func close() -> [any AsyncWaiter] {
        isClosed = true
        defer { waiting = [:] }
        return Array(waiting.values)
    }
}
