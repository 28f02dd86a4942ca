// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in Core Foundation's order.
//
//     1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//     handled · 6 a look at the main queue · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one ready item ·
//     11 blocks · 12 end checks · exit (once)
//
// Stages 2 to 5 are the head of the pass. Stages 10 and 11 are its tail.
//
// Long functions are never inlined. So a profile shows them by name, and their cost does not depend on the surrounding
// code.
//
// A pass calls the program's code without a lock, through the functions named `callOut…` in the files of the steps.
// These functions are not inlined, so that debuggers and profilers show them by name. If the pass may hold the last
// reference to a closure, the callout takes the closure `inout` and releases it. So the deinits of the captured values
// also run without a lock (item 177).

extension GRunLoop {
    enum PassEnd {
        case handledSource, other
        /// The pass ended before its wait, because a host waits instead. The run's stage may not show this end, because
        /// a foreign loop in a callout may have changed the stage.
        case waits
    }

    /// Makes one pass: stages 2 to 11. If a host drives and nothing is ready, this function runs only the head. Then
    /// the host waits, and a later dispatch runs the tail. The lock is released while user code runs.
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

    /// Runs the head of a pass: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        beginPassLocked(frame)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(frame, mode)  // 4
        let handled = performSourcesLocked(frame, mode)  // 5
        if handled { runBlocksLocked(frame, mode) }
        return handled
    }

    /// Runs the tail of a pass: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        frame.run.stage.beginTail()
        let dispatches = !found.contexts.isEmpty && frame.run.scheduler.mayServe(.context)
        if dispatches { dispatchAllLocked(found.contexts, frame) }
        tell(.service)
        frame.run.scheduler.noteServed(.other)
        // This flag is read before the item is serviced. During the service, the end of a slice or a foreign loop in
        // the callout may make turns pending. Such turns are for later passes.
        let hasPendingTurns = frame.run.scheduler.hasPendingTurns
        let handled = serviceLocked(found.item, frame, mode)  // 10
        if hasPendingTurns { endTurnsLocked(frame, of: found) }
        runBlocksLocked(frame, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, frame) }
        if let item = found.item, item.kind != .wakeUp { endItemLocked(frame, of: item.kind) }
        return handled || dispatches
    }

    /// Keeps the dispatched contexts until they can be released without the lock. The caller releases `found` with the
    /// lock held. If a context was removed from the mode during the dispatch, `found` may hold its last reference.
    ///
    /// If the pass served nothing else, also checks whether the dispatch has used up the slice.
    private func keepDispatchedLocked(_ found: Found, _ frame: Frame) {
        frame.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, !frame.run.scheduler.hasPendingTurns { endItemLocked(frame, of: .context) }
    }

    /// Begins a pass, in which wake-ups count again. The tail of the last pass ignored wake-ups. So that tail also
    /// ignored expired deadlines of outer runs.
    private func beginPassLocked(_ frame: Frame) {
        if frame.run.stage == .tail, frame.nextAncestorDeadline != .never {
            _ = frame.takePassedAncestorDeadlines(at: time)
        }
        // If a wait is announced here, a foreign loop in a callout of the last pass sent beforeWaiting, and returned
        // before afterWaiting. The call below ends that wait. It must come before `beginPass()`, because both set the
        // stage.
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

    /// Returns true if the next head would have no effect, because the mode has no observer, idle work, signalled
    /// source or block. True only if the run is the outermost one and continues after this pass. False in virtual time
    /// and while the loop is traced, because the loop then makes every pass.
    @inline(__always) func isNextHeadEmptyLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && !makesEveryPass && !isInVirtualTime
            && frame.isOutermost && !frame.run.returnsAfterSource && !frame.run.isStopped && !isWaitAnnounced
    }

    // MARK: Every callout

    /// Releases the lock before `item` is called. Retains the item first, so that no other thread can destroy the item
    /// before the call. The frame keeps this reference until its next callout.
    @inline(__always) func unlock(toCall item: Unmanaged<some AnyObject>, in frame: Frame) {
        _ = item.retain()
        lock.unlock()
        frame.kept.replace(by: item.takeRetainedValue())
    }
}
