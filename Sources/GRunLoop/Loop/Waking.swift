// SPDX-License-Identifier: Apache-2.0
// Waking a loop: the reasons for another pass, and the ways to end a sleep.

/// The reasons why the loop, or its host, makes another pass before it sleeps. Guarded by the loop's lock.
///
///                 pending once                                           until
///     wakeUp      wakeUp() or stop() is called while a run is under      a pass serves it
///                 way; an outer run's deadline passes; the run heard a
///                 wake-up that a nested run has served; idle work was
///                 called
///     hostWakeUp  wakeUp() is called while no run is under way; a        the host's next dispatch turns it into
///                 dispatch ends and leaves wakeUp                        wakeUp; a run that no host has called drops
///                                                                        it
///     work        a callback of the host enqueues, signals, runs the     the host's next dispatch begins
///                 loop or pushes a mode; a callout runs a foreign loop
///     news        another thread enqueues or signals                     the host's next dispatch begins
///     pass        a pass is cut; a loop is made or attached              the host's next pass begins
struct PendingPasses: OptionSet {
    let rawValue: UInt8

    /// For the innermost run.
    static let wakeUp = PendingPasses(rawValue: 1 << 0)
    /// For the host: it makes a pass, even if it sleeps.
    static let hostWakeUp = PendingPasses(rawValue: 1 << 1)
    /// For the host: it makes a pass if blocks or signals are left when it looks.
    static let work = PendingPasses(rawValue: 1 << 2)
    /// Like ``work``, but a host that is about to sleep may sleep (items 74 and 75).
    static let news = PendingPasses(rawValue: 1 << 3)
    /// For the host: it makes a pass, even without work.
    static let pass = PendingPasses(rawValue: 1 << 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    mutating func add(_ what: PendingPasses) { formUnion(what) }
    mutating func clear(_ what: PendingPasses) { subtract(what) }

    /// Called when a dispatch of the host begins. A wake-up of the host becomes a wake-up of its run; `work` and `news`
    /// are no longer pending.
    mutating func takeFromHost() {
        if contains(.hostWakeUp) { add(.wakeUp) }
        clear([.hostWakeUp, .work, .news])
    }

    /// Called when no run is under way any more. A wake-up that is left is for the host, not for the next run (item
    /// 68).
    mutating func handToHost() {
        guard contains(.wakeUp) else { return }
        clear(.wakeUp)
        add(.hostWakeUp)
    }
}

extension GRunLoop {
    /// Wakes the loop if it sleeps. It then makes another pass, and handles whatever was signalled, enqueued or removed
    /// meanwhile.
    ///
    /// Several calls have the effect of one. Where a host drives, the host gives the loop a pass. If neither a run nor
    /// a host drives the loop, the wake-up is forgotten, and a later run does not count it. If another pass comes
    /// before the next sleep anyway, the call changes nothing.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
    public func wakeUp() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked() }?.send()
    }

    /// Which runs a wake-up forces to make another pass before they sleep. Only runs whose stage counts wake-ups are
    /// meant.
    enum Reach {
        /// The innermost run only, because it is stopped.
        case innermostRun
        /// If another thread calls, every run. If the loop's own thread calls, only the innermost run, because Core
        /// Foundation also loses such a wake-up for an outer run (item 73).
        case everyRunFromElsewhere
        /// Every run: something was delivered, perhaps for another mode than the innermost run's.
        case everyRun
    }

    /// Wakes the loop, unless it makes another pass before it sleeps anyway (items 68 to 71). The caller sends the kick
    /// after it has released the lock. With the lock held.
    func wakeUpLocked(for reach: Reach = .everyRunFromElsewhere) -> Kick? {
        // If a callout runs a foreign loop, the stage of the run around it counts wake-ups. If no run is under way, the
        // host sees the wake-up in its next prepare.
        if let innermost {
            if reach != .innermostRun, !isHeardLocked(by: innermost), reach == .everyRun || !isCurrent {
                noteHeardLocked(from: innermost)
            }
            guard innermost._withUnsafeGuaranteedRef({ $0.run.stage.countsWakeUps }) else { return nil }
            pendingPasses.add(.wakeUp)
        } else {
            pendingPasses.add(.hostWakeUp)
        }
        return sleep.kick(self)
    }

    /// Wakes the loop, unless the caller is the loop's own thread.
    func wakeUpIfElsewhereLocked() -> Kick? { isCurrent ? nil : wakeUpLocked() }

    /// Wakes every run, because something was delivered: see ``wakeUp()``.
    package func wakeUpEveryRun() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked(for: .everyRun) }?.send()
    }

    /// Wakes the loop for new idle work. The loop's own thread calls idle work before it sleeps, so it needs no
    /// wake-up, unless it is about to sleep already. With the lock held.
    func wakeUpForIdleWorkLocked() -> Kick? { isCurrent && !sleep.isUnderWay ? nil : wakeUpLocked() }

    /// Whether a wake-up is pending and every run knows it. If so, a further wake-up need not walk along the frames.
    /// With the lock held.
    private func isHeardLocked(by innermost: Unmanaged<Frame>) -> Bool {
        pendingPasses.contains(.wakeUp) && innermost._withUnsafeGuaranteedRef { $0.run.heardWakeUp }
    }

    /// Makes every run whose stage counts wake-ups begin another pass before it sleeps, even if a nested run serves the
    /// wake-up. With the lock held.
    @inline(__always) private func noteHeardLocked(from innermost: Unmanaged<Frame>) {
        innermost._withUnsafeGuaranteedRef { frame in
            if frame.isOutermost { frame.run.hearWakeUp() } else { noteHeardByAllLocked() }
        }
    }

    @inline(never) private func noteHeardByAllLocked() {
        for frame in framesLocked { frame.run.hearWakeUp() }
    }

    /// Called before a sleep. Makes a wake-up pending if the run was stopped, or if a nested run has served a wake-up
    /// that counted for this run. So the run does not sleep. In the second case Core Foundation sleeps until something
    /// else happens. With the lock held.
    func restoreWakeUpLocked(_ run: Run) {
        guard run.isStopped || run.heardWakeUp else { return }
        run.heardWakeUp = false
        pendingPasses.add(.wakeUp)
    }

    /// Notes that something was enqueued or signalled, without a wake-up. If a pass is under way on this thread, that
    /// pass handles it. A call by another thread or by a callback of the host is for the host's next iteration, but
    /// does not cause that iteration (item 74). With the lock held.
    func noteEnqueuedLocked() {
        if !isCurrent {
            pendingPasses.add(.news)
        } else if isHostInControl {
            pendingPasses.add(.work)
        }
    }

    /// Whether no pass of the loop is under way, or a callout of the pass runs a foreign loop. With the lock held.
    var isHostInControl: Bool {
        innermost.map { $0._withUnsafeGuaranteedRef { !$0.run.stage.isInPass } } ?? true
    }

    // MARK: What ends a sleep without a pass, and how

    /// Sends the kick without the lock. The lock is held before and after.
    @inline(__always) func sendLocked(_ kick: consuming Kick?) {
        if let kick { unlock(toSend: kick) }
    }

    private func unlock(toSend kick: consuming Kick) {
        lock.unlock()
        kick.send()
        lock.lock()
    }

    /// Called when a mode's timers have changed. If a sleep in the mode would now last too long, it ends without a pass
    /// (item 76). With the lock held.
    func rearmLocked(_ mode: ModeState) -> Kick? {
        guard sleep.isIn(mode), mode.heap.wakeUpTime() < sleep.until else { return nil }
        return sleep.kick(self)
    }

    /// Called when a mode has its first descriptor, serves other contexts, or a message has arrived. A sleep in the
    /// mode does not watch these yet, so it ends and begins again (item 78). Inlined, because a call costs a port's
    /// message 70 instructions. With the lock held.
    @inline(__always) func restartSleepLocked(_ mode: ModeState, _ kick: inout Kick?) {
        if sleep.isIn(mode) { kick.merge(sleep.kick(self)) }
    }
}
