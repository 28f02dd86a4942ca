// SPDX-License-Identifier: Apache-2.0
// Stages 6 to 9: look or sleep, and find out what is live.

import CGRun
import Glibc

extension GRunLoop {
    /// What a look or a wait has found.
    struct Found {
        /// Contexts that are ready, to be dispatched before the item.
        var contexts: [ServedContext] = []
        /// The one item that this pass services; nil if there was none.
        var item: ReadyItem?

        var isEmpty: Bool { contexts.isEmpty && item == nil }
    }

    /// Stages 6 to 9. Nil where a host drives and nothing is ready: the wait is the host's, and the tail is pending.
    /// With the lock held before and after.
    @inline(never) func takeReadyLocked(_ frame: Frame, _ mode: ModeState, looks: Bool) -> Found? {
        let run = frame.run
        if isWaitTold, run.isHosted, mode.areWaitsObserved, !looks { resumeHeadLocked() }
        if asksMainQueueFirstLocked(run, mode) {
            mark(.mainQueueCheck)  // 6
            if MainQueue.isReady {
                // Nothing else is looked at in this pass.
                run.scheduler.notePassesFromMemory(1)
                return Found(item: ReadyItem(.mainQueue))
            }
        }
        if !mode.areWaitsObserved, let item = takeFromMemoryLocked(run, mode) {
            mark(.wait)
            return Found(item: item)
        }
        run.scheduler.noteLook()
        // A run that never sleeps would keep what it has called until its end. A host's frame ends with the dispatch.
        if !run.isHosted { dropKeptLocked(frame) }
        acquireContextsLocked(frame, mode)
        if mode.areWaitsObserved, !looks {
            // beforeWaiting means "about to sleep". If a context is ready now, this pass does not sleep.
            let ready = readyContextsLocked(frame)
            if !ready.isEmpty {
                return Found(contexts: ready, item: nextItemLocked(run, mode, now: timeForTimersLocked(mode)))
            }
            if run.isHosted, !hasItemLocked(run, mode) {
                // The host may have more to do before it sleeps. When it is about to it says so: hostIsIdle().
                leaveWaitToHostLocked(mode, isTold: false)
                return nil
            }
        }
        if !looks {
            notifyLocked(.beforeWaiting, mode)  // 7
            recallWakeUpLocked(run)
            acquireContextsLocked(frame, mode)
        }
        if !run.isHosted {
            if mustExplainStrandedLocked(mode) { explainStrandedLocked() }
            mark(.wait)  // 8
        }
        let found =
            run.isHosted
            ? lookForHostLocked(frame, mode, looks: looks)
            : looks ? lookAroundLocked(frame, mode) : sleepLocked(frame, mode)
        if !looks, found != nil {
            // An observer of stage 7 has left a foreign loop while that slept.
            if isWaitTold { endHostWaitLocked() }
            run.stage.beginTail()
            notifyLocked(.afterWaiting, mode)  // 9
        }
        return found
    }

    /// A callout of the head has run a foreign loop that returned between beforeWaiting and afterWaiting: its sleep is
    /// over before the next one.
    private func resumeHeadLocked() {
        endHostWaitLocked()
        hostRun.stage.beginHead()
    }

    /// Whether the main queue is served before everything else if it is ready: it was not what the pass before has
    /// served. While turns are owed it waits for its own: contexts that a pass has not asked would lose theirs.
    func asksMainQueueFirstLocked(_ run: Run, _ mode: ModeState) -> Bool {
        run.scheduler.prefersMainQueue && !run.scheduler.owesTurns && servesMainQueueLocked(mode)
    }

    /// Whether stage 6 of the next pass would serve it. Mostly it is empty: that is asked first.
    @inline(never) func mainQueueGoesFirstLocked(_ run: Run, _ mode: ModeState) -> Bool {
        !MainQueue.isEmpty && asksMainQueueFirstLocked(run, mode) && MainQueue.isReady
    }

    /// 8, where a host drives: looks at what its poll has found or cannot see. If that is nothing, the tail is pending.
    @inline(never) private func lookForHostLocked(_ frame: Frame, _ mode: ModeState, looks: Bool) -> Found? {
        let run = frame.run
        var found = Found(contexts: readyContextsLocked(frame))
        let polled = host.polled.take()
        if looks || !found.contexts.isEmpty || !leavesLookToHostLocked(run, mode, polled) {
            found.item = nextItemLocked(run, mode, now: timeForTimersLocked(mode))
        }
        guard !looks, found.isEmpty else { return found }
        leaveWaitToHostLocked(mode, isTold: mode.areWaitsObserved)
        return nil
    }

