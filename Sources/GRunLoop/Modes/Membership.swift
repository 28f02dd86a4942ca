// SPDX-License-Identifier: Apache-2.0
// Adds items to modes and removes them, except version-0 sources and contexts.

extension GRunLoop {
    // MARK: Adding and removing any kind of item

    // This function and the functions that it calls are inlined, which saves 100 instructions when a timer is added
    // (`make counts`).
    @inline(__always) fileprivate func add<Kind: ModeItem>(_ item: Kind, to name: Mode) throws(Kind.AddError) {
        guard !refuses("add", Kind.kind) else { return }
        var effects = DeferredEffects()
        defer { effects.carryOut() }
        let isOurs = try lock.withLock { () throws(Kind.AddError) in try addLocked(item, name, &effects) }
        if !isOurs { refuseOtherLoop(Kind.kind, home: item.guardian.withLock { item.homeLocked }) }
    }

    fileprivate func remove<Kind: ModeItem>(_ item: Kind, from name: Mode) {
        guard !Fork.refuses("remove", Kind.kind) else { return }
        var effects = DeferredEffects()
        lock.withLock {
            guard item.guardian.isBound(to: lock) else { return }
            if name == .common, !removeFromCommonLocked(item) { return }
            for mode in modesToLeaveLocked(name) where item.isIn(mode) { item.leave(mode, &effects) }
            unbindIfUnusedLocked(item)
        }
        effects.carryOut()
    }

    fileprivate func contains<Kind: ModeItem>(_ item: Kind, in name: Mode) -> Bool {
        guard !Fork.refuses("contains", Kind.kind) else { return false }
        return lock.withLock {
            guard item.guardian.isBound(to: lock) else { return false }
            if name == .common { return item.isCommonItem }
            return modes[name].map(item.isIn) ?? false
        }
    }

    // MARK: With the lock held

    /// Adds an item to a mode, or to the common modes. Returns false if the item is in another loop.
    @inline(__always) private func addLocked<Kind: ModeItem>(
        _ item: Kind, _ name: Mode, _ effects: inout DeferredEffects
    ) throws(Kind.AddError) -> Bool {
        guard !isDead else { return true }
        guard item.guardian.bind(to: lock) else { return false }
        defer { unbindIfUnusedLocked(item) }
        guard item.isValidLocked else { return true }
        item.homeLocked?.require(self, for: Kind.kind)
        fixHomeLocked()
        if name == .default {
            _ = try joinLocked(item, defaultMode, &effects)
        } else if name != .common {
            _ = try joinLocked(item, modeLocked(name), &effects)
        } else {
            try joinAllLocked(modesToJoinLocked(name).map { (item, $0) }, &effects)
            item.isCommonItem = true
            commonItems.insert(item.asCommonItem, for: item)
        }
        return true
    }

    /// Makes an item join a mode. Returns false if the item was already in the mode.
    @inline(__always) func joinLocked<Kind: ModeItem>(
        _ item: Kind, _ mode: ModeState, _ effects: inout DeferredEffects
    ) throws(Kind.AddError) -> Bool {
        guard item.firstMode == nil || !item.isIn(mode) else { return false }
        try item.join(mode, of: self, &effects)
        return true
    }

    /// Makes each item join its mode. If one item fails, none of them joins.
    func joinAllLocked<Kind: ModeItem>(
        _ pairs: [(Kind, ModeState)], _ effects: inout DeferredEffects
    ) throws(Kind.AddError) {
        var joined: [(Kind, ModeState)] = []
        for (item, mode) in pairs {
            do throws(Kind.AddError) {
                if try joinLocked(item, mode, &effects) { joined.append((item, mode)) }
            } catch {
                for (item, mode) in joined { item.leave(mode, &effects) }
                effects.forgetLoss()
                throw error
            }
        }
    }

    /// Removes an item from all modes and from the common items. The caller must keep a reference to the item until the
    /// lock is released.
    func removeEverywhereLocked(_ item: some ModeItem) {
        var effects = DeferredEffects()
        while let mode = item.firstMode { mode._withUnsafeGuaranteedRef { item.leave($0, &effects) } }
        _ = removeFromCommonLocked(item)
        unbindIfUnusedLocked(item)
    }

    /// Returns whether the item was a common item.
    private func removeFromCommonLocked(_ item: some ModeItem) -> Bool {
        guard item.isCommonItem else { return false }
        item.isCommonItem = false
        return commonItems.remove(item) != nil
    }

    private func unbindIfUnusedLocked(_ item: some ModeItem) {
        guard item.firstMode == nil, !item.isCommonItem else { return }
        item.guardian.unbind()
    }
}

extension ModeItem {
    @inline(__always) func carryOut(
        _ operation: GRunLoop.MembershipOperation, _ loop: GRunLoop, _ mode: GRunLoop.Mode
    ) throws(AddError) -> Bool {
        switch operation {
        case .add: try loop.add(self, to: mode)
        case .remove: loop.remove(self, from: mode)
        case .contains: return loop.contains(self, in: mode)
        }
        return true
    }
}

extension Lock {
    /// The loop to which this lock belongs. The result does not change while the lock guards an item.
    var loop: Unmanaged<GRunLoop>? { owner.map { .fromOpaque($0) } }
}

extension Guardian {
    /// The loop that the item is in. Read this property with the guardian held.
    var loop: GRunLoop? { bound?.loop?.takeUnretainedValue() }
}
