// SPDX-License-Identifier: Apache-2.0
// Timers join and leave the modes of a loop: see Modes/Membership.swift.

extension GRunLoop {
    /// Adds a timer to a mode, or to all common modes. A loop that sleeps in the mode is re-armed immediately.
    ///
    /// A timer that is in the mode already, invalid, or in another loop, is not added. If it is in another loop, that
    /// is logged. If the timer's closure belongs to an actor of another loop, the process ends with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddTimer`.
    public func add(_ timer: Timer, forMode name: Mode) {
        add(timer, to: name, "add(Timer)")
    }

    /// Removes a timer from a mode, or from all common modes. The timer stays valid, and keeps its dates.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
    public func remove(_ timer: Timer, forMode name: Mode) {
        remove(timer, from: name, "remove(Timer)")
    }

    /// Whether the timer is in the mode. For ``Mode/common``: whether the timer was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
    public func contains(_ timer: Timer, forMode name: Mode) -> Bool {
        contains(timer, in: name, "contains(Timer)")
    }
}
