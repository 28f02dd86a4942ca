// SPDX-License-Identifier: Apache-2.0
// Idle queues join and leave the modes of a loop: see Modes/Membership.swift.

extension GRunLoop {
    /// Adds an idle queue to a mode, or to all common modes. If closures wait in it, a loop that sleeps in the mode
    /// wakes.
    ///
    /// A queue that is in the mode already, invalid, or in another loop, is not added. If it is in another loop, that
    /// is logged.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func add(_ queue: IdleQueue, forMode name: Mode) {
        add(queue, to: name, "add(IdleQueue)")
    }

    /// Removes an idle queue from a mode, or from all common modes. Closures that wait in the queue stay there.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func remove(_ queue: IdleQueue, forMode name: Mode) {
        remove(queue, from: name, "remove(IdleQueue)")
    }

    /// Whether the queue is in the mode. For ``Mode/common``: whether the queue was added to ``Mode/common`` itself.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func contains(_ queue: IdleQueue, forMode name: Mode) -> Bool {
        contains(queue, in: name, "contains(IdleQueue)")
    }
}
