// SPDX-License-Identifier: Apache-2.0
// Makes passes inside the iterations of a host, which iterates the home context.
//
// The host waits between the head and the tail of a pass. So a dispatch of the hub begins with the tail of the pass
// whose head found nothing to do.

import CGRun

extension GRunLoop {
    /// How many iterations of the host go to other sources once our slice is used up. There are fewer if these take as
    /// long as a slice. GTK needs one iteration each for its events, resizing and redrawing. An iteration without a
    /// ready source costs a microsecond or two.
    private static let yieldedIterations: UInt32 = 3

    /// Called when GLib dispatches the hub, because there is work or the host has woken. Checks everything again,
    /// because the READY flag may be left over from an earlier iteration.
    func serveHost() {
        guard let frame = beginDispatch() else { return }
        let mode = frame.mode
        // The tail belongs to the mode of its head, and the ambient mode may have changed since. The observers are
        // called after the look, as in a run without a host. So the next pass serves what they make ready.
        let found = isTailPendingLocked(in: mode) ? findForPendingTailLocked(frame, mode) : nil
        endHostWaitLocked()  // 9
        let goesOn = if let found { runPendingTailLocked(frame, mode, found) } else { true }
        if goesOn { runHostedPassesLocked(frame) }
        endDispatch(frame)
    }

