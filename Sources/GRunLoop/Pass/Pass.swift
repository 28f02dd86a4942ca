// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in the order of Core Foundation's.
//
//   1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//   handled · 6 main-queue pre-check · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one live item · 11 blocks
//   · 12 end checks · exit (once)
//
// The stages are never inlined: a profile shows them by name, and what one costs does not depend on its neighbours.

extension GRunLoop {
    /// One pass, where we drive: stages 2 to 11. Returns whether it has handled a source. With the lock held before and
    /// after; never held in user code.
    @inline(never) func runPassLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        let handled = runHeadLocked(run, mode)
        let polls = run.onlyPolls || (handled && !sleepsAtOnceLocked(run, mode))
        let found = takeReadyLocked(run, mode, polls: polls)
        return runTailLocked(run, mode, found) || handled
    }

    /// What comes before the wait: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        beginPassLocked(run)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(run, mode)  // 4
        mark(.sources)
        guard !mode.signalled.isEmpty else {
            if !run.owed.isEmpty { endSourcesTurnLocked(run, mode) }
            return false
        }
        let handled = run.mayServe(.sources) && performSourcesLocked(run, mode)  // 5
        if handled { runBlocksLocked(run, mode) }
        return handled
    }

    /// What comes after the wait: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ run: Activation, _ mode: ModeState, _ found: Found) -> Bool {
        run.ignoresWakeUps = true
        let dispatches = !found.contexts.isEmpty && run.mayServe(.contexts)
        if dispatches { dispatchAllLocked(found.contexts, run) }
        mark(.service)
        if !found.isFromMemory { run.servedMainQueueLast = false }
        let handled = serviceLocked(found.item, run, mode)  // 10
        if !run.owed.isEmpty { endTurnsLocked(run, of: found) }
        runBlocksLocked(run, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, run) }
        if let item = found.item, item.kind != .wakeUp { _ = isCutLocked(run, after: Turns(item.kind)) }
        return handled || dispatches
    }

    /// A context that was removed meanwhile may have its last reference in `found`, which is released under the lock:
    /// it is kept for later. If nothing else was served, the dispatch is what used the slice.
    @inline(never) private func keepDispatchedLocked(_ found: Found, _ run: Activation) {
        run.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, run.owed.isEmpty { _ = isCutLocked(run, after: .contexts) }
    }

    /// From here on wake-ups count again. An outer run's deadline that passed while they were ignored is ignored, too.
    private func beginPassLocked(_ run: Activation) {
        if run.ignoresWakeUps, run.nextAncestorDeadline != .never {
            _ = run.takePassedAncestorDeadlines(at: time)
        }
        // A foreign loop in a callout of the last pass was left while it slept. Comes before the line below, because it
        // sets the same flag.
        if host.isWaitTold { endHostWaitLocked() }
        run.ignoresWakeUps = false
        run.owesPass = false
        run.hasLooked = run.hasLookedAhead
        run.hasLookedAhead = false
        host.isInnermost = false
    }

    // MARK: 2, 3, 7, 9, entry and exit

    /// Calls the observers of a stage, if there are any. The mode is looked up after the mark: before it, the lookup
    /// would cost a register between the mark's comparison and its jump.
    @inline(__always) func notifyLocked(_ activity: Activity, _ mode: @autoclosure () -> ModeState) {
        mark(activity)
        let mode = mode()
        if mode.observed.contains(activity) { callObserversLocked(activity, mode) }
    }

    /// In order. An observer that was removed meanwhile is still called, one that was invalidated is not (items 149,
    /// 150).
    @inline(never) private func callObserversLocked(_ activity: Activity, _ mode: ModeState) {
        let called = mode.observers.filter { $0.activities.contains(activity) && $0.canBeCalledLocked }
        guard !called.isEmpty else { return }
        activation?.kept.keep(all: called)
        lock.unlock()
        for observer in called { observer.deliver(activity, in: mode, of: self) }
        lock.lock()
    }

    // MARK: 5

    /// Performs what is signalled now, in order; only the first if the run returns after a source. Returns whether any
    /// was.
    @inline(never) func performSourcesLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        run.slice.begin()
        let handled: Bool
        if let only = mode.signalled.takeOnly() {
            handled = performLocked(only, run, mode)
            if handled { _ = isCutLocked(run, after: .sources) }
        } else {
            handled = performBatchLocked(run, mode)
        }
        if !run.owed.isEmpty { endSourcesTurnLocked(run, mode, handled) }
        return handled
    }

    /// Runs the blocks that waited for this turn if it was the last one owed and no source was handled: nothing else
    /// would keep the loop from sleeping with blocks left.
    @inline(never) private func endSourcesTurnLocked(_ run: Activation, _ mode: ModeState, _ handled: Bool = false) {
        endTurnLocked(run, of: .sources)
        if !handled, run.owed.isEmpty { runBlocksLocked(run, mode) }
    }

    @inline(never) private func performBatchLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        let outer = mode.signalled.beginBatch()
        var handled = false
        // A source that is not performed stays in the mode's list, where a nested run finds it. A removed one has left
        // the list, and keeps its signal.
        while let membership = mode.signalled.nextOfBatch() {
            guard performLocked(membership, run, mode) else { continue }
            handled = true
            if run.returnsAfterSource { break }
            if isCutLocked(run, after: .sources) {
                mode.signalled.cutBatch()
                break
            }
        }
        run.kept.keep(all: mode.signalled.endBatch(resuming: outer))
        return handled
    }

    /// Performs a source of the mode; returns whether it was still signalled.
    private func performLocked(_ membership: Unmanaged<SourceMembership>, _ run: Activation, _ mode: ModeState) -> Bool
    {
        let memberships = membership._withUnsafeGuaranteedRef {
            mode.signalled.remove($0)
            return $0.source.takeSignal()
        }
        guard let memberships else { return false }
        unlock(toCall: membership, in: run)
        if !memberships.isEmpty { notePerformed(memberships, run) }
        membership._withUnsafeGuaranteedRef { callOutToSource($0.source, of: self) }
        lock.lock()
        return true
    }

    /// Before it is performed a source leaves the lists of all its modes, in whatever loop: a signal from its callout
    /// is a new one there too.
    @inline(never) private func notePerformed(_ memberships: [SourceMembership], _ run: Activation) {
        run.kept.keep(all: memberships)
        for membership in memberships {
            membership.loop.lock.withLock {
                if !membership.source.isSignalled { membership.mode.signalled.removePerformed(membership) }
            }
        }
    }

    // MARK: 10

    @inline(never) private func dispatchAllLocked(_ ready: [ServedContext], _ run: Activation) {
        let isOwed = run.owed.contains(.contexts)
        let end = isOwed ? Nanoseconds.now().addingSaturating(sliceLength) : .min
        run.slice.begin()
        for served in ready { dispatchLocked(served, run) }
        if isOwed { yieldLocked(run, until: end) }
    }

    @inline(never) func dispatchLocked(_ served: ServedContext, _ run: Activation) {
        run.kept.keep(served)
        lock.unlock()
        let outerDepth = ownDispatchDepth
        ownDispatchDepth = Contexts.depth + 1
        callOutToContext(served, of: self)
        ownDispatchDepth = outerDepth
        lock.lock()
    }

    /// Services one item; returns whether that counts as a handled source.
    @inline(never) func serviceLocked(_ item: ReadyItem?, _ run: Activation, _ mode: ModeState) -> Bool {
        run.servedDescriptorLast = false
        guard let item else { return false }
        if item.kind != .wakeUp { run.slice.begin() }
        switch item {
        case .wakeUp:
            return false
        case .timers:
            fireTimersLocked(run, mode)
            return false
        case .mainQueue:
            run.servedMainQueueLast = true
            return drainMainQueueLocked()
        case .descriptor(let source):
            let handled = performLocked(source, run, mode)
            run.servedDescriptorLast = true
            return serviceRowLocked(run, mode) || handled
        }
    }

    /// Services fetched events one after the other, as long as each next pass would do nothing else and notify no
    /// observer. A traced loop makes no rows, so that a trace shows each pass. Returns whether an item counts as a
    /// handled source.
    private func serviceRowLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        var handled = false
        while isRowLocked(run, mode) {
            run.hasLooked = false
            if let (source, ready, _) = takeEventLocked(run, mode) {
                callOutLocked(to: source, ready, run)
                handled = true
                continue
            }
            guard let item = takeFromMemoryLocked(run, mode) else {
                run.hasLookedAhead = run.hasLooked
                break
            }
            guard case .descriptor(let source) = item else { return serviceLocked(item, run, mode) || handled }
            if performLocked(source, run, mode) { handled = true }
        }
        return handled
    }

    /// Whether the passes between two descriptors can be left out. A run with a limit looks at the clock between them.
    @inline(__always) private func isRowLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        isNextHeadEmptyLocked(run, mode) && run.deadline == .never && !mode.descriptors.isEmpty && !host.isInnermost
            && (!run.isHosted || host.isBetweenPasses(in: mode)) && !run.slice.isSpent(sliceLength, after: .descriptors)
    }

    /// Whether the outermost run goes on after this pass, and stages 2 to 5 of the next pass would have no effect and
    /// no observer. Never in virtual time, which is checked in each pass.
    @inline(__always) func isNextHeadEmptyLocked(_ run: Activation, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && tracer == nil && virtualTime == nil
            && run.isOutermost && !run.returnsAfterSource && !run.isStopped && !host.isWaitTold
    }

    /// Fires every timer that is due now, in order. Each is checked again before its call: an earlier timer may have
    /// invalidated, removed or moved it, and a nested run may have fired it.
    private func fireTimersLocked(_ run: Activation, _ mode: ModeState) {
        let limit = time
        let outer = mode.heap.beginBatch(by: limit)
        while let timer = mode.heap.nextOfBatch(in: mode) {
            let isDue = timer._withUnsafeGuaranteedRef { $0.canFireLocked(in: mode, of: self, by: limit) }
            guard isDue else { continue }
            timer._withUnsafeGuaranteedRef { $0.fireLocked(of: self, in: run) }
            if isCutLocked(run, after: .timers) { break }
        }
        run.kept.keep(all: mode.heap.endBatch(resuming: outer))
    }

    private func performLocked(_ wanted: Unmanaged<DescriptorSource>, _ run: Activation, _ mode: ModeState) -> Bool {
        guard let (source, ready, _) = batch.take(wanted, in: mode) else { return false }
        callOutLocked(to: source, ready, run)
        return true
    }

    @inline(__always) private func callOutLocked(
        to source: Unmanaged<DescriptorSource>, _ ready: DescriptorSource.Conditions, _ run: Activation
    ) {
        unlock(toCall: source, in: run)
        source._withUnsafeGuaranteedRef { callOutToDescriptorSource($0, ready, of: self) }
        lock.lock()
    }
}
