// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in Core Foundation's order.
//
//     1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//     handled · 6 a look at the main queue · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one ready item ·
//     11 blocks · 12 end checks · exit (once)
//
// Stages 2 to 5 are the head of the pass. Stages 10 and 11 are its tail.
//
// Long functions are never inlined, so that a profile shows them by name and their cost does not depend on the code
// around them.
//
// A pass calls the program without a lock, through the functions named `callOut…` in the files of the steps. They are
// not inlined, so that debuggers and profilers show them by name. If a closure may have no other owner, its callout
// takes it `inout` and releases it. So the deinits of the captured values run without a lock as well (item 177).

extension GRunLoop {
    enum PassEnd {
        case handledSource, other
        /// The pass ended before its wait, because the host waits. The run's stage does not show this reliably, because
        /// a foreign loop in a callout may have changed the stage.
        case waits
    }

    /// Makes one pass: stages 2 to 11. If a host drives and nothing is ready, it makes only the head: the host waits,
    /// and the tail follows that wait. The lock is released while user code runs.
    @inline(never) func runPassLocked(_ frame: Frame, _ mode: ModeState) -> PassEnd {
        let run = frame.run
        let handled = runHeadLocked(frame, mode)  // 2 to 5
        var looks = run.onlyLooks || (handled && !sleepsAtOnceLocked(frame, mode))
        if run.scheduler.hasPendingTurns {
            // The items that the tail would find must wait until the host's turn is over.
            if run.scheduler.isHostsTurn { return .other }
            looks = true
        }
        guard let found = waitLocked(frame, mode, looks: looks) else { return .waits }  // 6 to 9
        return runTailLocked(frame, mode, found) || handled ? .handledSource : .other  // 10, 11
    }

    /// Makes the head of a pass: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        beginPassLocked(frame)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(frame, mode)  // 4
        let handled = performSourcesLocked(frame, mode)  // 5
        if handled { runBlocksLocked(frame, mode) }
        return handled
    }

    /// Makes the tail of a pass: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        frame.run.stage.beginTail()
        let dispatches = !found.contexts.isEmpty && frame.run.scheduler.mayServe(.context)
        if dispatches { dispatchAllLocked(found.contexts, frame) }
        tell(.service)
        frame.run.scheduler.noteServed(.other)
        // Read before the service. During the service, a cut or a foreign loop in the callout may make turns pending.
        // These turns are for later passes.
        let hasPendingTurns = frame.run.scheduler.hasPendingTurns
        let handled = serviceLocked(found.item, frame, mode)  // 10
        if hasPendingTurns { endTurnsLocked(frame, of: found) }
        runBlocksLocked(frame, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, frame) }
        if let item = found.item, item.kind != .wakeUp { endItemLocked(frame, of: item.kind) }
        return handled || dispatches
    }

    /// Keeps the dispatched contexts until they can be released without the lock. `found` is released with the lock
    /// held, and may be the last owner of a context that was removed from the mode meanwhile.
    ///
    /// If nothing else was served, checks whether the dispatch alone has used up the slice.
    private func keepDispatchedLocked(_ found: Found, _ frame: Frame) {
        frame.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, !frame.run.scheduler.hasPendingTurns { endItemLocked(frame, of: .context) }
    }

    /// Begins a pass, in which wake-ups count again. The tail of the last pass ignored wake-ups. So the deadlines of
    /// outer runs that passed in that tail are ignored, too.
    private func beginPassLocked(_ frame: Frame) {
        if frame.run.stage == .tail, frame.nextAncestorDeadline != .never {
            _ = frame.takePassedAncestorDeadlines(at: time)
        }
        // If a wait is announced, a foreign loop in a callout of the last pass returned between its beforeWaiting and
        // its afterWaiting. Its wait ends before `beginPass()`, because both set the stage.
        if isWaitAnnounced { endHostWaitLocked() }
        frame.run.beginPass()
    }

    // MARK: Stage 10: service

    /// Services one item. Returns whether the item counts as a handled source.
    @inline(never) func serviceLocked(_ item: ReadyItem?, _ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        guard let item else { return false }
        if item.kind != .wakeUp { run.scheduler.beginItem() }
        switch item.kind {
        case .timer:
            fireTimersLocked(frame, mode)
            return false
        case .mainQueue:
            run.scheduler.noteServed(.mainQueue)
            return drainMainQueueLocked()
        case .descriptor:
            guard let source = item.descriptor else { return false }
            return serviceDescriptorLocked(source, frame, mode)
        case .port:
            return servicePortLocked(frame, mode)
        case .wakeUp, .block, .source, .context, .idleWork, .observer:
            return false
        }
    }

    /// Whether the head of the next pass would have no effect, because the mode has no observer, idle work, signalled
    /// source or block. The run must be the outermost one, and must continue after this pass. False in virtual time and
    /// in a traced loop, which make every pass.
    @inline(__always) func isNextHeadEmptyLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && !makesEveryPass && !isInVirtualTime
            && frame.isOutermost && !frame.run.returnsAfterSource && !frame.run.isStopped && !isWaitAnnounced
    }

    // MARK: Every callout

    /// Releases the lock before `item` is called. Retains the item first, so that no other thread can release it before
    /// the call. The frame keeps this reference.
    @inline(__always) func unlock(toCall item: Unmanaged<some AnyObject>, in frame: Frame) {
        _ = item.retain()
        lock.unlock()
        frame.kept.replace(by: item.takeRetainedValue())
    }
}
