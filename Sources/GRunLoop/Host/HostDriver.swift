// SPDX-License-Identifier: Apache-2.0
// Makes passes of the loop inside a host's iterations of the home context.
//
// The host waits between the head and the tail of a pass. So a dispatch of the hub begins with the tail of the last
// pass.

import CGRun

extension GRunLoop {
    /// After a time slice is used up, the hub yields to other sources for this number of host iterations. The hub stops
    /// yielding earlier if these iterations have taken as long as a slice. GTK needs one iteration each for events,
    /// resizing and redrawing.
    private static let yieldedIterations: UInt32 = 3

    /// Called when GLib dispatches the hub. Checks again whether anything is ready, because GLib's READY flag may be
    /// left over from an earlier iteration.
    func serveHost() {
        guard let frame = beginDispatch() else { return }
        let mode = frame.mode
        // The tail runs only in the mode of its head, and the ambient mode may have changed since. This search precedes
        // the afterWaiting observers, so items that these observers make ready wait for the next pass.
        let found = isTailPendingLocked(in: mode) ? findForPendingTailLocked(frame, mode) : nil
        endHostWaitLocked()  // 9
        let goesOn = if let found { runPendingTailLocked(frame, mode, found) } else { true }
        if goesOn { runHostedPassesLocked(frame) }
        endDispatch(frame)
    }

