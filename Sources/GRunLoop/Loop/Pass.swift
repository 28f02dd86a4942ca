// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in Core Foundation's order.
//
//     1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//     handled · 6 a look at the main queue · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one ready item ·
//     11 blocks · 12 end checks · exit (once)
//
// Stages 2 to 5 are the head of the pass. Stages 10 and 11 are its tail.
//
// Long functions are never inlined. So a profile shows them by name, and their cost does not depend on the code around
// them.
//
// A pass calls the program through the functions named `callOut…`, without a lock. They are in the files of the steps.
// They are not inlined either, because debuggers and profilers show them by name. If a closure may have no other owner,
// its callout takes it inout and releases it. So the deinits of what it captured run without a lock as well (item 177).

import CGRun

extension GRunLoop {
    /// How a pass ended.
    enum PassEnd {
        case handledSource, other
        /// The pass has ended before its wait, because the host waits. The run's stage does not show this reliably: a
        /// foreign loop in a callout may have changed the stage.
        case waits
    }

    /// Makes one pass: stages 2 to 11. Where a host drives and nothing is ready, it makes only the head: the host
    /// waits, and the tail follows that wait. The lock is held before and after, and never while user code runs.
    @inline(never) func runPassLocked(_ frame: Frame, _ mode: ModeState) -> PassEnd {
        let run = frame.run
        let handled = runHeadLocked(frame, mode)
        var looks = run.onlyLooks || (handled && !sleepsAtOnceLocked(frame, mode))
        if run.scheduler.hasPendingTurns {
            // Whatever the tail would find has to wait until the host's turn is over.
            if run.scheduler.isHostsTurn { return .other }
            looks = true
        }
        guard let found = takeReadyLocked(frame, mode, looks: looks) else { return .waits }
        return runTailLocked(frame, mode, found) || handled ? .handledSource : .other
    }

