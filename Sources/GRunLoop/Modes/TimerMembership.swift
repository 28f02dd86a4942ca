// SPDX-License-Identifier: Apache-2.0
// Timers come and go, and move.

extension GRunLoop {
    /// Adds a timer to a mode, or to all common modes. A loop that sleeps in the mode is re-armed at once. A timer that
    /// is there already, invalid, or in another loop, is left alone; that it is in another loop is logged. One whose
    /// closure belongs to an actor that lives on another loop ends the process, with a message.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopAddTimer`.
    public func add(_ timer: Timer, forMode name: Mode) {
        guard !refuses("add(Timer)") else { return }
        var kick: Kick?
        let isTaken = lock.withLock { () -> Bool in
            guard !isDead else { return false }
            guard timer.guardian.bind(to: lock) else { return true }
            defer { unbindIfUnusedLocked(timer) }
            guard timer.isValidLocked else { return false }
            timer.homeLocked?.require(self, for: "Timer")
            fixHomeLocked()
            // Checked in this order, because comparing unequal strings reads both to their ends.
            if name == .default {
                kick = joinLocked(timer, defaultMode)
            } else if name != .common {
                kick = joinLocked(timer, modeLocked(name))
            } else {
                for mode in modesToJoinLocked(name) { kick.merge(joinLocked(timer, mode)) }
                timer.isCommonItem = true
                commonItems.insert(.timer(timer), for: timer)
            }
            return false
        }
        kick?.send()
        if isTaken { refuseOtherLoop("Timer", home: timer.guardian.withLock { timer.homeLocked }) }
    }

    /// Removes a timer from a mode, or from all common modes. It stays valid, and keeps its dates.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopRemoveTimer`.
    public func remove(_ timer: Timer, forMode name: Mode) {
        guard !Fork.refuses("remove(Timer)") else { return }
        _ = lock.withLock { () -> [Any] in
            guard timer.guardian.isBound(to: lock) else { return [] }
            var released: [Any] = []
            if name == .common {
                guard let item = commonItems.remove(timer) else { return [] }
                timer.isCommonItem = false
                released.append(item)
            }
            for mode in modesToLeaveLocked(name) where timer.isIn(mode) {
                released.append(mode.remove(timer).takeRetainedValue())
            }
            unbindIfUnusedLocked(timer)
            return released
        }
    }

    /// Whether the timer is in the mode; for ``Mode/common``, whether it was added to the common modes as such.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopContainsTimer`.
    public func contains(_ timer: Timer, forMode name: Mode) -> Bool {
        guard !Fork.refuses("contains(Timer)") else { return false }
        return lock.withLock {
            guard timer.guardian.isBound(to: lock) else { return false }
            if name == .common { return timer.isCommonItem }
            return modes[name].map(timer.isIn) ?? false
        }
    }

    // MARK: With the lock held

    func joinLocked(_ timer: Timer, _ mode: ModeState) -> Kick? {
        guard timer.isInNoMode || !timer.isIn(mode) else { return nil }
        mode.insert(timer)
        return rearmLocked(mode)
    }

    /// Returns what is to be released after the lock. The caller holds the timer for that long.
    func removeEverywhereLocked(_ timer: Timer) -> Item? {
        while let mode = timer.firstMode { mode._withUnsafeGuaranteedRef { $0.remove(timer).release() } }
        let item = timer.isCommonItem ? commonItems.remove(timer) : nil
        timer.isCommonItem = false
        unbindIfUnusedLocked(timer)
        return item
    }

    func unbindIfUnusedLocked(_ timer: Timer) {
        guard timer.isInNoMode, !timer.isCommonItem else { return }
        timer.guardian.unbind()
    }

    /// The timer begins to fire: it leaves every heap, so that a nested run does not see it.
    func suspendInHeapsLocked(_ timer: Timer) {
        timer.forEachMode { $0.takeOut(timer) }
    }

    /// The timer has fired: it goes back into the heaps with its new deadline, behind those that are equal.
    func resumeInHeapsLocked(_ timer: Timer) -> Kick? {
        var kick: Kick?
        timer.forEachMode { mode in
            mode.heap.insert(timer, in: mode)
            kick.merge(rearmLocked(mode))
        }
        return kick
    }

    /// Changes the timer's deadline or tolerance, and moves it to its new place in every heap.
    func changeLocked(_ timer: Timer, _ change: () -> Void) -> Kick? {
        guard !timer.isFiring else {
            change()
            return nil
        }
        suspendInHeapsLocked(timer)
        change()
        return resumeInHeapsLocked(timer)
    }

    /// The same for a new fire date: set by another thread, it also wakes the loop (item 77).
    func moveLocked(_ timer: Timer, _ change: () -> Void) -> Kick? {
        var kick = changeLocked(timer, change)
        if !isCurrent { kick.merge(wakeUpLocked()) }
        return kick
    }
}
