// SPDX-License-Identifier: Apache-2.0
// Stages 6 to 9 of a pass. The pass sleeps until an item or a context is ready, or only *looks*, which means that it
// polls without waiting.

import CGRun
import Glibc

extension GRunLoop {
    /// The result of stages 6 to 9, which the tail of the pass serves.
    struct Found {
        /// The contexts that are ready. The tail dispatches them before it services the item.
        var contexts: [ServedContext] = []
        /// The one item that this pass services; nil if none is ready.
        var item: ReadyItem?

        var isEmpty: Bool { contexts.isEmpty && item == nil }
    }

    /// Runs stages 6 to 9 of a pass, and returns the ready contexts and item. Releases the lock while it polls or calls
    /// observers.
    ///
    /// If a host drives and nothing is ready, returns nil: the host waits, and the tail of the pass is pending.
    ///
    /// - Parameter looks: if true, the pass does not wait, and skips stages 7 and 9.
    @inline(never) func waitLocked(_ frame: Frame, _ mode: ModeState, looks: Bool) -> Found? {
        let run = frame.run
        if isWaitAnnounced, run.isHosted, mode.areWaitsObserved, !looks { resumeHeadLocked() }
        if asksMainQueueFirstLocked(run, mode) {
            tell(.mainQueueCheck)  // 6
            if MainQueue.isReady {
                // This pass polls no other descriptor, so it counts as a pass without a full look.
                run.scheduler.notePassesFromMemory(1)
                return Found(item: ReadyItem(.mainQueue))
            }
        }
        if !mode.areWaitsObserved, let item = takeFromMemoryLocked(run, mode) {
            tell(.wait)
            return Found(item: item)
        }
        run.scheduler.noteLook()
        // Releases called items here, because a run that never sleeps would otherwise keep them until the run ends. If
        // a host drives, the end of the dispatch releases the called items.
        if !run.isHosted { dropKeptLocked(frame) }
        acquireContextsLocked(frame, mode)
        if mode.areWaitsObserved, !looks {
            // beforeWaiting means "about to sleep". If a context is ready now, this pass does not sleep.
            let ready = readyContextsLocked(frame)
            if !ready.isEmpty {
                return Found(contexts: ready, item: nextItemLocked(run, mode, now: timeForTimersLocked(mode)))
            }
            if run.isHosted, !hasItemLocked(run, mode) {
                // The host may have other work before it sleeps. When no source of the host is ready, the last sentinel
                // calls hostIsIdle(), which sends beforeWaiting.
                leaveWaitToHostLocked(mode, isAnnounced: false)
                return nil
            }
        }
        if !looks {
            notifyLocked(.beforeWaiting, mode)  // 7
            restoreWakeUpLocked(run)
            acquireContextsLocked(frame, mode)
        }
        if !run.isHosted {
            if mustExplainStrandedLocked(mode) { explainStrandedLocked() }
            tell(.wait)  // 8
        }
        let found =
            run.isHosted
            ? lookForHostLocked(frame, mode, looks: looks)
            : looks ? lookAroundLocked(frame, mode) : sleepLocked(frame, mode)
        if !looks, found != nil {
            // If a wait is announced here, an observer of stage 7 ran a foreign loop, which sent beforeWaiting, and
            // returned before afterWaiting.
            if isWaitAnnounced { endHostWaitLocked() }
            run.stage.beginTail()
            notifyLocked(.afterWaiting, mode)  // 9
        }
        return found
    }

    /// Ends the wait of a foreign loop that a callout of the head ran. The foreign loop sent beforeWaiting, and
    /// returned before afterWaiting. This afterWaiting must be sent before the next beforeWaiting.
    private func resumeHeadLocked() {
        endHostWaitLocked()
        host.run.stage.beginHead()
    }

    /// Returns whether stage 6 checks the main queue before everything else. Stage 6 skips the main queue in a run's
    /// first pass, and after a pass that has served the main queue (items 52 and 53).
    ///
    /// While turns are pending, the main queue waits for its own turn. If stage 6 served the main queue in such a pass,
    /// the pass would not poll the contexts, and the contexts would lose their turn.
    func asksMainQueueFirstLocked(_ run: Run, _ mode: ModeState) -> Bool {
        run.scheduler.prefersMainQueue && !run.scheduler.hasPendingTurns && servesMainQueueLocked(mode)
    }

