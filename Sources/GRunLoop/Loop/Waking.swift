// SPDX-License-Identifier: Apache-2.0
// What wakes a loop: the passes that are owed, and to whom, and what ends a sleep.

/// What keeps the loop, or its host, from sleeping before another pass. Guarded by the loop's lock.
///
///                 owed when                                              settled when
///     wakeUp      wakeUp() or stop() is called, and a run is under way;  a pass serves it
///                 an outer run's deadline passes, or it heard a wake-up
///                 that a nested run has served; idle work was called
///     hostWakeUp  the same, and none is; a dispatch leaves wakeUp        the host's next dispatch makes it its wakeUp;
///                                                                        a run of ours outside any dispatch drops it
///     work        a callback of the host enqueues, signals, makes a run, the host's next dispatch begins
///                 runs a foreign loop in a callout, pushes a mode
///     news        another thread enqueues or signals                     the host's next dispatch begins
///     pass        a pass is cut; a loop is made or attached              the host's next pass begins
struct Owed: OptionSet {
    let rawValue: UInt8

    /// To the innermost run.
    static let wakeUp = Owed(rawValue: 1 << 0)
    /// To the host: it makes a pass, also if it sleeps.
    static let hostWakeUp = Owed(rawValue: 1 << 1)
    /// To the host, if blocks or signals are left when it looks.
    static let work = Owed(rawValue: 1 << 2)
    /// The same, but a host that is about to sleep sleeps (items 74 and 75).
    static let news = Owed(rawValue: 1 << 3)
    /// To the host, even without work.
    static let pass = Owed(rawValue: 1 << 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    mutating func owe(_ what: Owed) { formUnion(what) }
    mutating func settle(_ what: Owed) { subtract(what) }

    /// A dispatch of the host begins: what was owed to the host is owed to its run now.
    mutating func takeFromHost() {
        if contains(.hostWakeUp) { owe(.wakeUp) }
        settle([.hostWakeUp, .work, .news])
    }

    /// Nothing of ours is under way any more: what is left of a wake-up is the host's, not the next run's (item 68).
    mutating func handToHost() {
        guard contains(.wakeUp) else { return }
        settle(.wakeUp)
        owe(.hostWakeUp)
    }
}

extension GRunLoop {
    /// Wakes the loop if it sleeps: it makes another pass, in which whatever was signalled, enqueued or removed
    /// meanwhile counts.
    ///
    /// Several calls are one wake-up. Where a host drives, the host gives the loop a pass. When nothing drives the loop
    /// the wake-up is forgotten: a later run does not count it. When another pass comes before the next sleep anyway,
    /// it changes nothing.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
    public func wakeUp() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked() }?.send()
    }

    /// Which of the runs for which a wake-up counts now make a pass before they sleep.
    enum Reach {
        /// The one that is stopped.
        case innermostRun
        /// If another thread asks, every one; else the innermost one, though an outer one may be meant (item 73).
        case everyRunFromElsewhere
        /// Every one: something is delivered, and a nested run may be in another mode.
        case everyRun
    }

    /// With the lock held: wakes the loop, unless it would not sleep before another pass anyway (items 68 to 71).
    func wakeUpLocked(for reach: Reach = .everyRunFromElsewhere) -> Kick? {
        // Where a callout of ours runs a foreign loop, its run counts wake-ups. Without a run the host's next prepare
        // sees it.
        if let innermost {
            if reach != .innermostRun, !isHeardLocked(by: innermost), reach == .everyRun || !isCurrent {
                noteHeardLocked(from: innermost)
            }
            guard innermost._withUnsafeGuaranteedRef({ $0.run.stage.countsWakeUps }) else { return nil }
            owed.owe(.wakeUp)
        } else {
            owed.owe(.hostWakeUp)
        }
        return sleep.kick(self)
    }

    /// The same, unless it is the loop's own thread that asks.
    func wakeUpIfElsewhereLocked() -> Kick? { isCurrent ? nil : wakeUpLocked() }

    /// As ``wakeUp()``, after something was delivered.
    func wakeUpEveryRun() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked(for: .everyRun) }?.send()
    }

    /// With the lock held: idle work has come. The loop's own thread comes to it before it sleeps, unless it is about
    /// to.
    func wakeUpForIdleWorkLocked() -> Kick? { isCurrent && !sleep.isUnderWay ? nil : wakeUpLocked() }

    /// With the lock held: a wake-up is owed, of which the innermost run and so the outer ones have heard. Of a burst
    /// only the first one walks along the frames.
    private func isHeardLocked(by innermost: Unmanaged<Frame>) -> Bool {
        owed.contains(.wakeUp) && innermost._withUnsafeGuaranteedRef { $0.run.heardWakeUp }
    }

    /// With the lock held: every run in which a wake-up counts makes a pass before it sleeps, though a nested one may
    /// serve it.
    @inline(__always) private func noteHeardLocked(from innermost: Unmanaged<Frame>) {
        innermost._withUnsafeGuaranteedRef { frame in
            if frame.isOutermost { frame.run.hearWakeUp() } else { noteHeardByAllLocked() }
        }
    }

    @inline(never) private func noteHeardByAllLocked() {
        for frame in framesLocked { frame.run.hearWakeUp() }
    }

    /// With the lock held, before a sleep: there is none if the run was stopped, or if a nested run has served a
    /// wake-up that counted for this run. Core Foundation sleeps in the latter case until something else happens.
    func recallWakeUpLocked(_ run: Run) {
        guard run.isStopped || run.heardWakeUp else { return }
        run.heardWakeUp = false
        owed.owe(.wakeUp)
    }

    /// With the lock held: something was enqueued or signalled, without a wake-up. It is for the pass under way or,
    /// from a callback of the host or another thread, for the host's next iteration, which it does not cause (item 74).
    func noteEnqueuedLocked() {
        if !isCurrent {
            owed.owe(.news)
        } else if isHostInControl {
            owed.owe(.work)
        }
    }

    /// With the lock held: no pass of ours is under way, or a callout of one runs a foreign loop.
    var isHostInControl: Bool {
        innermost.map { $0._withUnsafeGuaranteedRef { !$0.run.stage.isInPass } } ?? true
    }

    // MARK: What ends a sleep without a pass, and how

    /// With the lock held before and after.
    @inline(__always) func sendLocked(_ kick: consuming Kick?) {
        if let kick { unlock(toSend: kick) }
    }

    private func unlock(toSend kick: consuming Kick) {
        lock.unlock()
        kick.send()
        lock.lock()
    }

    /// With the lock held, a mode's timers have changed: a sleep in it that would now last too long ends, without a
    /// pass (item 76).
    func rearmLocked(_ mode: ModeState) -> Kick? {
        guard sleep.isIn(mode), mode.heap.wakeUpTime() < sleep.until else { return nil }
        return sleep.kick(self)
    }

    /// With the lock held, a mode has a first descriptor, serves other contexts, or a message has come: a sleep in it,
    /// which does not watch them, begins again (item 78). In place: to call it costs a port's message 70 instructions.
    @inline(__always) func watchAnewLocked(_ mode: ModeState, _ kick: inout Kick?) {
        if sleep.isIn(mode) { kick.merge(sleep.kick(self)) }
    }
}
