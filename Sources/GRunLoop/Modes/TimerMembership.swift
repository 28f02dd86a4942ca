// SPDX-License-Identifier: Apache-2.0
// Timers come and go, and move.
//
// The same three steps for every kind of item: `add` resolves the common modes, `join` puts the item into one mode, and what is to be
// told or woken because of it happens after the lock. What leaves a mode is released after the lock too: its deinit may be user code.

extension GRunLoop {
    /// Adds a timer to a mode, or to all common modes. A loop that sleeps in the mode is re-armed at once. A timer that is there
    /// already, invalid, or in another loop, is left alone; the latter is logged.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddTimer`.
    public func add(_ timer: Timer, forMode name: Mode) {
        guard !refuses("add(Timer)") else { return }
        guard name == .common else { return join(timer, name) }
        guard timer.isValid, timer.isInNoLoopBut(self) else { return refuseIfValid(timer.isValid, "Timer") }
        for mode in becomeCommon(.timer(timer), timer) { join(timer, mode) }
    }

    func join(_ timer: Timer, _ name: Mode) {
        enum Outcome {
            case done(Kick?)
            case taken
        }
        let outcome = lock.withLock { () -> Outcome in
            guard !isDead else { return .done(nil) }
            guard timer.guardian.bind(to: lock) else { return .taken }
            defer { if timer.places.isEmpty { timer.guardian.unbind() } }
            guard timer.isValidLocked else { return .done(nil) }
            let mode = modeLocked(name)
            fixHomeLocked()
            guard !timer.places.contains(mode) else { return .done(nil) }
            timer.loop = self
            mode.insert(timer)
            return .done(rearmLocked(mode))
        }
        switch outcome {
        case .done(let kick): kick?.send()
        case .taken: refuseOtherLoop("Timer")
        }
    }

    /// Removes a timer from a mode, or from all common modes. It stays valid, and keeps its dates.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
    public func remove(_ timer: Timer, forMode name: Mode) {
        let names = name == .common ? ceaseCommon(timer) : [name]
        for name in names {
            _ = lock.withLock { () -> Timer? in
                guard timer.guardian.isBound(to: lock), let mode = modes[name], timer.places.contains(mode) else {
                    return nil
                }
                return removeLocked(timer, from: mode)
            }
        }
    }

    /// Whether the timer is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
    public func contains(_ timer: Timer, forMode name: Mode) -> Bool {
        lock.withLock {
            guard timer.guardian.isBound(to: lock) else { return false }
            if name == .common { return commonItems.contains(timer) }
            return modes[name].map(timer.places.contains) ?? false
        }
    }

    func removeLocked(_ timer: Timer, from mode: ModeState) -> Timer {
        let removed = mode.remove(timer)
        if timer.places.isEmpty {
            timer.loop = nil
            timer.guardian.unbind()
        }
        return removed
    }

    func removeEverywhereLocked(_ timer: Timer) -> [Any] {
        var removed: [Any] = timer.places.modes.map { removeLocked(timer, from: $0) }
        if let item = commonItems.remove(timer) { removed.append(item) }
        return removed
    }

    /// The timer begins to fire: it leaves every heap, so that a nested run does not see it.
    func suspendInHeapsLocked(_ timer: Timer) {
        for mode in timer.places.modes { mode.takeOut(timer) }
    }

    /// The timer has fired: it goes back into the heaps with its new deadline, behind those that are equal.
    func resumeInHeapsLocked(_ timer: Timer) -> Kick? {
        var kick: Kick?
        for mode in timer.places.modes {
            mode.heap.insert(timer, in: mode)
            kick = rearmLocked(mode) ?? kick
        }
        return kick
    }

    /// The timer's deadline or tolerance is another: it finds its new place in every heap.
    func timerChangedLocked(_ timer: Timer) -> Kick? {
        guard !timer.isFiring else { return nil }
        suspendInHeapsLocked(timer)
        return resumeInHeapsLocked(timer)
    }

    /// The timer's date was set: on another thread that also wakes the loop (item 77).
    func timerMovedLocked(_ timer: Timer) -> Kick? {
        let kick = timerChangedLocked(timer)
        return isCurrent ? kick : wakeUpLocked() ?? kick
    }
}

extension GRunLoop.Timer {
    func isInNoLoopBut(_ loop: GRunLoop) -> Bool { guardian.withLock { self.loop == nil || self.loop === loop } }
}
