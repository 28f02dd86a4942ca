// SPDX-License-Identifier: Apache-2.0
// Adds version-0 sources to modes, and removes them.

extension GRunLoop {
    fileprivate func add(_ source: Source, to name: Mode) {
        guard !refuses("add(Source)") else { return }
        source.confined?.home.require(self, for: "Source")
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

    fileprivate func remove(_ source: Source, from name: Mode) {
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

    /// Adds a source to the signalled sources of a mode. Threads: any. Call this function without a lock.
    func noteSignal(of membership: SourceMembership) {
        lock.withLock {
            guard membership.isIn else { return }
            membership.mode.signalled.insert(membership)
            noteEnqueuedLocked()
        }
    }

    /// Removes an invalid source from `modes` and from the common items. Call this function without a lock.
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

    fileprivate func contains(_ source: Source, in name: Mode) -> Bool {
        guard !Fork.refuses("contains(Source)") else { return false }
        return lock.withLock {
            guard source.isValid else { return false }
            if name == .common { return commonItems.contains(source) }
            return modes[name]?.sources[ObjectIdentifier(source)] != nil
        }
    }

    // MARK: With the lock held

    /// Adds the source to the mode. Returns false if the source is in the mode already, or is invalid.
    func joinLocked(_ source: Source, _ mode: ModeState) -> Bool {
        let id = ObjectIdentifier(source)
        guard mode.sources[id] == nil else { return false }
        let membership = SourceMembership(of: source, in: mode, of: self)
        guard let isSignalled = source.join(membership) else { return false }
        mode.sources[id] = membership
        if isSignalled { mode.signalled.insert(membership) }
        return true
    }

    /// Removes the source from the mode. Returns the source's membership, which the caller releases after it has
    /// released the lock; nil if the source is not in the mode.
    func leaveLocked(_ source: Source, _ mode: ModeState) -> SourceMembership? {
        guard let membership = mode.sources.removeValue(forKey: ObjectIdentifier(source)) else { return nil }
        membership.isIn = false
        mode.signalled.remove(membership)
        source.leave(membership)
        return membership
    }
}

extension GRunLoop.Source: GRunLoop.Item, Invalidatable {
    /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``. Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) -> Bool {
        switch operation {
        case .add: loop.add(self, to: mode)
        case .remove: loop.remove(self, from: mode)
        case .contains: return loop.contains(self, in: mode)
        }
        return true
    }
}
