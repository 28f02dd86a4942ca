// SPDX-License-Identifier: Apache-2.0
// Observers join and leave the modes of a loop: see Modes/Membership.swift.

extension GRunLoop {
    /// Adds an observer to a mode, or to all common modes.
    ///
    /// An observer that is in the mode already, invalid, or in another loop, is not added. If it is in another loop,
    /// that is logged. If the observer's closure belongs to an actor of another loop, the process ends with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddObserver`.
    public func add(_ observer: Observer, forMode name: Mode) {
        add(observer, to: name, "add(Observer)")
    }

    /// Removes an observer from a mode, or from all common modes. A notification that is under way still calls the
    /// observer.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveObserver`.
    public func remove(_ observer: Observer, forMode name: Mode) {
        remove(observer, from: name, "remove(Observer)")
    }

    /// Whether the observer is in the mode. For ``Mode/common``: whether the observer was added to ``Mode/common``
    /// itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsObserver`.
    public func contains(_ observer: Observer, forMode name: Mode) -> Bool {
        contains(observer, in: name, "contains(Observer)")
    }
}
