// SPDX-License-Identifier: Apache-2.0
// Version-0 sources come and go.

extension GRunLoop {
    /// Adds a source to a mode, or to all common modes. Its `schedule` is called on this thread before this returns,
    /// once for each mode that it joins. A source that is there already, or invalid, is left alone. A sleeping loop
    /// does not notice until it wakes. One whose closure belongs to an actor that lives on another loop ends the
    /// process, with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddSource`.
    public func add(_ source: Source, forMode name: Mode) {
        guard !refuses("add(Source)") else { return }
        source.confined?.home.belonging.require(self, for: "Source")
        let joined = lock.withLock { () -> [ModeState] in
            guard !isDead, source.isValid else { return [] }
            fixHomeLocked()
            if name == .common {
                guard source.becomeCommon(in: self) else { return [] }
                commonItems.insert(.source(source), for: source)
            }
            return modesToJoinLocked(name).filter { joinLocked(source, $0) }
        }
        for mode in joined { source.schedule?(self, mode.name) }
    }

    /// Removes a source from a mode, or from all common modes. Its `cancel` is called on this thread, once for each
    /// mode that it leaves. It does not perform any more, also when it was signalled; the signal is kept.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: Source, forMode name: Mode) {
        guard !Fork.refuses("remove(Source)") else { return }
        let (left, _) = lock.withLock { () -> ([ModeState], [Any]) in
            var released: [Any] = []
            if name == .common {
                guard let item = commonItems.remove(source) else { return ([], []) }
                released.append(item)
                if let loop = source.ceaseCommon(in: self) { released.append(loop) }
            }
            let left = modesToLeaveLocked(name).filter { mode in
                guard let known = leaveLocked(source, mode) else { return false }
                released.append(known)
                return true
            }
            return (left, released)
        }
        for mode in left { source.cancel?(self, mode.name) }
    }

    /// A source was signalled. Any thread, without a lock.
    func noteSignal(of membership: SourceMembership) {
        lock.withLock {
            guard membership.isIn else { return }
            membership.mode.signalled.insert(membership)
            noteEnqueuedLocked()
        }
    }

    func remove(_ source: Source, from modes: [ModeState]) {
        let (left, _) = lock.withLock { () -> ([ModeState], [Any]) in
            var released: [Any] = []
            if let item = commonItems.remove(source) { released.append(item) }
            if let loop = source.ceaseCommon(in: self) { released.append(loop) }
            let left = modes.filter { mode in
                guard let known = leaveLocked(source, mode) else { return false }
                released.append(known)
                return true
            }
            return (left, released)
        }
        for mode in left { source.cancel?(self, mode.name) }
    }

    /// Whether the source is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ source: Source, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(Source)") else { return false }
        return lock.withLock {
            guard source.isValid else { return false }
            if name == .common { return commonItems.contains(source) }
            return modes[name]?.sources[ObjectIdentifier(source)] != nil
        }
    }

    // MARK: With the lock held

    /// Returns whether the source was not there before.
    func joinLocked(_ source: Source, _ mode: ModeState) -> Bool {
        let id = ObjectIdentifier(source)
        guard mode.sources[id] == nil else { return false }
        let membership = SourceMembership(of: source, in: mode, of: self)
        guard let isSignalled = source.join(membership) else { return false }
        mode.sources[id] = membership
        if isSignalled { mode.signalled.insert(membership) }
        return true
    }

    /// Returns what is to be released after the lock, nil if the source was not there.
    func leaveLocked(_ source: Source, _ mode: ModeState) -> SourceMembership? {
        guard let membership = mode.sources.removeValue(forKey: ObjectIdentifier(source)) else { return nil }
        membership.isIn = false
        mode.signalled.remove(membership)
        source.leave(membership)
        return membership
    }
}
