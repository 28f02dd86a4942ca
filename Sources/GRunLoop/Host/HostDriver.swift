// SPDX-License-Identifier: Apache-2.0
// A host drives: it iterates the home context, and passes are made inside its iterations. The wait between a pass's
// head and its tail is the host's, so a dispatch of the hub begins with the tail of the pass whose head found nothing
// to do.

import CGRun

extension GRunLoop {
    /// How many iterations of the host are left to others once our slice is used up, unless fewer take as long as a
    /// slice: one for each of GTK's events, resizing and redrawing. An iteration without a ready source costs a
    /// microsecond or two.
    private static let yieldedIterations: UInt32 = 3

    /// Called when the hub is dispatched: there is work, or the host has woken. Checks everything anew, since the READY
    /// flag may be left over from an earlier iteration.
    func serveHost() {
        guard let frame = beginDispatch() else { return }
        let wasPending = hostRun.stage.isPending
        endHostWaitLocked()  // 9
        // A foreign loop in an observer may have made passes.
        let isPending = wasPending && host.waitMode === frame.mode
        if !isPending || runPendingTailLocked(frame, frame.mode) { runHostedPassesLocked(frame) }
        endDispatch(frame)
    }

    /// The tail of the pass whose head found nothing to do. Returns whether passes follow.
    private func runPendingTailLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let found = Found(
            contexts: readyContextsLocked(frame),
            item: nextItemLocked(hostRun, mode, polled: host.polled.take(), now: timeForTimersLocked(mode)))
        // Nothing for us: another source's wake-up, or a stale READY flag. The tail stays pending.
        if found.isEmpty, !hasLeftoversLocked(mode) {
            leaveWaitToHostLocked(mode, isTold: false)
            return owed.contains(.pass)
        }
        _ = runTailLocked(frame, mode, found)
        return true
    }

    /// Called when nothing is ready in the host's context, and observers are told of the host's sleep. A head of a pass
    /// comes directly before beforeWaiting. So if something foreign was dispatched since the last head, a new head
    /// comes first, and beforeWaiting follows the next time that nothing is ready. Idle work follows the time after
    /// that.
    func hostIsIdle(isStale: Bool) {
        guard let frame = beginDispatch() else { return }
        let mode = frame.mode
        if !isStale, isTailPendingLocked(in: mode) {
            let wasTold = isWaitTold
            hostRun.stage.beginTelling()
            if wasTold { runHostedIdleWorkLocked(frame, mode) } else { notifyLocked(.beforeWaiting, mode) }  // 7
            recallWakeUpLocked(hostRun)
            hostRun.stage.endNotice()
            if !wasTold { endTellingLocked(mode) }
        } else {
            runHostedPassesLocked(frame)
        }
        endDispatch(frame)
    }

    /// Whole passes, until one of them has nothing to do or the slice is used up.
    private func runHostedPassesLocked(_ frame: Frame) {
        while !hostRun.scheduler.isHostsTurn {
            frame.move(to: host.ambient)
            owed.settle(.pass)
            let end = host.ambient._withUnsafeGuaranteedRef { runPassLocked(frame, $0) }
            guard end == .waits else { continue }
            // beforeWaiting may follow now, until something foreign is dispatched.
            if let hub = hostPoll.hub { cgrun_hub_note_head(hub) }
            return
        }
        owed.owe(.pass)
        hostRun.scheduler.endRow()
        if let hub = hostPoll.hub { cgrun_hub_yield(hub, Self.yieldedIterations, Int(sliceLength) / 1000) }
    }

    /// Whether the host's next pass would begin from the same state: no foreign loop in a callout has switched the mode
    /// or asked for a pass.
    func isHostBetweenPassesLocked(in mode: ModeState) -> Bool {
        host.ambient === mode && !owed.contains(.pass)
    }

    // MARK: The host's wait

    /// The wait is the host's: the tail of the pass follows in a later dispatch. `isTold`: beforeWaiting was sent.
    func leaveWaitToHostLocked(_ mode: ModeState, isTold: Bool) {
        hostRun.stage.wait()
        host.waitMode = .passUnretained(mode)
        if isTold { noteToldLocked(mode) }
    }

    /// Whether the head of the last pass has found nothing to do in this mode, and its tail is to come.
    private func isTailPendingLocked(in mode: ModeState) -> Bool {
        hostRun.stage.isPending && host.waitMode === mode
    }

    /// beforeWaiting was sent by the host's idle notice. An observer may have iterated the host's context itself. The
    /// sources that this dispatched belong to the notice: no further head comes before the sleep.
    private func endTellingLocked(_ mode: ModeState) {
        if let hub = hostPoll.hub { cgrun_hub_note_head(hub) }
        noteToldLocked(mode)
    }

    /// beforeWaiting was sent. Of a loop that one of its observers has detached, nobody sends afterWaiting.
    private func noteToldLocked(_ mode: ModeState) {
        if hostPoll.hub != nil { host.noteTold(mode) }
    }

    /// Whether the host may sleep: that was told, and there is no idle work. Without the lock.
    var mayHostSleep: Bool {
        isWaitTold && lock.withLock { !host.ambient._withUnsafeGuaranteedRef { $0.hasIdleWork } }
    }

    /// Whether afterWaiting is still to be sent. Only the loop's own thread writes it.
    var isWaitTold: Bool { host.toldMode != nil }

    /// Since beforeWaiting the host has slept, or dispatched a foreign source: afterWaiting comes before anything else
    /// of ours. The tail stays pending.
    func endHostWaitLocked() {
        guard let told = host.takeTold() else { return }
        if let hub = hostPoll.hub { cgrun_hub_note_wait_ended(hub) }
        // As after any wait: a pass comes before the next one (item 70).
        frame?.run.stage.beginWaking()
        notifyLocked(.afterWaiting, told.mode)
        // Each beforeWaiting has its afterWaiting, the innermost wait first.
        for mode in told.earlier.reversed() { notifyLocked(.afterWaiting, mode.takeUnretainedValue()) }
    }

    /// The same where a callback of the host begins a run. The closures of observers are kept by a frame, as in every
    /// pass.
    func endHostWaitBeforeRunLocked() {
        withHostFrameLocked { _ in endHostWaitLocked() }
        hostRun.stage.endNotice()
    }

    /// Whether the kernel is asked by the host's poll and not here: nothing in memory is ready, and nobody is told that
    /// the loop sleeps. After a descriptor's event or the main queue we ask it ourselves.
    func leavesLookToHostLocked(_ run: Run, _ mode: ModeState, _ polled: HostState.Polled?) -> Bool {
        if polled?.descriptors == true || hostPoll.shortage != .none { return false }
        return run.scheduler.served == .other && itemChooser == nil && !mode.areWaitsObserved
            && readyLocked(in: mode).isEmpty
    }

    // MARK: The frames of the host's run

    /// With the lock held after it, unless it returns nil.
    private func beginDispatch() -> Frame? {
        // A READY flag left over from g_main_context_pending() makes our own dispatch of the home context call the hub,
        // too. A run of ours is under way then, in its own mode.
        guard !refuses("hub"), Contexts.depth != ownDispatchDepth else { return nil }
        if isMain { MainQueue.explainIfLost() }
        lock.lock()
        explainToHostLocked()
        guard !isDead, home != nil else {
            lock.unlock()
            return nil
        }
        sleep.end()
        owed.takeFromHost()
        batch.discard()
        hostRun.scheduler.beginDispatch()
        let frame = pushHostFrameLocked()
        if hostRun.stage == .outside { enterHostedLocked(frame) }
        return frame
    }

    /// The host's endless run begins.
    private func enterHostedLocked(_ frame: Frame) {
        hostRun.stage.beginHead()
        notifyLocked(.entry, frame.mode)  // 1
    }

    /// Gives the lock up.
    private func endDispatch(_ frame: Frame) {
        hostRun.scheduler.endDispatch()
        // A pass that was cut goes on with a head.
        if hostRun.stage.isInPass { hostRun.stage.lend() }
        batch.discard()
        if !hostPoll.gone.isEmpty {
            frame.kept.keep(all: hostPoll.gone)
            hostPoll.gone.removeAll()
        }
        if frame.isOutermost { owed.handToHost() }
        popHostFrame(frame)
    }

    private func pushHostFrameLocked() -> Frame {
        let frame = spareHostFrame.take() ?? Frame(of: hostRun, in: defaultMode)
        frame.begin(host.ambient, above: innermost)
        pushLocked(frame)
        return frame
    }

    /// Gives the lock up.
    private func popHostFrame(_ frame: Frame) {
        popLocked(frame)
        lock.unlock()
        frame.kept.drop()
        if spareHostFrame == nil { spareHostFrame = frame }
    }

    /// With the lock held before and after, outside a dispatch: `body` calls observers or blocks of the host's run.
    private func withHostFrameLocked(_ body: (Frame) -> Void) {
        let frame = pushHostFrameLocked()
        body(frame)
        popHostFrame(frame)
        lock.lock()
    }

    /// The host's run ends: the loop is detached, or its thread has ended. With the lock held before and after.
    ///
    /// - Parameter finishesPass: whether the blocks of its last pass are run, as those of any run's are. An ended
    ///   thread's are not (item 9).
    func endHostedRunLocked(finishesPass: Bool) {
        guard hostRun.stage != .outside else { return }
        let mode = host.ambientMode
        let isPending = isTailPendingLocked(in: mode)
        withHostFrameLocked { frame in
            endHostWaitLocked()
            // As in the tail of any run's last pass: no sleep follows that a wake-up could prevent.
            hostRun.stage.beginTail()
            if finishesPass, isPending { runBlocksLocked(frame, mode) }
            notifyLocked(.exit, mode)
        }
        // A cut of these blocks was no dispatch's: the next run's first one is not left to the host.
        hostRun.scheduler.endDispatch()
        hostRun.stage.leave()
    }
}
