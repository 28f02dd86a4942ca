// SPDX-License-Identifier: Apache-2.0
// How timers, observers, idle queues, descriptor sources and ports are added to modes and removed from them.

extension GRunLoop: ItemOwner {}

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

    /// Adds an observer to a mode, or to all common modes.
    ///
    /// An observer that is in the mode already, invalid, or in another loop, is not added. If it is in another loop,
    /// that is logged. If the observer's closure belongs to an actor of another loop, the process ends with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddObserver`.
    public func add(_ observer: Observer, forMode name: Mode) {
        add(observer, to: name, "add(Observer)")
    }

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

    /// Adds a port to a mode, or to all common modes. If messages wait, a loop that sleeps in the mode wakes.
    ///
    /// A port that is in the mode already, invalid, or in another loop, is not added. If it is in another loop, that is
    /// logged. If the port's handler belongs to an actor of another loop, the process ends with a message.
    ///
    /// Threads: any. The corresponding Foundation function is `RunLoop.add(_:forMode:)`.
    public func add(_ port: Port, forMode name: Mode) {
        add(port, to: name, "add(Port)")
    }

    /// Removes a timer from a mode, or from all common modes. The timer stays valid, and keeps its dates.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
    public func remove(_ timer: Timer, forMode name: Mode) {
        remove(timer, from: name, "remove(Timer)")
    }

    /// Removes an observer from a mode, or from all common modes. A notification that is under way still calls the
    /// observer.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveObserver`.
    public func remove(_ observer: Observer, forMode name: Mode) {
        remove(observer, from: name, "remove(Observer)")
    }

    /// Removes an idle queue from a mode, or from all common modes. Closures that wait in the queue stay there.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func remove(_ queue: IdleQueue, forMode name: Mode) {
        remove(queue, from: name, "remove(IdleQueue)")
    }

    /// Removes a descriptor source from a mode, or from all common modes. The loop does not call the source in these
    /// modes any more.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveSource`.
    public func remove(_ source: DescriptorSource, forMode name: Mode) {
        remove(source, from: name, "remove(DescriptorSource)")
    }

    /// Removes a port from a mode, or from all common modes. Messages that were sent to the port wait until it is added
    /// again.
    ///
    /// Threads: any. The corresponding Foundation function is `RunLoop.remove(_:forMode:)`.
    public func remove(_ port: Port, forMode name: Mode) {
        remove(port, from: name, "remove(Port)")
    }

    /// Whether the timer is in the mode. For ``Mode/common``: whether the timer was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
    public func contains(_ timer: Timer, forMode name: Mode) -> Bool {
        contains(timer, in: name, "contains(Timer)")
    }

    /// Whether the observer is in the mode. For ``Mode/common``: whether the observer was added to ``Mode/common``
    /// itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsObserver`.
    public func contains(_ observer: Observer, forMode name: Mode) -> Bool {
        contains(observer, in: name, "contains(Observer)")
    }

    /// Whether the queue is in the mode. For ``Mode/common``: whether the queue was added to ``Mode/common`` itself.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public func contains(_ queue: IdleQueue, forMode name: Mode) -> Bool {
        contains(queue, in: name, "contains(IdleQueue)")
    }

    /// Whether the source is in the mode. For ``Mode/common``: whether the source was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ source: DescriptorSource, forMode name: Mode) -> Bool {
        contains(source, in: name, "contains(DescriptorSource)")
    }

    /// Whether the port is in the mode. For ``Mode/common``: whether the port was added to ``Mode/common`` itself.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsSource`.
    public func contains(_ port: Port, forMode name: Mode) -> Bool {
        contains(port, in: name, "contains(Port)")
    }

    // MARK: Adding and removing any kind of item

    // Inlined, together with the functions that it calls. Without that, adding a timer costs 100 instructions more
    // (make counts).
    @inline(__always) private func add<Kind: ModeItem>(
        _ item: Kind, to name: Mode, _ call: StaticString
    ) throws(Kind.Refusal) {
        guard !refuses(call) else { return }
        var effects = DeferredEffects()
        defer { effects.carryOut() }
        let isOurs = try lock.withLock { () throws(Kind.Refusal) in try addLocked(item, name, &effects) }
        if !isOurs { refuseOtherLoop(Kind.kind, home: item.guardian.withLock { item.homeLocked }) }
    }

    private func remove(_ item: some ModeItem, from name: Mode, _ call: StaticString) {
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

    private func contains(_ item: some ModeItem, in name: Mode, _ call: StaticString) -> Bool {
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
    func joinLocked<Kind: ModeItem>(
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