    /// Finds what the tail of the pending pass serves.
    private func findForPendingTailLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let contexts = readyContextsLocked(frame)
        let polled = host.polled.take()
        return Found(
            contexts: contexts,
            item: nextItemLocked(host.run, mode, polled: polled, now: timeForTimersLocked(mode)))
    }

    /// Runs the tail of the pass whose head found nothing to do. Returns whether whole passes follow.
    private func runPendingTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        // The loop has nothing to do: another source woke the host, or the READY flag is stale. The tail stays pending.
        if found.isEmpty, !hasLeftoversLocked(mode) {
            leaveWaitToHostLocked(mode, isAnnounced: false)
            return pendingPasses.contains(.pass)
        }
        _ = runTailLocked(frame, mode, found)
        return true
    }

    /// Called by the last sentinel when nothing is ready in the host's context. Sends beforeWaiting, or calls idle work
    /// if beforeWaiting was sent already.
    ///
    /// beforeWaiting must come directly after the head of a pass. If the host has dispatched a foreign source since the
    /// last head, a new head comes first. The next call then sends beforeWaiting, and the call after that calls idle
    /// work.
    ///
    /// - Parameter isStale: whether the host has dispatched a foreign source since the last head.
    func hostIsIdle(isStale: Bool) {
        guard let frame = beginDispatch() else { return }
        let mode = frame.mode
        if !isStale, isTailPendingLocked(in: mode) {
            let wasTold = isWaitAnnounced
            host.run.stage.beginAnnouncing()
            if wasTold { runHostedIdleWorkLocked(frame, mode) } else { notifyLocked(.beforeWaiting, mode) }  // 7
            restoreWakeUpLocked(host.run)
            host.run.stage.endNotice()
            if !wasTold { endAnnouncingLocked(mode) }
        } else {
            runHostedPassesLocked(frame)
        }
        endDispatch(frame)
    }

    /// Makes whole passes until one of them has nothing to do, or the slice is used up.
    private func runHostedPassesLocked(_ frame: Frame) {
        while !host.run.scheduler.isHostsTurn {
            frame.move(to: host.ambient)
            pendingPasses.clear(.pass)
            let end = host.ambient._withUnsafeGuaranteedRef { runPassLocked(frame, $0) }
            guard end == .waits else { continue }
            // From now on, beforeWaiting may follow this head, until the host dispatches a foreign source.
            if let hub = host.poll.hub { cgrun_hub_note_head(hub) }
            return
        }
        pendingPasses.add(.pass)
        host.run.scheduler.endRow()
        if let hub = host.poll.hub { cgrun_hub_yield(hub, Self.yieldedIterations, Int(sliceLength) / 1000) }
    }

    /// Whether the host's next pass would begin in the same state. It would not if a callout has changed the ambient
    /// mode, or if a foreign loop in a callout has left a pass owed.
    func isHostBetweenPassesLocked(in mode: ModeState) -> Bool {
        host.ambient === mode && !pendingPasses.contains(.pass)
    }

    // MARK: The host's wait

    /// Leaves the wait to the host. A later dispatch runs the tail of the pass.
    ///
    /// - Parameter isAnnounced: whether beforeWaiting was sent.
    func leaveWaitToHostLocked(_ mode: ModeState, isAnnounced: Bool) {
        host.run.stage.wait()
        host.waitMode = .passUnretained(mode)
        if isAnnounced { noteAnnouncedLocked(mode) }
    }

    /// Whether the head of the last pass has found nothing to do in this mode, and its tail has not run yet.
    private func isTailPendingLocked(in mode: ModeState) -> Bool {
        host.run.stage.isPending && host.waitMode === mode
    }

    /// Called after ``hostIsIdle(isStale:)`` has sent beforeWaiting. An observer may have iterated the host's context
    /// itself. The sources that were dispatched there are part of the callout, so no further head comes before the
    /// sleep.
    private func endAnnouncingLocked(_ mode: ModeState) {
        if let hub = host.poll.hub { cgrun_hub_note_head(hub) }
        noteAnnouncedLocked(mode)
    }

    /// Notes that beforeWaiting was sent, so that afterWaiting follows. A loop without a hub has left its context, and
    /// sends no afterWaiting.
    private func noteAnnouncedLocked(_ mode: ModeState) {
        if host.poll.hub != nil { host.noteAnnounced(mode) }
    }

    /// Whether the host may sleep: beforeWaiting was sent, and the ambient mode has no idle work. Call it without the
    /// lock.
    var mayHostSleep: Bool {
        isWaitAnnounced && lock.withLock { !host.ambient._withUnsafeGuaranteedRef { $0.hasIdleWork } }
    }

    /// Whether beforeWaiting was sent for a wait of the host's, and afterWaiting is still due. Only the loop's own
    /// thread changes this.
    var isWaitAnnounced: Bool { host.announcedMode != nil }

    /// Sends afterWaiting, if it is due. Called when the host has slept since beforeWaiting, or has dispatched a
    /// foreign source, before the loop does anything else. A pending tail stays pending.
    func endHostWaitLocked() {
        guard let told = host.takeAnnounced() else { return }
        if let hub = host.poll.hub { cgrun_hub_note_wait_ended(hub) }
        // As after any wait, wake-ups do not count now: another pass comes before the next wait anyway (item 70).
        frame?.run.stage.beginWaking()
        notifyLocked(.afterWaiting, told.mode)
        // Sends an afterWaiting for each earlier beforeWaiting, the innermost wait first.
        for mode in told.earlier.reversed() { notifyLocked(.afterWaiting, mode.takeUnretainedValue()) }
    }

    /// Sends afterWaiting, if it is due, before a run of ours that a callback of the host begins. As in every pass, a
    /// frame keeps the observers that are called.
    func endHostWaitBeforeRunLocked() {
        withHostFrameLocked { _ in endHostWaitLocked() }
        host.run.stage.endNotice()
    }

    /// Whether this pass leaves it to the host's poll to ask the kernel. It does if nothing in memory is ready, and no
    /// observer is notified of the wait. After a descriptor's event, or after the main queue, the loop asks the kernel
    /// itself.
    func leavesLookToHostLocked(_ run: Run, _ mode: ModeState, _ polled: HostState.Polled?) -> Bool {
        if polled?.descriptors == true || host.poll.shortage != .none { return false }
        return run.scheduler.served == .other && itemChooser == nil && !mode.areWaitsObserved
            && readyLocked(in: mode).isEmpty
    }

    // MARK: The frames of the host's run

    /// Begins a dispatch of the host: takes the lock, and pushes a frame. Returns nil, without the lock, if the loop
    /// must not be served now.
    private func beginDispatch() -> Frame? {
        // If g_main_context_pending() has left a READY flag on the hub, our own dispatch of the home context calls the
        // hub, too. A run of ours is under way then, in its own mode, so the hub must do nothing.
        guard !refuses("hub"), Contexts.depth != ownDispatchDepth else { return nil }
        if isMain { MainQueue.explainIfLost() }
        lock.lock()
        explainToHostLocked()
        guard !isDead, home != nil else {
            lock.unlock()
            return nil
        }
        sleep.end()
        pendingPasses.takeFromHost()
        batch.discard()
        host.run.scheduler.beginDispatch()
        let frame = pushHostFrameLocked()
        if host.run.stage == .outside { enterHostedLocked(frame) }
        return frame
    }

    /// Begins the host's endless run, and sends entry.
    private func enterHostedLocked(_ frame: Frame) {
        host.run.stage.beginHead()
        notifyLocked(.entry, frame.mode)  // 1
    }

    /// Ends a dispatch of the host, and releases the lock.
    private func endDispatch(_ frame: Frame) {
        host.run.scheduler.endDispatch()
        // If the slice has cut the pass, the next dispatch begins with the head of another pass.
        if host.run.stage.isInPass { host.run.stage.suspend() }
        batch.discard()
        if !host.poll.gone.isEmpty {
            frame.kept.keep(all: host.poll.gone)
            host.poll.gone.removeAll()
        }
        if frame.isOutermost { pendingPasses.handToHost() }
        popHostFrame(frame)
    }

    private func pushHostFrameLocked() -> Frame {
        let frame = host.spareFrame.take() ?? Frame(of: host.run, in: defaultMode)
        frame.begin(host.ambient, above: innermost)
        pushLocked(frame)
        return frame
    }

    /// Takes the frame off the stack, and releases the lock. Then releases what the frame has kept.
    private func popHostFrame(_ frame: Frame) {
        popLocked(frame)
        lock.unlock()
        frame.kept.drop()
        if host.spareFrame == nil { host.spareFrame = frame }
    }

    /// Calls `body`, which calls observers or blocks of the host's run, with a frame of that run. Used outside a
    /// dispatch. The lock is held before and after.
    private func withHostFrameLocked(_ body: (Frame) -> Void) {
        let frame = pushHostFrameLocked()
        body(frame)
        popHostFrame(frame)
        lock.lock()
    }

    /// Ends the host's run, because the loop is being detached or its thread has ended. The lock is held before and
    /// after.
    ///
    /// - Parameter finishesPass: whether the blocks of the last pass run, as at the end of any run. They do not if the
    ///   thread has ended (item 9).
    func endHostedRunLocked(finishesPass: Bool) {
        guard host.run.stage != .outside else { return }
        let mode = host.ambientMode
        let isPending = isTailPendingLocked(in: mode)
        withHostFrameLocked { frame in
            endHostWaitLocked()
            // Wake-ups do not count from here on, as in the tail of any run's last pass, because no sleep follows.
            host.run.stage.beginTail()
            if finishesPass, isPending { runBlocksLocked(frame, mode) }
            notifyLocked(.exit, mode)
        }
        // These blocks may have used up the slice outside a dispatch. Without this, the first dispatch of the next run
        // would leave its turn to the host.
        host.run.scheduler.endDispatch()
        host.run.stage.leave()
    }
}
