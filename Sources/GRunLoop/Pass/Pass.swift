// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in the order of Core Foundation's.
//
//   1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//   handled · 6 main-queue pre-check · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one live item · 11 blocks
//   · 12 end checks · exit (once)
//
// The stages are never inlined: a profile shows them by name, and what one costs does not depend on its neighbours.

extension GRunLoop {
    /// One pass: stages 2 to 11, and where a host drives perhaps only the head: the wait is the host's, and the tail
    /// follows it. Returns whether it has handled a source. With the lock held before and after; never held in user
    /// code.
    @inline(never) func runPassLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        let handled = runHeadLocked(frame, mode)
        var polls = run.onlyPolls || (handled && !sleepsAtOnceLocked(frame, mode))
        if !run.turns.owed.isEmpty {
            // What the tail would find comes after the host's turn.
            if run.turns.isLeftToHost { return handled }
            polls = true
        }
        let found = takeReadyLocked(frame, mode, polls: polls)
        if frame.hasLeftWait { return handled }
        return runTailLocked(frame, mode, found) || handled
    }

    /// What comes before the wait: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        beginPassLocked(frame)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(frame, mode)  // 4
        mark(.sources)
        guard !mode.signalled.isEmpty else {
            if !frame.run.turns.owed.isEmpty { endSourcesTurnLocked(frame, mode) }
            return false
        }
        let handled = frame.run.turns.mayServe(.sources) && performSourcesLocked(frame, mode)  // 5
        if handled { runBlocksLocked(frame, mode) }
        return handled
    }

    /// What comes after the wait: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        frame.run.stage.beginTail()
        let dispatches = !found.contexts.isEmpty && frame.run.turns.mayServe(.contexts)
        if dispatches { dispatchAllLocked(found.contexts, frame) }
        mark(.service)
        // A pass from memory, which does not ask the main queue first, is not the one after it.
        if !found.isFromMemory { frame.run.turns.served = .other }
        // What is owed after a cut, or after a foreign loop in the callout, is for later passes.
        let owesTurns = !frame.run.turns.owed.isEmpty
        let handled = serviceLocked(found.item, frame, mode)  // 10
        if owesTurns { endTurnsLocked(frame, of: found) }
        runBlocksLocked(frame, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, frame) }
        if let item = found.item, item.kind != .wakeUp { _ = isCutLocked(frame, after: Kinds(item.kind)) }
        return handled || dispatches
    }

    /// A context that was removed meanwhile may have its last reference in `found`, which is released under the lock:
    /// it is kept for later. If nothing else was served, the dispatch is what used the slice.
    private func keepDispatchedLocked(_ found: Found, _ frame: Frame) {
        frame.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, frame.run.turns.owed.isEmpty { _ = isCutLocked(frame, after: .contexts) }
    }

    /// From here on wake-ups count again. An outer run's deadline that passed while they were ignored is ignored, too.
    private func beginPassLocked(_ frame: Frame) {
        if frame.run.stage == .tail, frame.nextAncestorDeadline != .never {
            _ = frame.takePassedAncestorDeadlines(at: time)
        }
        // A foreign loop in a callout of the last pass was left while it slept. Comes before the line below, because it
        // sets the stage, too.
        if isWaitTold { endHostWaitLocked() }
        frame.run.beginPass()
    }

    // MARK: 5

    /// Performs what is signalled now, in order; only the first if the run returns after a source. Returns whether any
    /// was.
    @inline(never) func performSourcesLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        frame.run.turns.slice.begin()
        let handled: Bool
        if let only = mode.signalled.takeOnly() {
            handled = performLocked(only, frame, mode)
            if handled { _ = isCutLocked(frame, after: .sources) }
        } else {
            handled = performBatchLocked(frame, mode)
        }
        if !frame.run.turns.owed.isEmpty { endSourcesTurnLocked(frame, mode, handled) }
        return handled
    }

    /// Runs the blocks that waited for this turn if it was the last one owed and no source was handled: nothing else
    /// would keep the loop from sleeping with blocks left.
    @inline(never) private func endSourcesTurnLocked(_ frame: Frame, _ mode: ModeState, _ handled: Bool = false) {
        endTurnLocked(frame, of: .sources)
        if !handled, frame.run.turns.owed.isEmpty { runBlocksLocked(frame, mode) }
    }

    @inline(never) private func performBatchLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let outer = mode.signalled.beginBatch()
        var handled = false
        // A source that is not performed stays in the mode's list, where a nested run finds it. A removed one has left
        // the list, and keeps its signal.
        while let membership = mode.signalled.nextOfBatch() {
            guard performLocked(membership, frame, mode) else { continue }
            handled = true
            if frame.run.returnsAfterSource { break }
            if isCutLocked(frame, after: .sources) {
                mode.signalled.cutBatch()
                break
            }
        }
        frame.kept.keep(all: mode.signalled.endBatch(resuming: outer))
        return handled
    }

    /// Performs a source of the mode; returns whether it was still signalled.
    private func performLocked(_ membership: Unmanaged<SourceMembership>, _ frame: Frame, _ mode: ModeState) -> Bool {
        let memberships = membership._withUnsafeGuaranteedRef {
            mode.signalled.remove($0)
            return $0.source.takeSignal()
        }
        guard let memberships else { return false }
        unlock(toCall: membership, in: frame)
        if !memberships.isEmpty { notePerformed(memberships, frame) }
        membership._withUnsafeGuaranteedRef { callOutToSource($0.source, of: self) }
        lock.lock()
        return true
    }

    /// Before it is performed a source leaves the lists of all its modes, in whatever loop: a signal from its callout
    /// is a new one there too.
    private func notePerformed(_ memberships: [SourceMembership], _ frame: Frame) {
        frame.kept.keep(all: memberships)
        for membership in memberships {
            membership.loop.lock.withLock {
                if !membership.source.isSignalled { membership.mode.signalled.removePerformed(membership) }
            }
        }
    }

    // MARK: 10

    @inline(never) private func dispatchAllLocked(_ ready: [ServedContext], _ frame: Frame) {
        let isOwed = frame.run.turns.owed.contains(.contexts)
        let end = isOwed ? Nanoseconds.now().addingSaturating(sliceLength) : .min
        frame.run.turns.slice.begin()
        for served in ready { dispatchLocked(served, frame) }
        if isOwed { yieldLocked(frame, until: end) }
    }

    @inline(never) func dispatchLocked(_ served: ServedContext, _ frame: Frame) {
        frame.kept.keep(served)
        lock.unlock()
        let outerDepth = ownDispatchDepth
        ownDispatchDepth = Contexts.depth + 1
        callOutToContext(served, of: self)
        ownDispatchDepth = outerDepth
        lock.lock()
    }

    /// Services one item; returns whether that counts as a handled source.
    @inline(never) func serviceLocked(_ item: ReadyItem?, _ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        if run.turns.served == .descriptor { run.turns.served = .other }
        guard let item else { return false }
        if item.kind != .wakeUp { run.turns.slice.begin() }
        switch item {
        case .wakeUp:
            return false
        case .timers:
            fireTimersLocked(frame, mode)
            return false
        case .mainQueue:
            run.turns.served = .mainQueue
            return drainMainQueueLocked()
        case .descriptor(let source):
            run.turns.served = .descriptor
            let handled = performLocked(source, frame, mode)
            return serviceRowLocked(frame, mode) || handled
        }
    }

    /// Services fetched events one after the other, as long as each next pass would do nothing else and notify no
    /// observer. A traced loop makes no rows, so that a trace shows each pass. Returns whether an item counts as a
    /// handled source.
    private func serviceRowLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        var handled = false
        while isRowLocked(frame, mode) {
            run.turns.beginPass()
            if let (source, ready, _) = takeEventLocked(run, mode) {
                callOutLocked(to: source, ready, frame)
                handled = true
                continue
            }
            guard let item = takeFromMemoryLocked(run, mode) else {
                run.turns.leavePass()
                break
            }
            guard case .descriptor(let source) = item else { return serviceLocked(item, frame, mode) || handled }
            if performLocked(source, frame, mode) { handled = true }
        }
        return handled
    }

    /// Whether the passes between two descriptors can be left out. A run with a limit looks at the clock between them.
    @inline(__always) private func isRowLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        return isNextHeadEmptyLocked(frame, mode) && run.deadline == .never && !mode.descriptors.isEmpty
            && run.stage == .tail && (!run.isHosted || isHostBetweenPassesLocked(in: mode))
            && !run.turns.slice.isSpent(sliceLength, after: .descriptors)
    }

    /// Whether the outermost run goes on after this pass, and stages 2 to 5 of the next pass would have no effect and
    /// no observer. Never in virtual time, which is checked in each pass.
    @inline(__always) func isNextHeadEmptyLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && tracer == nil && virtualTime == nil
            && frame.isOutermost && !frame.run.returnsAfterSource && !frame.run.isStopped && !isWaitTold
    }

    private func performLocked(_ wanted: Unmanaged<DescriptorSource>, _ frame: Frame, _ mode: ModeState) -> Bool {
        guard let (source, ready, _) = batch.take(wanted, in: mode) else { return false }
        callOutLocked(to: source, ready, frame)
        return true
    }

    @inline(__always) private func callOutLocked(
        to source: Unmanaged<DescriptorSource>, _ ready: DescriptorSource.Conditions, _ frame: Frame
    ) {
        unlock(toCall: source, in: frame)
        source._withUnsafeGuaranteedRef { callOutToDescriptorSource($0, ready, of: self) }
        lock.lock()
    }

    // MARK: Every callout

    /// Releases the lock, because `item` is about to be called. Retains it first, so that no other thread can release
    /// it before; the run keeps it.
    @inline(__always) func unlock(toCall item: Unmanaged<some AnyObject>, in frame: Frame) {
        _ = item.retain()
        lock.unlock()
        frame.kept.replace(by: item.takeRetainedValue())
    }
}
