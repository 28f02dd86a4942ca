// SPDX-License-Identifier: Apache-2.0
// Descriptor sources join and leave the modes of a loop: see Modes/Membership.swift.

extension GRunLoop {
    /// Adds a descriptor source to a mode, or to all common modes. A loop that sleeps in the mode watches the
    /// descriptor immediately.
    ///
    /// A source that is in the mode already, invalid, or in another loop, is not added. If it is in another loop, that
    /// is logged. If the source's closure belongs to an actor of another loop, the process ends with a message.
    ///
    /// - Throws: ``DescriptorError`` if the descriptor cannot be watched. Then the source has joined none of the modes.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add(_ source: DescriptorSource, forMode name: Mode) throws(DescriptorError) {
        guard source.willBeAdded(to: self) else { return }
        try add(source, to: name, "add(DescriptorSource)")
    }

    /// Removes a descriptor source from a mode, or from all common modes. The loop does not call the source in these
    /// modes any more.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: DescriptorSource, forMode name: Mode) {
        remove(source, from: name, "remove(DescriptorSource)")
    }

    /// Whether the source is in the mode. For ``Mode/common``: whether the source was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ source: DescriptorSource, forMode name: Mode) -> Bool {
        contains(source, in: name, "contains(DescriptorSource)")
    }
}
