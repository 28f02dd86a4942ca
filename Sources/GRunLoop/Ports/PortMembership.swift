// SPDX-License-Identifier: Apache-2.0
// Ports join and leave the modes of a loop: see Modes/Membership.swift.

extension GRunLoop {
    /// Adds a port to a mode, or to all common modes. If messages wait, a loop that sleeps in the mode wakes.
    ///
    /// A port that is in the mode already, invalid, or in another loop, is not added. If it is in another loop, that is
    /// logged. If the port's handler belongs to an actor of another loop, the process ends with a message.
    ///
    /// Threads: any. The corresponding Foundation function is `RunLoop.add(_:forMode:)`.
    public func add(_ port: Port, forMode name: Mode) {
        add(port, to: name, "add(Port)")
    }

    /// Removes a port from a mode, or from all common modes. Messages that were sent to the port wait until it is added
    /// again.
    ///
    /// Threads: any. The corresponding Foundation function is `RunLoop.remove(_:forMode:)`.
    public func remove(_ port: Port, forMode name: Mode) {
        remove(port, from: name, "remove(Port)")
    }

    /// Whether the port is in the mode. For ``Mode/common``: whether the port was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ port: Port, forMode name: Mode) -> Bool {
        contains(port, in: name, "contains(Port)")
    }
}