    /// Returns whether stage 6 of the next pass would serve the main queue. Checks `isEmpty` first, because the queue
    /// is usually empty.
    @inline(never) func mainQueueGoesFirstLocked(_ run: Run, _ mode: ModeState) -> Bool {
        !MainQueue.isEmpty && asksMainQueueFirstLocked(run, mode) && MainQueue.isReady
    }

    /// Stage 8 if a host drives: uses the results of the host's poll, and checks the items that this poll does not
    /// cover. If nothing is ready, this function returns nil. Then the host waits, and the tail is pending.
    @inline(never) private func lookForHostLocked(_ frame: Frame, _ mode: ModeState, looks: Bool) -> Found? {
        let run = frame.run
        var found = Found(contexts: readyContextsLocked(frame))
        let polled = host.polled.take()
        if looks || !found.contexts.isEmpty || !leavesLookToHostLocked(run, mode, polled) {
            found.item = nextItemLocked(run, mode, now: timeForTimersLocked(mode))
        }
        guard !looks, found.isEmpty else { return found }
        leaveWaitToHostLocked(mode, isAnnounced: mode.areWaitsObserved)
        return nil
    }

    /// Returns whether a pass that has handled a source in its head sleeps immediately. Normally such a pass only
    /// looks, and the next pass sleeps (item 43). The pass itself sleeps if the next head would have no effect and the
    /// run would not end before that head. This saves one poll for each source that another thread signals.
    @inline(never) func sleepsAtOnceLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        isNextHeadEmptyLocked(frame, mode) && !frame.run.heardWakeUp && !isFinishedLocked(mode)
    }

    /// Returns true if a wait depends on the clock, because the mode has a timer or an outer run has a deadline.
    private func hasDatesLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.heap.earliest != .never || frame.nextAncestorDeadline != .never
    }

    /// Wakes the innermost run if the deadline of an outer run has passed.
    private func endOuterRunsLocked(_ frame: Frame, at now: Nanoseconds) {
        if frame.takePassedAncestorDeadlines(at: now) { pendingPasses.add(.wakeUp) }
    }

    /// Returns whether stage 10 would have an item to serve.
    private func hasItemLocked(_ run: Run, _ mode: ModeState) -> Bool {
        let now = timeForTimersLocked(mode)
        return !readyLocked(in: mode, at: now).isEmpty || !lookLocked(run, mode, now: now).isEmpty
    }

    /// Returns an item that is known to be ready, without a full look: see ``Scheduler/mayServeFromMemory``. The item
    /// may be a pending wake-up or a port's message. After a descriptor's event, this function asks the epoll for more
    /// events. Returns nil if a full look is due, or if no item is known to be ready.
    ///
    /// Not used if an observer is notified in stage 7 or 9, if a test chooses the item, or in virtual time. In these
    /// cases each pass makes a full look.
    @inline(__always) func takeFromMemoryLocked(_ run: Run, _ mode: ModeState) -> ReadyItem? {
        let isWoken = !readyLocked(.wakeUp, in: mode).isEmpty
        guard isWoken || run.scheduler.served == .descriptor || !readyLocked(.port, in: mode).isEmpty,
            servesFromMemoryLocked(run)
        else { return nil }
        if isWoken {
            // A wake-up does not change `lastServed`. Otherwise a thread that wakes the loop constantly could starve
            // the other kinds.
            pendingPasses.clear(.wakeUp)
            run.scheduler.notePassesFromMemory(4)
            return ReadyItem(.wakeUp)
        }
        // If the mode has no timer, a message is served without a comparison of the kinds.
        if run.scheduler.served != .descriptor, mode.heap.earliest == .never {
            lastServed = .port
            run.scheduler.notePassesFromMemory(1)
            return ReadyItem(.port)
        }
        return takeFetchedLocked(run, mode)
    }

    /// Returns the next item that is known to be ready. If the last item was a descriptor's event, asks the epoll for
    /// more events, at most once a pass.
    @inline(never) private func takeFetchedLocked(_ run: Run, _ mode: ModeState) -> ReadyItem? {
        if run.scheduler.served == .descriptor, !run.scheduler.hasAsked, refillBatchLocked(mode) {
            run.scheduler.noteAsked()
        }
        guard let item = chooseLocked(run, mode, readyLocked(in: mode)) else { return nil }
        run.scheduler.notePassesFromMemory(1)
        return item
    }

    @inline(__always) func servesFromMemoryLocked(_ run: Run) -> Bool {
        run.scheduler.mayServeFromMemory && itemChooser == nil && !isInVirtualTime && !perturbs(CGRUN_SITE_MEMORY)
    }

    /// Stage 8 of a pass that only looks, without a host: polls everything that may be ready.
    @inline(never) private func lookAroundLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let contexts = readyContextsLocked(frame)
        let now = noteTimeLocked(frame, mode)
        frame.run.scheduler.interruptRow()
        return Found(contexts: contexts, item: nextItemLocked(frame.run, mode, now: now))
    }

    /// Stage 8 without a host: sleeps until an item is ready or the run's deadline has passed. If a kick ended the
    /// sleep only to change its deadline or descriptors, the sleep begins again. In that case, no afterWaiting is sent
    /// and no further pass is made (items 76 and 80).
    @inline(never) private func sleepLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let run = frame.run
        while true {
            // The lock may have been released since the contexts were acquired. A context that another thread added
            // meanwhile did not end a sleep, because no sleep was under way.
            while frame.contexts.isOutdated(mode.contextsVersion) { acquireContextsLocked(frame, mode) }
            var until = wakeUpTimeLocked(frame, mode)
            if until == .min {
                let found = lookAroundLocked(frame, mode)
                if found.isEmpty { continue }
                return found
            }
            guard frame.kept.isEmpty else {
                releaseKeptLocked(frame)
                continue
            }
            // If other threads own every context of the run, and no descriptor is left to wake the loop, the loop polls
            // every 50 ms.
            let context = frame.contexts.first
            if context == nil, !canWakeItself() { until = min(until, time.addingSaturating(50_000_000)) }
            // Other threads end the sleep through the run's first context or, if the run has no context, through the
            // loop's own eventfd.
            let waker = context.map(Waker.context) ?? .descriptor(wakeDescriptor)
            sleep.begin(in: mode, wokenBy: waker, until: until)
            tell(.sleeps)
            let own = OwnDescriptors(
                descriptors: mode.descriptors.watched,
                mainQueue: servesMainQueueLocked(mode) ? MainQueue.handle : -1,
                wake: context == nil ? wakeDescriptor : -1)
            lock.unlock()
            let result = waitForEvents(poller, &frame.contexts, own: own, deadline: realDeadline(until, frame))
            lock.lock()
            tell(.wakes)
            sleep.end()
            if result.wake, !cgrun_event_clear(wakeDescriptor), errno != EAGAIN { loseDescriptorsLocked("read", errno) }
            if isInVirtualTime, result.isEmpty { skipLocked(frame, mode) }
            let end = noteTimeLocked(frame, mode)
            run.scheduler.noteWait(until: !isInVirtualTime && end != .min ? end : .never)
            if result.descriptors { fetchLocked(mode) }
            var ready = readyLocked(in: mode, at: end)
            if result.mainQueue { ready.insert(.mainQueue) }
            let item = chooseLocked(run, mode, ready)
            if item != nil || !result.readyContexts.isEmpty || run.deadline <= end {
                return Found(contexts: result.readyContexts, item: item)
            }
            if let stuck = poller.stuckDescriptor { Self.endForClosedDescriptor(stuck) }
            acquireContextsLocked(frame, mode)
        }
    }

    /// Marks the deadlines of this run and of outer runs that have passed, and returns the current time. If there is no
    /// timer and no deadline, returns `.min` and reads no clock.
    private func noteTimeLocked(_ frame: Frame, _ mode: ModeState) -> Nanoseconds {
        let run = frame.run
        let now = hasDatesLocked(frame, mode) || run.hasLimit ? time : .min
        if !frame.isOutermost { endOuterRunsLocked(frame, at: now) }
        if run.hasLimit, run.deadline <= now { run.alarm = .never }
        return now
    }

    /// Releases the called items that the run has kept, before `sleep.begin`. The deinit of such an item may run the
    /// loop. After `sleep.begin`, this nested run would end the recorded sleep, and no stop or wake-up could end the
    /// poll that follows. A deinit may also enqueue idle work, which must run before the sleep.
    @inline(never) private func releaseKeptLocked(_ frame: Frame) {
        dropKeptLocked(frame)
        if frame.mode.hasIdleWork { pendingPasses.add(.wakeUp) }
        restoreWakeUpLocked(frame.run)
    }

    private func dropKeptLocked(_ frame: Frame) {
        guard !frame.kept.isEmpty else { return }
        lock.unlock()
        frame.kept.drop()
        lock.lock()
    }

    private func explainStrandedLocked() {
        lock.unlock()
        MainQueue.explainStranded()
        lock.lock()
    }

    /// Returns whether the loop has an eventfd that can end a sleep without contexts. Makes the eventfd if there is
    /// none yet.
    func canWakeItself() -> Bool {
        if wakeDescriptor < 0 { wakeDescriptor = cgrun_event_new() }
        return wakeDescriptor >= 0
    }

    /// Returns the deadline that is passed to the kernel. In virtual time the loop only polls, and its clock jumps if
    /// nothing is ready. The loop really waits in two cases: if there is no deadline, and if the clock stands still. In
    /// these cases only another thread can end the sleep.
    private func realDeadline(_ deadline: Nanoseconds, _ frame: Frame) -> Nanoseconds {
        guard isInVirtualTime, deadline != .never else { return deadline }
        return clockStands(in: frame) ? .never : .min
    }

    /// In virtual time, moves the clock to the end of the sleep, because nothing is ready.
    private func skipLocked(_ frame: Frame, _ mode: ModeState) {
        guard let virtualTime, !clockStands(in: frame) else { return }
        let next = wakeUpTimeLocked(frame, mode)
        if next != .never { virtualTime.move(to: next) }
    }

    /// Returns the latest time at which the sleep must end; `.min` if an item is ready already.
    @inline(never) func wakeUpTimeLocked(_ frame: Frame, _ mode: ModeState) -> Nanoseconds {
        let now = hasDatesLocked(frame, mode) ? time : .min
        if !frame.isOutermost { endOuterRunsLocked(frame, at: now) }
        // Drops events whose sources have left the mode. Otherwise these events would count as ready, and the loop
        // would not sleep.
        if !batch.isEmpty(in: mode) { _ = batch.first(in: mode) }
        if !readyLocked(in: mode, at: now).isEmpty { return .min }
        return min(frame.run.deadline, mode.heap.wakeUpTime(), frame.nextAncestorDeadline)
    }

    /// Chooses the item for this pass from all ready items that stage 10 can serve.
    func nextItemLocked(
        _ run: Run, _ mode: ModeState, polled: HostState.Polled? = nil, now: Nanoseconds
    ) -> ReadyItem? {
        chooseLocked(run, mode, lookLocked(run, mode, polled: polled, now: now))
    }

    /// Chooses the item for this pass from the ready kinds. If the choice is a wake-up, the wake-up is no longer
    /// pending.
    private func chooseLocked(_ run: Run, _ mode: ModeState, _ ready: ItemKinds) -> ReadyItem? {
        guard !ready.isEmpty, let item = preferredLocked(run, mode, ready) else { return nil }
        lastServed = item.kind
        if item.kind == .wakeUp { pendingPasses.clear(.wakeUp) }
        return item
    }

    /// Returns the next item in turn. The kinds take turns, so that no kind starves. Descriptors take turns among
    /// themselves: see `DescriptorBatch.fetch`.
    @inline(__always) private func preferredLocked(_ run: Run, _ mode: ModeState, _ ready: ItemKinds) -> ReadyItem? {
        if itemChooser != nil, let item = chosenLocked(ready, mode) { return item }
        var candidates = run.scheduler.allowed(of: ready)
        while let kind = lastServed.next(of: candidates) {
            guard kind == .descriptor else { return ReadyItem(kind) }
            if let receiver = batch.first(in: mode) { return ReadyItem(.descriptor, receiver.source) }
            candidates.remove(.descriptor)
        }
        return nil
    }

    /// Acquires the contexts that the mode serves now, except contexts that other threads own.
    @inline(__always) func acquireContextsLocked(_ frame: Frame, _ mode: ModeState) {
        if !frame.contexts.isCurrent(mode.contextsVersion) { acquireOtherContextsLocked(frame, mode) }
    }

    /// Does nothing if a host drives, because then the host owns the contexts. Between two dispatches, the host can let
    /// another thread own them.
    @inline(never) private func acquireOtherContextsLocked(_ frame: Frame, _ mode: ModeState) {
        guard !frame.run.isHosted else { return }
        frame.kept.keep(all: frame.contexts.list)
        frame.contexts.update(to: contextsLocked(of: mode), version: mode.contextsVersion)
    }
}

/// Waits in the kernel. Never inlined, so that a backtrace of a sleeping loop shows this name.
@inline(never) func waitForEvents(
    _ poller: ContextPoller, _ contexts: inout AcquiredContexts, own: OwnDescriptors, deadline: Nanoseconds
) -> PollResult {
    defer { cgrun_keep_frame() }
    return poller.poll(&contexts, own: own, deadline: deadline)
}
