// SPDX-License-Identifier: Apache-2.0
// Adds delayed performs to modes, and removes them.

extension GRunLoop {
    /// Adds a closure that is called once, in the first of the modes that runs at `deadline` or later.
    ///
    /// A perform in one mode and without a tolerance is a slot in the mode's heap. A perform in several modes or with a
    /// tolerance is a timer.
    ///
    /// - Parameter tolerance: how long after `deadline` the closure may be called. Zero or a negative value means no
    ///   tolerance.
    /// - Returns: the perform's name. If `names` is empty, or the loop has ended, the closure is dropped, and the
    ///   result is ``PerformName/none``.
    ///
    /// Threads: any.
    package func addPerform(
        at deadline: Nanoseconds, tolerance: Duration = .zero, inModes names: [Mode],
        _ body: consuming @escaping @Sendable () -> Void
    ) -> PerformName {
        // The usual case.
        if names.count == 1, names[0] == .default, tolerance <= .zero { return addPerform(at: deadline, body) }
        var effects = DeferredEffects()
        defer { effects.carryOut() }
        lock.lock()
        guard !isDead, !names.isEmpty else {
            lock.unlock()
            dropClosure(body)
            return .none
        }
        defer { lock.unlock() }
        fixHomeLocked()
        let modes = names.count == 1 ? modesToJoinLocked(names[0]) : distinctModesToJoinLocked(names)
        let isCommon = names.contains(.common)
        let perform = modes[0].insert(body, at: deadline, isCommon: isCommon)
        if modes.count > 1 || tolerance > .zero {
            let timer = makeTimerLocked(of: perform, in: modes[0], tolerance, isCommon: isCommon)
            for mode in modes.dropFirst() { _ = joinLocked(timer, mode, &effects) }
        }
        effects.kick.merge(rearmLocked(modes[0]))
        return perform
    }

    private func distinctModesToJoinLocked(_ names: [Mode]) -> [ModeState] {
        var known: Set<ObjectIdentifier> = []
        return names.flatMap(modesToJoinLocked).filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    /// Adds a closure that is called once in the default mode, at `deadline` or later.
    func addPerform(
        at deadline: Nanoseconds, _ body: consuming @escaping @Sendable () -> Void
    ) -> PerformName {
        lock.lock()
        guard !isDead else {
            lock.unlock()
            dropClosure(body)
            return .none
        }
        fixHomeLocked()
        let perform = defaultMode.insert(body, at: deadline, isCommon: false)
        let kick = rearmLocked(defaultMode)
        lock.unlock()
        kick?.send()
        return perform
    }

    /// Cancels a delayed perform. Returns false if the closure was called, is being called, or was cancelled before.
    /// Threads: any.
    @discardableResult package func removePerform(_ perform: PerformName) -> Bool {
        guard !Fork.isChild else { return false }
        lock.lock()
        let occupant =
            perform.mode == defaultMode.number
            ? defaultMode.remove(perform.name)
            : modesByNumber[perform.mode]?.remove(perform.name)
        switch consume occupant {
        case .perform(let body):
            lock.unlock()
            dropClosure(body)
            return true
        case .timer(let timer):
            // Under the same lock, because otherwise the loop could fire the timer before this call invalidates it.
            timer.invalidate(holding: lock)
            return true
        case nil:
            lock.unlock()
            return false
        }
    }

    /// Replaces common performs by timers. Call this function with the lock held, before another mode becomes common.
    /// The performs must also join that mode, and only a timer can be in several modes.
    func makeTimersOfCommonPerformsLocked() {
        // Common performs are in slots only while the default mode is the only common mode.
        guard commonModes.count == 1 else { return }
        for name in defaultMode.heap.commonPerforms {
            let perform = PerformName(mode: defaultMode.number, name: name)
            _ = makeTimerLocked(of: perform, in: defaultMode, .zero, isCommon: true)
        }
    }

    /// Replaces a perform by a timer of the same deadline. A timer can be in several modes, and can have a tolerance.
    /// Call this function with the lock held.
    private func makeTimerLocked(
        of perform: PerformName, in mode: ModeState, _ tolerance: Duration, isCommon: Bool
    ) -> Timer {
        let timer = mode.replace(perform.name) { deadline, body in
            let timer = Timer(date: deadline, period: 0, tolerance: tolerance, at: deadline) { [unowned self] _ in
                callDelayed(perform, body)
            }
            timer.dates.makeExtrasIfNeeded().isPerform = true
            return timer
        }
        _ = timer.guardian.bind(to: lock)
        if isCommon {
            timer.isCommonItem = true
            commonItems.insert(.timer(timer), for: timer)
        }
        return timer
    }
}