    private func findForPendingTailLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let contexts = readyContextsLocked(frame)
        let polled = host.polled.take()
        return Found(
            contexts: contexts,
            item: nextItemLocked(host.run, mode, polled: polled, now: timeForTimersLocked(mode)))
    }

    /// Runs the pending tail of the last pass. Returns whether whole passes follow.
    private func runPendingTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        // There is nothing to do: another source woke the host, or the READY flag is stale. The tail stays pending.
        if found.isEmpty, !hasLeftoversLocked(mode) {
            leaveWaitToHostLocked(mode, isAnnounced: false)
            return pendingPasses.contains(.pass)
        }
        _ = runTailLocked(frame, mode, found)
        return true
    }

    /// Called by the last sentinel (sentinels.c) when nothing is ready in the host's context. Sends beforeWaiting. If
    /// beforeWaiting was sent already, calls idle work instead.
    ///
    /// beforeWaiting must directly follow the head of a pass. If the host has dispatched a foreign source since the
    /// last head, this function only makes a new pass. The next call of this function then sends beforeWaiting.
    ///
    /// - Parameter isStale: true if the host has dispatched a foreign source, which does not belong to the loop, since
    ///   the last head.
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

    /// Makes passes until one of them has nothing to do, or the time slice is used up.
    private func runHostedPassesLocked(_ frame: Frame) {
        while !host.run.scheduler.isHostsTurn {
            frame.move(to: host.ambient)
            pendingPasses.clear(.pass)
            let end = host.ambient._withUnsafeGuaranteedRef { runPassLocked(frame, $0) }
            guard end == .waits else { continue }
            // Until the host dispatches a foreign source, beforeWaiting can follow this head.
            if let hub = host.poll.hub { cgrun_hub_note_head(hub) }
            return
        }
        pendingPasses.add(.pass)
        host.run.scheduler.endRow()
        if let hub = host.poll.hub { cgrun_hub_yield(hub, Self.yieldedIterations, Int(sliceLength) / 1000) }
    }

    /// Returns true if the ambient mode is still `mode` and no pass is pending. A callout may have changed the ambient
    /// mode, and a foreign loop in a callout may have left a pass pending.
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

    /// Returns true if the last pass was in this mode and its tail has not run yet.
    private func isTailPendingLocked(in mode: ModeState) -> Bool {
        host.run.stage.isPending && host.waitMode === mode
    }

    /// Called after ``hostIsIdle(isStale:)`` has sent beforeWaiting. If an observer has iterated the host's context
    /// itself, the sources dispatched by this iteration are part of the observer's callout. So no further head is
    /// needed before the sleep.
    private func endAnnouncingLocked(_ mode: ModeState) {
        if let hub = host.poll.hub { cgrun_hub_note_head(hub) }
        noteAnnouncedLocked(mode)
    }

    /// Notes that beforeWaiting was sent, so that afterWaiting follows. A loop without a hub is detached, and sends no
    /// afterWaiting.
    private func noteAnnouncedLocked(_ mode: ModeState) {
        if host.poll.hub != nil { host.noteAnnounced(mode) }
    }

    /// True if the host may sleep, because beforeWaiting was sent and the ambient mode has no idle work. Read this
    /// property without the lock.
    var mayHostSleep: Bool {
        isWaitAnnounced && lock.withLock { !host.ambient._withUnsafeGuaranteedRef { $0.hasIdleWork } }
    }

    /// True if beforeWaiting was sent for a wait of the host and afterWaiting is still due. Only the loop's own thread
    /// changes this property, so that thread may read it without the lock.
    var isWaitAnnounced: Bool { host.announcedMode != nil }

    /// Sends afterWaiting if it is due. Called before the loop does other work, if the host has slept or dispatched a
    /// foreign source since beforeWaiting. A pending tail of the pass stays pending.
    func endHostWaitLocked() {
        guard let told = host.takeAnnounced() else { return }
        if let hub = host.poll.hub { cgrun_hub_note_wait_ended(hub) }
        // Wake-ups do not count after a wait, because another pass comes before the next wait (item 70).
        frame?.run.stage.beginWaking()
        notifyLocked(.afterWaiting, told.mode)
        // Sends one afterWaiting for each earlier beforeWaiting. The most recent wait comes first.
        for mode in told.earlier.reversed() { notifyLocked(.afterWaiting, mode.takeUnretainedValue()) }
    }

    /// Sends afterWaiting if it is due. Called in a callback of the host, before a run of this loop begins. A frame
    /// must retain the called observers, so this function pushes a frame.
    func endHostWaitBeforeRunLocked() {
        withHostFrameLocked { _ in endHostWaitLocked() }
        host.run.stage.endNotice()
    }

    /// Returns whether the host's poll, and not this pass, will ask the kernel for ready items. True if the loop knows
    /// of no ready item and no observer is notified of the wait. After a descriptor's event or a drain of the main
    /// queue, the loop asks the kernel itself, because another event often follows.
    func leavesLookToHostLocked(_ run: Run, _ mode: ModeState, _ polled: HostState.Polled?) -> Bool {
        if polled?.descriptors == true || host.poll.shortage != .none { return false }
        return run.scheduler.served == .other && itemChooser == nil && !mode.areWaitsObserved
            && readyLocked(in: mode).isEmpty
    }

    // MARK: The frames of the host's run

    /// Begins a dispatch of the hub: takes the lock, and pushes a frame. If the loop must not be served now, returns
    /// nil, and the lock is not held.
    private func beginDispatch() -> Frame? {
        // If g_main_context_pending() has left a READY flag on the hub, GLib calls the hub even if a run of this loop
        // dispatches the home context. That run serves its mode itself, so the hub must do nothing.
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

    private func enterHostedLocked(_ frame: Frame) {
        host.run.stage.beginHead()
        notifyLocked(.entry, frame.mode)  // 1
    }

    /// Ends a dispatch of the hub, and releases the lock.
    private func endDispatch(_ frame: Frame) {
        host.run.scheduler.endDispatch()
        // If the time slice was used up in the middle of the pass, the next dispatch begins with a new head.
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

    /// Pops the frame, releases the lock, and then releases the objects that the frame has retained.
    private func popHostFrame(_ frame: Frame) {
        popLocked(frame)
        lock.unlock()
        frame.kept.drop()
        if host.spareFrame == nil { host.spareFrame = frame }
    }

    /// Pushes a frame of the host's run for the duration of `body`, which calls observers or blocks. Used outside a
    /// dispatch of the hub. The lock is held before and after.
    private func withHostFrameLocked(_ body: (Frame) -> Void) {
        let frame = pushHostFrameLocked()
        body(frame)
        popHostFrame(frame)
        lock.lock()
    }

    /// Ends the run that the host drives, because the loop is being detached or its thread has ended. The lock is held
    /// before and after.
    ///
    /// - Parameter finishesPass: whether to run the blocks of an unfinished pass, as at the end of any run. False if
    ///   the thread has ended (item 9).
    func endHostedRunLocked(finishesPass: Bool) {
        guard host.run.stage != .outside else { return }
        let mode = host.ambientMode
        let isPending = isTailPendingLocked(in: mode)
        withHostFrameLocked { frame in
            endHostWaitLocked()
            // From here on wake-ups do not count, because no sleep follows.
            host.run.stage.beginTail()
            if finishesPass, isPending { runBlocksLocked(frame, mode) }
            notifyLocked(.exit, mode)
        }
        // The blocks may have used up the time slice. Without this call, the next run would begin in the host's turn,
        // and its first dispatch would do nothing.
        host.run.scheduler.endDispatch()
        host.run.stage.leave()
    }
}
