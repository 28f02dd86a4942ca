// SPDX-License-Identifier: Apache-2.0
// How timers, observers, idle queues, descriptor sources and ports are added to modes and removed from them.

extension GRunLoop: ItemOwner {}

extension GRunLoop {
    // MARK: Adding and removing any kind of item

    // Inlined, together with the functions that it calls. Without that, adding a timer costs 100 instructions more
    // (make counts).
    @inline(__always) func add<Kind: ModeItem>(
        _ item: Kind, to name: Mode, _ call: StaticString
    ) throws(Kind.Refusal) {
        guard !refuses(call) else { return }
        var effects = DeferredEffects()
        defer { effects.carryOut() }
        let isOurs = try lock.withLock { () throws(Kind.Refusal) in try addLocked(item, name, &effects) }
        if !isOurs { refuseOtherLoop(Kind.kind, home: item.guardian.withLock { item.homeLocked }) }
    }

    func remove(_ item: some ModeItem, from name: Mode, _ call: StaticString) {
        guard !Fork.refuses(call) else { return }
        var effects = DeferredEffects()
        lock.withLock {
            guard item.guardian.isBound(to: lock) else { return }
            if name == .common, !removeFromCommonLocked(item) { return }
            for mode in modesToLeaveLocked(name) where item.isIn(mode) { item.leave(mode, &effects) }
            unbindIfUnusedLocked(item)
        }
        effects.carryOut()
    }

    func contains(_ item: some ModeItem, in name: Mode, _ call: StaticString) -> Bool {
        guard !Fork.refuses(call) else { return false }
        return lock.withLock {
            guard item.guardian.isBound(to: lock) else { return false }
            if name == .common { return item.isCommonItem }
            return modes[name].map(item.isIn) ?? false
        }
    }

    // MARK: With the lock held

    /// Adds an item to a mode. Returns false if the item is in another loop.
    @inline(__always) private func addLocked<Kind: ModeItem>(
        _ item: Kind, _ name: Mode, _ effects: inout DeferredEffects
    ) throws(Kind.Refusal) -> Bool {
        guard !isDead else { return true }
        guard item.guardian.bind(to: lock) else { return false }
        defer { unbindIfUnusedLocked(item) }
        guard item.isValidLocked else { return true }
        item.homeLocked?.belonging.require(self, for: Kind.kind)
        fixHomeLocked()
        if name == .default {
            _ = try joinLocked(item, defaultMode, &effects)
        } else if name != .common {
            _ = try joinLocked(item, modeLocked(name), &effects)
        } else {
            try joinAllLocked(modesToJoinLocked(name).map { (item, $0) }, &effects)
            item.isCommonItem = true
            commonItems.insert(item.asItem, for: item)
        }
        return true
    }

    /// Makes an item join a mode, unless it is there already. Returns whether it has joined.
    @inline(__always) func joinLocked<Kind: ModeItem>(
        _ item: Kind, _ mode: ModeState, _ effects: inout DeferredEffects
    ) throws(Kind.Refusal) -> Bool {
        guard item.firstMode == nil || !item.isIn(mode) else { return false }
        try item.join(mode, of: self, &effects)
        return true
    }

    /// Makes each item join its mode: all of them or, if one fails, none.
    func joinAllLocked<Kind: ModeItem>(
        _ pairs: [(Kind, ModeState)], _ effects: inout DeferredEffects
    ) throws(Kind.Refusal) {
        var joined: [(Kind, ModeState)] = []
        for (item, mode) in pairs {
            do throws(Kind.Refusal) {
                if try joinLocked(item, mode, &effects) { joined.append((item, mode)) }
            } catch {
                for (item, mode) in joined { item.leave(mode, &effects) }
                effects.forgetLoss()
                throw error
            }
        }
    }

    /// Removes an item from all modes and from the common items. The caller must hold the item until the lock is
    /// released, because its deinit is user code.
    func removeEverywhereLocked(_ item: some ModeItem) {
        var effects = DeferredEffects()
        while let mode = item.firstMode { mode._withUnsafeGuaranteedRef { item.leave($0, &effects) } }
        _ = removeFromCommonLocked(item)
        unbindIfUnusedLocked(item)
    }

    /// Removes an item from the common items. Returns whether it was one.
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
