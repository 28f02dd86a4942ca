// SPDX-License-Identifier: Apache-2.0
// Wakes a loop: the reasons for another pass, and the ways to end a sleep.

/// The reasons why the loop makes another pass before it, or its host, sleeps. Guarded by the loop's lock.
///
///                 pending once                                           until
///     wakeUp      wakeUp() or stop() is called while a run is under      a pass serves it
///                 way; an outer run's deadline passes; a nested run has
///                 served a wake-up that also counted for an outer run;
///                 idle work was called
///     hostWakeUp  wakeUp() is called while no run is under way; a        the host's next dispatch turns it into
///                 dispatch ends while wakeUp is pending                  wakeUp; a run outside the host's dispatches
///                                                                        drops it
///     work        a callback of the host enqueues, signals, runs the     the host's next dispatch begins
///                 loop, or pushes or pops a mode; a callout runs a
///                 foreign loop
///     news        another thread enqueues or signals                     the host's next dispatch begins
///     pass        a pass is cut; a loop is made or attached              the host's next pass begins
struct PendingPasses: OptionSet {
    let rawValue: UInt8

    /// The innermost run makes another pass.
    static let wakeUp = PendingPasses(rawValue: 1 << 0)
    /// The host gives the loop a pass. If the host sleeps, a kick ends the sleep.
    static let hostWakeUp = PendingPasses(rawValue: 1 << 1)
    /// The host gives the loop a pass if a block waits or a source is signalled when GLib calls the hub's `prepare` or
    /// `check`.
    static let work = PendingPasses(rawValue: 1 << 2)
    /// Like ``work``, but has no effect once beforeWaiting has announced that the host will sleep (items 74 and 75).
    static let news = PendingPasses(rawValue: 1 << 3)
    /// The host gives the loop a pass, even without work.
    static let pass = PendingPasses(rawValue: 1 << 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    mutating func add(_ what: PendingPasses) { formUnion(what) }
    mutating func clear(_ what: PendingPasses) { subtract(what) }

    /// Called when a dispatch of the host begins. A pending `hostWakeUp` becomes a `wakeUp` of the host's run. `work`
    /// and `news` are no longer pending.
    mutating func takeFromHost() {
        if contains(.hostWakeUp) { add(.wakeUp) }
        clear([.hostWakeUp, .work, .news])
    }

    /// Called when no run is under way any more. A pending `wakeUp` becomes a `hostWakeUp`, because the wake-up must
    /// not count for the next run (item 68).
    mutating func handToHost() {
        guard contains(.wakeUp) else { return }
        clear(.wakeUp)
        add(.hostWakeUp)
    }
}

extension GRunLoop {
    /// Wakes the loop if it sleeps. The loop then makes another pass, and handles everything that was signalled,
    /// enqueued or removed during the sleep.
    ///
    /// Several calls before the loop's next pass have the same effect as one call. If a host drives the loop, the host
    /// gives the loop a pass. If neither a run nor a host drives the loop, the wake-up is dropped, and does not affect
    /// a later run. If another pass comes before the next sleep anyway, the call changes nothing.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
    public func wakeUp() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked() }?.send()
    }

    /// The runs that a wake-up forces to make another pass before they sleep. A run in a stage that ignores wake-ups is
    /// not affected.
    enum Reach {
        /// Only the innermost run, because that run was stopped.
        case innermostRun
        /// Every run, if another thread calls. If the loop's own thread calls, only the innermost run: Core Foundation
        /// also loses such a wake-up for an outer run (item 73).
        case everyRunFromElsewhere
        /// Every run, because an event was delivered, perhaps for a mode other than the innermost run's mode.
        case everyRun
    }

    /// Wakes the loop, unless it makes another pass before it sleeps anyway (items 68 to 71). Returns a kick if the
    /// loop sleeps. The caller sends the kick after it has released the lock.
    func wakeUpLocked(for reach: Reach = .everyRunFromElsewhere) -> Kick? {
        // While a callout runs a foreign loop, the stage of the callout's run counts wake-ups. If no run is under way,
        // the hub's next `prepare` sees the wake-up.
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

    func wakeUpIfElsewhereLocked() -> Kick? { isCurrent ? nil : wakeUpLocked() }

    /// Wakes every run, because an event was delivered: see ``wakeUp()``.
    package func wakeUpEveryRun() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked(for: .everyRun) }?.send()
    }

    /// Wakes the loop for new idle work. The loop's own thread calls idle work before each sleep. So work that this
    /// thread adds needs a wake-up only if a sleep is already about to begin.
    func wakeUpForIdleWorkLocked() -> Kick? { isCurrent && !sleep.isUnderWay ? nil : wakeUpLocked() }

    /// Returns true if a wake-up is pending and every run has already noted it. Then a further wake-up need not visit
    /// the frames.
    private func isHeardLocked(by innermost: Unmanaged<Frame>) -> Bool {
        pendingPasses.contains(.wakeUp) && innermost._withUnsafeGuaranteedRef { $0.run.heardWakeUp }
    }

    /// Makes every run whose stage counts wake-ups begin another pass before it sleeps, even if a nested run serves the
    /// wake-up.
    @inline(__always) private func noteHeardLocked(from innermost: Unmanaged<Frame>) {
        innermost._withUnsafeGuaranteedRef { frame in
            if frame.isOutermost { frame.run.hearWakeUp() } else { noteHeardByAllLocked() }
        }
    }

    @inline(never) private func noteHeardByAllLocked() {
        for frame in framesLocked { frame.run.hearWakeUp() }
    }

    /// Called before a sleep. Makes a wake-up pending if the run was stopped, or if a nested run has served a wake-up
    /// that counted for this run. The pending wake-up keeps the run from sleeping. Core Foundation sometimes sleeps in
    /// these cases (item 59).
    func restoreWakeUpLocked(_ run: Run) {
        guard run.isStopped || run.heardWakeUp else { return }
        run.heardWakeUp = false
        pendingPasses.add(.wakeUp)
    }

    /// Records that a block was enqueued or a source was signalled without a wake-up. During a pass on this thread
    /// there is nothing to record, because a pass serves the block or source before the loop sleeps. If another thread
    /// or a callback of the host calls this function, the host's next iteration serves the block or source. This
    /// function does not cause that iteration (item 74).
    func noteEnqueuedLocked() {
        if !isCurrent {
            pendingPasses.add(.news)
        } else if isHostInControl {
            pendingPasses.add(.work)
        }
    }

    /// True if no pass of the loop is under way, or if a callout of the pass runs a foreign loop.
    var isHostInControl: Bool {
        innermost.map { $0._withUnsafeGuaranteedRef { !$0.run.stage.isInPass } } ?? true
    }

    // MARK: What ends a sleep without a pass, and how

    /// Releases the lock, sends the kick, and takes the lock again.
    @inline(__always) func sendLocked(_ kick: consuming Kick?) {
        if let kick { unlock(toSend: kick) }
    }

    private func unlock(toSend kick: consuming Kick) {
        lock.unlock()
        kick.send()
        lock.lock()
    }

    /// Called when a mode's timers have changed. If a sleep in the mode would now last too long, returns a kick, which
    /// ends the sleep without a pass (item 76).
    func rearmLocked(_ mode: ModeState) -> Kick? {
        guard sleep.isIn(mode), mode.heap.wakeUpTime() < sleep.until else { return nil }
        return sleep.kick(self)
    }

    /// Called when a mode gets its first descriptor or a port's message, or when its contexts change. A sleep in the
    /// mode does not notice these changes, so a kick ends the sleep. If nothing is ready, the loop sleeps again (item
    /// 78). Inlined, because a call would cost 70 instructions for each message of a port.
    @inline(__always) func restartSleepLocked(_ mode: ModeState, _ kick: inout Kick?) {
        if sleep.isIn(mode) { kick.merge(sleep.kick(self)) }
    }
}