    /// Makes the head of a pass, which comes before the wait: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        beginPassLocked(frame)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(frame, mode)  // 4
        let handled = performSourcesLocked(frame, mode)  // 5
        if handled { runBlocksLocked(frame, mode) }
        return handled
    }

    /// Makes the tail of a pass, which comes after the wait: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        frame.run.stage.beginTail()
        let dispatches = !found.contexts.isEmpty && frame.run.scheduler.mayServe(.context)
        if dispatches { dispatchAllLocked(found.contexts, frame) }
        mark(.service)
        frame.run.scheduler.noteServed(.other)
        // Read before the service. Turns that become pending during it, by a cut or by a foreign loop in the callout,
        // are for later passes.
        let hasPendingTurns = frame.run.scheduler.hasPendingTurns
        let handled = serviceLocked(found.item, frame, mode)  // 10
        if hasPendingTurns { endTurnsLocked(frame, of: found) }
        runBlocksLocked(frame, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, frame) }
        if let item = found.item, item.kind != .wakeUp { _ = isCutLocked(frame, after: item.kind) }
        return handled || dispatches
    }

    /// Keeps the dispatched contexts until they can be released without the lock. If a context was removed from the
    /// mode meanwhile, `found` may hold its last reference, and `found` is released under the lock.
    ///
    /// If nothing else was served, the dispatch alone may have used up the slice, so that is checked here.
    private func keepDispatchedLocked(_ found: Found, _ frame: Frame) {
        frame.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, !frame.run.scheduler.hasPendingTurns { _ = isCutLocked(frame, after: .context) }
    }

    /// Begins a pass. From here on, wake-ups count again. In the tail of the last pass they were ignored, so a deadline
    /// of an outer run that passed there is ignored as well.
    private func beginPassLocked(_ frame: Frame) {
        if frame.run.stage == .tail, frame.nextAncestorDeadline != .never {
            _ = frame.takePassedAncestorDeadlines(at: time)
        }
        // A foreign loop in a callout of the last pass has returned between its beforeWaiting and its afterWaiting. Its
        // wait ends before this pass begins, because both set the stage.
        if isWaitAnnounced { endHostWaitLocked() }
        frame.run.beginPass()
    }

    // MARK: Stage 10: service

    /// Services one item; returns whether that counts as a handled source.
    @inline(never) func serviceLocked(_ item: ReadyItem?, _ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        run.scheduler.endDescriptors()
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
            return item.descriptor.map { serviceDescriptorLocked($0, frame, mode) } ?? false
        case .port:
            return servicePortLocked(frame, mode)
        case .wakeUp, .block, .source, .context, .idleWork, .observer:
            return false
        }
    }

    /// Whether the head of the next pass would have no effect: no observer of stages 2 to 5, no source, no block. The
    /// run must be the outermost one, and must go on after this pass. False in virtual time and in a traced loop, where
    /// every pass is made.
    @inline(__always) func isNextHeadEmptyLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && tracer == nil && virtualTime == nil
            && frame.isOutermost && !frame.run.returnsAfterSource && !frame.run.isStopped && !isWaitAnnounced
    }

    // MARK: Stages 4, 5 and 11: blocks

    /// Runs the blocks that wait in the mode now. Blocks that these enqueue wait for the next block step. A nested run
    /// does not see the blocks that this step has still to run.
    @inline(__always) func runBlocksLocked(_ frame: Frame, _ mode: ModeState) {
        mark(.blocks)
        guard mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) else {
            // No block waits, perhaps because a nested run has run the blocks. Their turn is over.
            return endTurnLocked(frame, of: .block)
        }
        if frame.run.scheduler.mayServe(.block) { runBlockStepLocked(frame, mode) }
    }

    @inline(never) private func runBlockStepLocked(_ frame: Frame, _ mode: ModeState) {
        frame.run.scheduler.beginItem()
        let outer = hiddenBlocks
        hiddenBlocks = blockSequence
        frame.run.scheduler.forgetAsked()
        if let queue = onlyQueueLocked(mode, from: outer) {
            runAllLocked(queue, frame)
        } else {
            runMergedLocked(frame, mode, from: outer, before: hiddenBlocks)
        }
        hiddenBlocks = outer
        endTurnLocked(frame, of: .block)
    }

    /// Returns the queue to run if this step runs all blocks of one of the mode's two queues, and the other queue has
    /// none. Nil if the step must merge the queues. Blocks for the common modes count even if the mode is not common
    /// yet, because a block may make the mode common.
    private func onlyQueueLocked(_ mode: ModeState, from start: UInt64) -> BlockQueue? {
        let hasCommon = commonBlocks.live > 0
        guard !hasCommon || mode.isCommon && mode.blocks.live == 0 else { return nil }
        let queue = hasCommon ? commonBlocks : mode.blocks
        return queue.isPlain(from: start) ? queue : nil
    }

    /// Takes all blocks out of the queue and runs them. No other run sees them, so the lock is not needed between two
    /// blocks.
    private func runAllLocked(_ queue: BlockQueue, _ frame: Frame) {
        let taken = spareBlocks ?? BlockQueue()
        spareBlocks = nil
        taken.exchange(with: queue)
        frame.takenBlocks = taken
        let run = frame.run
        let limit = sliceLength
        lock.unlock()
        repeat {
            // Passed inout: a copy of the body would outlive the callout, and would be released with the lock held.
            var body = taken.removeFirst()
            callOutToBlock(&body, of: self)
            guard run.scheduler.usesUpSlice(limit, after: .block) else { continue }
            lock.lock()
            if cutLocked(frame, after: .block), taken.live > 0 {
                // The rest of the step waits. Puts the rest back in front of the blocks that were enqueued meanwhile.
                taken.appendAll(of: queue)
                taken.exchange(with: queue)
            }
            lock.unlock()
        } while taken.live > 0
        lock.lock()
        frame.takenBlocks = nil
        if spareBlocks == nil, taken.isSmall { spareBlocks = taken } else { taken.deallocate() }
    }

    /// Runs the blocks of both queues one by one, in the order of enqueueing. Searches both queues again before each
    /// block, because the block before it may have changed them.
    private func runMergedLocked(_ frame: Frame, _ mode: ModeState, from start: UInt64, before end: UInt64) {
        var next = start
        while let (queue, sequence) = nextBlockLocked(mode, from: next), sequence < end {
            var body = queue.take(sequence)
            next = sequence + 1
            lock.unlock()
            callOutToBlock(&body, of: self)
            lock.lock()
            if isCutLocked(frame, after: .block) { break }
        }
    }

    private func nextBlockLocked(_ mode: ModeState, from start: UInt64) -> (BlockQueue, UInt64)? {
        let own = mode.blocks.first(from: start)
        let common = mode.isCommon ? commonBlocks.first(from: start) : nil
        switch (own, common) {
        case (nil, nil): return nil
        case (let own?, nil): return (mode.blocks, own)
        case (nil, let common?): return (commonBlocks, common)
        case (let own?, let common?): return own <= common ? (mode.blocks, own) : (commonBlocks, common)
        }
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

@inline(never) func callOutToBlock(_ block: inout (@Sendable () -> Void)?, of loop: GRunLoop) {
    loop.begin(CalloutMark(.block), .block, closure: ClosureSymbol.of(block))
    if let body = block.take() { body() }
    cgrun_keep_frame()
}