    /// After a handled source the loop looks without waiting; if nothing is ready, another pass leads to its sleep
    /// (item 43). If that pass would have no effect, notify no observer and end no run, the sleep serves as both. It
    /// spares a loop that other threads signal and wake a look each time.
    @inline(never) func sleepsAtOnceLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        isNextHeadEmptyLocked(frame, mode) && !frame.run.heardWakeUp && !isFinishedLocked(mode)
    }

    /// Whether a wait depends on the clock: the mode has a timer, or an outer run has a deadline.
    private func hasDatesLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.heap.earliest != .never || frame.nextAncestorDeadline != .never
    }

    /// Wakes the innermost run if the deadline of an outer one has passed.
    private func endOuterRunsLocked(_ frame: Frame, at now: Nanoseconds) {
        if frame.takePassedAncestorDeadlines(at: now) { owed.owe(.wakeUp) }
    }

    /// Whether the loop has an item to serve, without choosing it.
    private func hasItemLocked(_ run: Run, _ mode: ModeState) -> Bool {
        let now = timeForTimersLocked(mode)
        return !readyLocked(in: mode, at: now).isEmpty || !lookLocked(run, mode, now: now).isEmpty
    }

    /// Serves a pending wake-up or a fetched event without a system call. After 64 such passes, of which a wake-up
    /// counts as four, everything is looked at, so that other ready items get their turn. After a descriptor's event
    /// the epoll is asked before the loop sleeps. Not used where stages 7 or 9 are observed, nor in tests that choose
    /// the item or move the time: they see each wait.
    @inline(__always) func takeFromMemoryLocked(_ run: Run, _ mode: ModeState) -> ReadyItem? {
        let ready = readyLocked([.wakeUp, .port], in: mode)
        guard !ready.isEmpty || run.scheduler.served == .descriptor, servesFromMemoryLocked(run) else { return nil }
        if ready.contains(.wakeUp) {
            // Not noted in `lastServed`: beside a thread that wakes the loop forever, the other kinds would never get
            // a turn.
            owed.settle(.wakeUp)
            run.scheduler.notePassesFromMemory(4)
            return ReadyItem(.wakeUp)
        }
        return takeFetchedLocked(run, mode)
    }

    /// The next item where the last one was a descriptor's event, or a message waits.
    @inline(never) private func takeFetchedLocked(_ run: Run, _ mode: ModeState) -> ReadyItem? {
        if run.scheduler.served == .descriptor, !run.scheduler.hasAsked, refillBatchLocked(mode) {
            run.scheduler.noteAsked()
        }
        guard let item = chooseLocked(run, mode, readyLocked(in: mode)) else { return nil }
        run.scheduler.notePassesFromMemory(1)
        return item
    }

    @inline(__always) func servesFromMemoryLocked(_ run: Run) -> Bool {
        run.scheduler.mayServeFromMemory && itemChooser == nil && virtualTime == nil && !perturbs(CGRUN_SITE_MEMORY)
    }

    /// 8, where we drive, without waiting.
    @inline(never) private func lookAroundLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let contexts = readyContextsLocked(frame)
        let now = noteTimeLocked(frame, mode)
        frame.run.scheduler.interruptRow()
        return Found(contexts: contexts, item: nextItemLocked(frame.run, mode, now: now))
    }

    /// 8, where we drive: waits until an item is live or the deadline has passed. A kick that only re-arms the sleep
    /// causes no afterWaiting, no pass (items 76 and 80).
    @inline(never) private func sleepLocked(_ frame: Frame, _ mode: ModeState) -> Found {
        let run = frame.run
        while true {
            // The lock was given up, perhaps: whoever added a context meanwhile found no sleep to end.
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
            // Other threads own every context of the run. If there is no descriptor to wake the loop either, it polls
            // every 50 ms.
            let context = frame.contexts.first
            if context == nil, !canWakeItself() { until = min(until, time.addingSaturating(50_000_000)) }
            // The sleep is ended by way of the first context or, if other threads own them all, of the loop's own
            // eventfd.
            let waker = context.map(Waker.context) ?? .descriptor(wakeDescriptor)
            sleep.begin(in: mode, wokenBy: waker, until: until)
            markChange(CGRUN_RECORD_SLEEP)
            let own = OwnDescriptors(
                descriptors: mode.descriptors.watched,
                mainQueue: servesMainQueueLocked(mode) ? MainQueue.handle : -1,
                wake: context == nil ? wakeDescriptor : -1)
            lock.unlock()
            let result = waitForEvents(poller, &frame.contexts, own: own, deadline: realDeadline(until))
            lock.lock()
            markChange(CGRUN_RECORD_AWAKE)
            sleep.end()
            if result.wake, !cgrun_event_clear(wakeDescriptor), errno != EAGAIN { loseDescriptorsLocked("read", errno) }
            if let virtualTime, result.isEmpty { skipLocked(virtualTime, frame, mode) }
            let end = noteTimeLocked(frame, mode)
            run.scheduler.noteWait(until: virtualTime == nil && end != .min ? end : .never)
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

    /// After a wait or a look: the deadlines of runs that have passed. Returns the time; where nothing depends on it,
    /// `.min`, and no clock is read.
    private func noteTimeLocked(_ frame: Frame, _ mode: ModeState) -> Nanoseconds {
        let run = frame.run
        let now = hasDatesLocked(frame, mode) || run.hasLimit ? time : .min
        if !frame.isOutermost { endOuterRunsLocked(frame, at: now) }
        if run.hasLimit, run.deadline <= now { run.alarm = .never }
        return now
    }

    /// Before a sleep is announced: a deinit that runs the loop would end the announced one, and no stop or wake-up
    /// would end the sleep that follows.
    @inline(never) private func releaseKeptLocked(_ frame: Frame) {
        dropKeptLocked(frame)
        recallWakeUpLocked(frame.run)
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

    /// Whether there is a descriptor by which a sleep without contexts can be ended.
    func canWakeItself() -> Bool {
        if wakeDescriptor < 0 { wakeDescriptor = cgrun_event_new() }
        return wakeDescriptor >= 0
    }

    /// In virtual time the loop does not sleep: it polls, and time jumps if nothing is ready. Only a wait without a
    /// deadline is real: it is for another thread.
    private func realDeadline(_ deadline: Nanoseconds) -> Nanoseconds {
        virtualTime == nil || deadline == .never ? deadline : .min
    }

    /// Nothing is ready: time jumps to what comes next.
    private func skipLocked(_ clock: VirtualClock, _ frame: Frame, _ mode: ModeState) {
        let next = wakeUpTimeLocked(frame, mode)
        if next != .never { clock.move(to: next) }
    }

    /// When the sleep ends at the latest; `.min` if an item is live already.
    @inline(never) func wakeUpTimeLocked(_ frame: Frame, _ mode: ModeState) -> Nanoseconds {
        // Without a date to compare with, no clock is read.
        let now = hasDatesLocked(frame, mode) ? time : .min
        if !frame.isOutermost { endOuterRunsLocked(frame, at: now) }
        if !readyLocked(in: mode, at: now).isEmpty { return .min }
        return min(frame.run.deadline, mode.heap.wakeUpTime(), frame.nextAncestorDeadline)
    }

    /// The item that this pass serves, of everything that is ready now: see ``lookLocked(_:_:polled:now:)``.
    func nextItemLocked(
        _ run: Run, _ mode: ModeState, polled: HostState.Polled? = nil, now: Nanoseconds
    ) -> ReadyItem? {
        chooseLocked(run, mode, lookLocked(run, mode, polled: polled, now: now))
    }

    /// The item that this pass serves, of those that are ready. A wake-up is consumed by being chosen.
    private func chooseLocked(_ run: Run, _ mode: ModeState, _ ready: ItemKinds) -> ReadyItem? {
        guard let item = preferredLocked(run, mode, ready) else { return nil }
        lastServed = item.kind
        if item.kind == .wakeUp { owed.settle(.wakeUp) }
        return item
    }

    /// The kinds take turns, so that none is starved. Descriptors take turns among each other: `DescriptorBatch.fetch`.
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

    /// The contexts of the run's mode as they are now, as far as no other thread owns them.
    @inline(__always) func acquireContextsLocked(_ frame: Frame, _ mode: ModeState) {
        if !frame.contexts.isCurrent(mode.contextsVersion) { acquireOtherContextsLocked(frame, mode) }
    }

    /// Where a host drives, the contexts are its own: it may let another thread have them between two dispatches.
    @inline(never) private func acquireOtherContextsLocked(_ frame: Frame, _ mode: ModeState) {
        guard !frame.run.isHosted else { return }
        frame.kept.keep(all: frame.contexts.list)
        frame.contexts.update(to: contextsLocked(of: mode), version: mode.contextsVersion)
    }
}

/// The frame of a sleeping loop.
@inline(never) func waitForEvents(
    _ poller: ContextPoller, _ contexts: inout AcquiredContexts, own: OwnDescriptors, deadline: Nanoseconds
) -> PollResult {
    defer { cgrun_keep_frame() }
    return poller.poll(&contexts, own: own, deadline: deadline)
}
