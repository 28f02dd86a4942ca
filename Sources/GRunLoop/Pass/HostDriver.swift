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
        guard let run = beginHosted() else { return }
        endHostWaitLocked()  // 9
        if run.modeReference._withUnsafeGuaranteedRef({ runHostedTailLocked(run, $0) }) { runHostedPassesLocked(run) }
        endHosted(run)
    }

    /// The tail of the pass whose head found nothing to do. Returns whether passes follow.
    private func runHostedTailLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        guard host.tailMode === mode else { return true }
        let found = Found(
            contexts: readyContextsLocked(run),
            item: lookLocked(run, mode, mainQueueFirst: prefersMainQueue(run), polled: host.polled.take()))
        // Nothing for us: another source's wake-up, or a stale READY flag. The tail stays pending.
        if found.isEmpty, !hasLeftoversLocked(mode) { return host.mustPass }
        // Cleared first: a foreign loop in a callout of the tail begins with a head.
        host.tailMode = nil
        _ = runTailLocked(run, mode, found)
        return true
    }

    /// Called when nothing is ready in the host's context, and observers are told of the host's sleep. A head of a pass
    /// comes directly before beforeWaiting. So if something foreign was dispatched since the last head, a new head
    /// comes first, and beforeWaiting follows the next time that nothing is ready.
    func hostIsIdle(isFresh: Bool) {
        guard let run = beginHosted() else { return }
        if isFresh, host.tailMode === run.mode {
            notifyLocked(.beforeWaiting, run.mode)  // 7
            beginHostWaitLocked(run.mode)
        } else {
            runHostedPassesLocked(run)
        }
        endHosted(run)
    }

    /// Whole passes, until one of them has nothing to do or the slice is used up.
    private func runHostedPassesLocked(_ run: Activation) {
        while run.owed != .host {
            run.move(to: host.ambient)
            guard host.ambient._withUnsafeGuaranteedRef({ runHostedPassLocked(run, $0) }) else { return }
        }
        host.mustPass = true
        run.slice.end()
        if let hub = host.hub { cgrun_hub_yield(hub, Self.yieldedIterations, Int(sliceLength) / 1000) }
    }

    /// One pass. False if it has nothing to do: its tail waits for the host. If the head has used up the slice there is
    /// no tail: what it would find comes after the host's turn.
    private func runHostedPassLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        host.tailMode = nil
        host.mustPass = false
        let handled = runHeadLocked(run, mode)
        if let hub = host.hub { cgrun_hub_note_head(hub) }
        if run.owed == .host { return true }
        let polls = !run.owed.isEmpty || (handled && !sleepsAtOnceLocked(run, mode))
        guard let found = takeReadyForHostLocked(run, mode, polls: polls) else {
            host.tailMode = .passUnretained(mode)
            return false
        }
        _ = runTailLocked(run, mode, found)
        return true
    }

    /// beforeWaiting was sent, and the wait is the host's.
    private func beginHostWaitLocked(_ mode: ModeState) {
        guard let hub = host.hub else { return }
        host.waitMode = .passUnretained(mode)
        cgrun_hub_set_waiting(hub, true)
    }

    /// Since beforeWaiting the host has slept, or dispatched a foreign source: afterWaiting comes before anything else
    /// of ours.
    func endHostWaitLocked() {
        guard let mode = host.waitMode else { return }
        host.waitMode = nil
        if let hub = host.hub { cgrun_hub_set_waiting(hub, false) }
        // As after any wait: a pass comes before the next one (item 70).
        activation?.ignoresWakeUps = true
        notifyLocked(.afterWaiting, mode.takeUnretainedValue())
    }

    /// The same where a callback of the host begins a run. The closures of observers are kept by an activation, as in
    /// every pass.
    func endHostWaitBeforeRunLocked() {
        withStandInLocked { _ in endHostWaitLocked() }
    }

    /// With the lock held before and after, outside a pass: an activation stands for the host's run while `body` calls
    /// observers or blocks of it.
    private func withStandInLocked(_ body: (Activation) -> Void) {
        let run = makeActivation(in: host.ambient, isHosted: true, isInsideHost: host.isInnermost)
        activation = run
        host.isInnermost = false
        body(run)
        activation = run.parent
        host.isInnermost = run.isInsideHost
        lock.unlock()
        run.kept.drop()
        keepForNextRun(run)
        lock.lock()
    }

    /// 6. The main queue goes first, but not twice in a row (items 52 and 53).
    private func prefersMainQueue(_ run: Activation) -> Bool { !run.servedMainQueueLast && run.mayServe(.mainQueue) }

    /// Stages 6 to 9 where a host has done the waiting. Nil if there is nothing to serve: the pass then waits for the
    /// host.
    private func takeReadyForHostLocked(_ run: Activation, _ mode: ModeState, polls: Bool) -> Found? {
        let mainQueueFirst = prefersMainQueue(run)
        let isObserved = mode.areWaitsObserved
        if isObserved, !polls, mainQueueFirst, servesMainQueueLocked(mode), MainQueue.isReady {
            return Found(item: .mainQueue)
        }
        if !isObserved, let item = takeFromMemoryLocked(run, mode) { return Found(item: item, isFromMemory: true) }
        run.passesFromMemory = Activation.longestRowFromMemory
        let contexts = readyContextsLocked(run)
        let polled = host.polled.take()
        let goesOn = polls || !contexts.isEmpty
        if goesOn || !isObserved {
            if !goesOn, leavesLookToHostLocked(run, mode, polled) { return nil }
            let found = Found(contexts: contexts, item: lookLocked(run, mode, mainQueueFirst: mainQueueFirst))
            return goesOn || !found.isEmpty ? found : nil
        }
        guard hasReadyLocked(run, mode) else { return nil }
        notifyLocked(.beforeWaiting, mode)  // 7
        guard let item = lookLocked(run, mode, mainQueueFirst: mainQueueFirst) else {
            // A run in an observer has served what was ready.
            beginHostWaitLocked(mode)
            return nil
        }
        run.ignoresWakeUps = true
        notifyLocked(.afterWaiting, mode)  // 9
        return Found(item: item)
    }

    /// Whether the kernel is asked by the host's poll and not here: nothing in memory is ready. After a descriptor's
    /// event or the main queue we ask it ourselves.
    private func leavesLookToHostLocked(_ run: Activation, _ mode: ModeState, _ polled: HostState.Polled?) -> Bool {
        if let polled, polled.descriptors || polled.mainQueue { return false }
        return !sleep.isWakePending && !run.servedMainQueueLast && !run.servedDescriptorLast && itemChooser == nil
            && mode.heap.earliest > timeForTimersLocked(mode)
    }

    /// The host's run ends: the loop is detached, or its thread has ended. With the lock held before and after.
    ///
    /// - Parameter finishesPass: whether the blocks of its last pass are run, as those of any run's are. An ended
    ///   thread's are not (item 9).
    func endHostedRunLocked(finishesPass: Bool) {
        guard host.hasEntered else { return }
        host.hasEntered = false
        let mode = host.ambientMode
        let isInTail = host.tailMode === mode
        host.tailMode = nil
        withStandInLocked { run in
            // As in the tail of any run's last pass: no sleep follows that a wake-up could prevent.
            run.ignoresWakeUps = true
            endHostWaitLocked()
            if finishesPass, isInTail { runBlocksLocked(run, mode) }
            notifyLocked(.exit, mode)
        }
    }

    // MARK: The activation that stands for the host's endless run

    /// With the lock held after it, unless it returns nil.
    private func beginHosted() -> Activation? {
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
        let run = makeActivation(in: host.ambient, isHosted: true, isInsideHost: true)
        run.servedMainQueueLast = host.servedMainQueueLast
        activation = run
        host.isInnermost = false
        host.owesPass = false
        host.hasNews = false
        if host.isWakePending {
            host.isWakePending = false
            sleep.isWakePending = true
        }
        batch.discard()
        run.slice = host.slice
        run.owed = host.owed
        if !host.hasEntered { enterHostedLocked(run) }
        return run
    }

    /// The host's endless run begins.
    @inline(never) private func enterHostedLocked(_ run: Activation) {
        host.hasEntered = true
        notifyLocked(.entry, run.mode)  // 1
    }

    /// Gives the lock up.
    private func endHosted(_ run: Activation) {
        run.slice.interrupt()
        host.slice = run.slice
        if run.owed != .host { host.owed = run.owed }
        host.servedMainQueueLast = run.servedMainQueueLast
        host.isInnermost = true
        batch.discard()
        if !host.gone.isEmpty {
            run.kept.keep(all: host.gone)
            host.gone.removeAll()
        }
        activation = run.parent
        // What is left of a wake-up is the host's, not the next run's (item 68).
        if activation == nil, sleep.isWakePending {
            sleep.isWakePending = false
            host.isWakePending = true
        }
        lock.unlock()
        run.kept.drop()
        keepForNextRun(run)
    }
}
