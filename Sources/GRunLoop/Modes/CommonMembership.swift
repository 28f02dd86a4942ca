// SPDX-License-Identifier: Apache-2.0
// The modes that an item joins or leaves, and how a mode becomes common.
//
// For every kind of item, `add` and `remove` hold the loop's lock for all changes, so an item joins every common mode
// or none. Callbacks, wake-ups and log messages follow after the lock is released. Code that removes an item keeps a
// reference to the item until then, because the item's deinit may be user code.

extension GRunLoop {
    /// Returns the modes that an item joins when it is added to `name`.
    func modesToJoinLocked(_ name: Mode) -> [ModeState] {
        guard name == .common else { return [modeLocked(name)] }
        return commonModesInOrderLocked.map(modeLocked)
    }

    /// Returns the modes that an item leaves when it is removed from `name`. Does not create a mode.
    func modesToLeaveLocked(_ name: Mode) -> [ModeState] {
        guard name == .common else { return modes[name].map { [$0] } ?? [] }
        return commonModesInOrderLocked.compactMap { modes[$0] }
    }

    private var commonModesInOrderLocked: [Mode] {
        if let known = sortedCommonModes { return known }
        let names = commonModes.sorted { $0.rawValue < $1.rawValue }
        sortedCommonModes = names
        return names
    }

    func refuseOtherLoop(_ kind: StaticString, home: Home?) {
        home?.require(self, for: kind)
        Log.misuse(
            "add",
            "this \(kind) is in another run loop; remove it from every mode there, or invalidate it, before "
                + "it is added here")
    }

    /// Makes a mode one of the common modes, permanently. Every common item joins the mode immediately. From then on,
    /// the mode serves the home context and, on the main loop, the main dispatch queue.
    ///
    /// - Parameter name: the mode. A call with ``Mode/common`` is logged and ignored, because that name is not a mode
    ///   of its own.
    /// - Throws: ``SystemError`` if a common descriptor source cannot be watched in the mode. In that case, the mode
    ///   does not become common.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddCommonMode`.
    public func addCommonMode(_ name: Mode) throws(SystemError) {
        guard name != .common else {
            return Log.misuse(
                "addCommonMode",
                ".common stands for all common modes and cannot become one of them; pass the name of a mode")
        }
        guard !refuses("addCommonMode") else { return }
        var joined: [Source] = []
        var effects = DeferredEffects()
        // Sends the kick even if the closure below throws.
        defer { effects.kick.take()?.send() }
        try lock.withLock { () throws(SystemError) in
            guard !isDead, !commonModes.contains(name) else { return }
            makeTimersOfCommonPerformsLocked()
            let items = commonItems.ordered
            // Descriptor sources join first, because only they can fail. So if a source cannot join, no item of another
            // kind has to be removed again.
            try joinAllLocked(
                items.compactMap { if case .descriptor(let source) = $0 { (source, modeLocked(name)) } else { nil } },
                &effects)
            commonModes.insert(name)
            if let mode = modes[name] {
                mode.isCommon = true
                mode.contextsVersion += 1
                restartSleepLocked(mode, &effects.kick)
            }
            // The new mode fires timers of equal date in the order in which they joined. So timers join in the order in
            // which the default mode fires them. The loop below skips these timers.
            let timers = items.compactMap { if case .timer(let timer) = $0 { timer } else { nil } }
            for timer in defaultMode.heap.inFiringOrder(timers, in: defaultMode) {
                _ = joinLocked(timer, modeLocked(name), &effects)
            }
            for item in items {
                switch item {
                case .source(let source): if joinLocked(source, modeLocked(name)) { joined.append(source) }
                case .descriptor: break
                case .timer(let timer): _ = joinLocked(timer, modeLocked(name), &effects)
                case .observer(let observer): _ = joinLocked(observer, modeLocked(name), &effects)
                case .idleQueue(let queue): _ = joinLocked(queue, modeLocked(name), &effects)
                case .port(let port): _ = joinLocked(port, modeLocked(name), &effects)
                case .context(let context): effects.kick.merge(joinLocked(context, modeLocked(name)))
                }
            }
            for index in performing.indices where performing[index].isCommon {
                performing[index].join(modeLocked(name))
            }
            // A pass that did not serve common work may have used up the wake-up for this work. So the loop is woken
            // again.
            if let mode = modes[name], sleep.isIn(mode), hasLeftoversLocked(mode) {
                effects.kick.merge(wakeUpIfElsewhereLocked())
            }
        }
        effects.kick.take()?.send()
        for source in joined { source.schedule?(self, name) }
    }
}
