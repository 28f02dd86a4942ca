// SPDX-License-Identifier: Apache-2.0
// Descriptor sources come and go.

extension GRunLoop {
    /// Adds a descriptor source to a mode, or to all common modes. A loop that sleeps in the mode watches it at once. A
    /// source that is there already, invalid, or in another loop, is left alone; that it is in another loop is logged.
    /// One whose closure belongs to an actor that lives on another loop ends the process, with a message.
    ///
    /// - Throws: ``DescriptorError`` if the descriptor cannot be watched. Then the source has joined none of the modes.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add(_ source: DescriptorSource, forMode name: Mode) throws(DescriptorError) {
        guard !refuses("add(DescriptorSource)") else { return }
        enum Outcome {
            case done(wasClosed: Bool)
            case taken
            case failed(DescriptorError)
        }
        var kick: Kick?
        let outcome = lock.withLock { () -> Outcome in
            guard !isDead else { return .done(wasClosed: false) }
            guard source.guardian.bind(to: lock) else { return .taken }
            defer { unbindIfUnusedLocked(source) }
            guard source.isValidLocked else { return .done(wasClosed: false) }
            source.confined?.home.require(self, for: "DescriptorSource")
            fixHomeLocked()
            var wasClosed = false
            var modes: [ModeState] = []
            for mode in modesToJoinLocked(name) where !mode.descriptors.contains(source) {
                do throws(DescriptorError) {
                    if try joinLocked(source, mode, &kick) { wasClosed = true }
                    modes.append(mode)
                } catch {
                    for mode in modes { _ = leaveLocked(source, mode) }
                    return .failed(error)
                }
            }
            if name == .common {
                source.isCommonItem = true
                commonItems.insert(.descriptor(source), for: source)
            }
            return .done(wasClosed: wasClosed)
        }
        kick?.send()
        switch outcome {
        case .done(let wasClosed): if wasClosed { warnOfClosed(source) }
        case .taken: refuseOtherLoop("DescriptorSource", home: source.confined?.home)
        case .failed(let error): throw error
        }
    }

    /// Removes a descriptor source from a mode, or from all common modes. It is not performed any more.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: DescriptorSource, forMode name: Mode) {
        guard !Fork.refuses("remove(DescriptorSource)") else { return }
        let (wasClosed, _) = lock.withLock { () -> (Bool, Item?) in
            guard source.guardian.isBound(to: lock) else { return (false, nil) }
            var item: Item?
            if name == .common {
                item = commonItems.remove(source)
                guard item != nil else { return (false, nil) }
                source.isCommonItem = false
            }
            var wasClosed = false
            for mode in modesToLeaveLocked(name) where leaveLocked(source, mode) { wasClosed = true }
            unbindIfUnusedLocked(source)
            return (wasClosed, item)
        }
        if wasClosed { warnOfClosed(source) }
    }

    /// Whether the source is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ source: DescriptorSource, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(DescriptorSource)") else { return false }
        return lock.withLock {
            guard source.guardian.isBound(to: lock) else { return false }
            if name == .common { return source.isCommonItem }
            return modes[name]?.descriptors.contains(source) ?? false
        }
    }

    // MARK: With the lock held

    /// Returns whether the descriptor's number had been closed while another source watched it.
    func joinLocked(_ source: DescriptorSource, _ mode: ModeState, _ kick: inout Kick?) throws(DescriptorError) -> Bool
    {
        guard !mode.descriptors.contains(source) else { return false }
        let wasClosed = try mode.descriptors.add(source)
        source.join(mode)
        kick.merge(descriptorsChangedLocked(in: mode))
        return wasClosed
    }

    /// Returns whether the descriptor's number had been closed meanwhile.
    func leaveLocked(_ source: DescriptorSource, _ mode: ModeState) -> Bool {
        source.leave(mode) && mode.descriptors.remove(source)
    }

    /// Returns what is to be released after the lock.
    func removeEverywhereLocked(_ source: DescriptorSource) -> [Any] {
        let modes = source.modes
        for mode in modes { _ = leaveLocked(source, mode) }
        let item = source.isCommonItem ? commonItems.remove(source) : nil
        source.isCommonItem = false
        unbindIfUnusedLocked(source)
        return [modes, item as Any]
    }

    func unbindIfUnusedLocked(_ source: DescriptorSource) {
        guard source.isInNoMode, !source.isCommonItem else { return }
        source.guardian.unbind()
    }

    private func warnOfClosed(_ source: DescriptorSource) {
        Log.warning(
            "descriptor \(source.descriptor) was closed while a DescriptorSource watched it; remove or invalidate the "
                + "source before closing its descriptor")
    }
}
