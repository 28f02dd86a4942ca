// SPDX-License-Identifier: Apache-2.0
// The run loop itself: one pass, stage by stage, in the order of Core Foundation's.
//
//   1 entry (once) · 2 beforeTimers · 3 beforeSources · 4 blocks · 5 version-0 sources, and blocks again if one was
//   handled · 6 a look at the main queue · 7 beforeWaiting · 8 wait · 9 afterWaiting · 10 service one live item ·
//   11 blocks · 12 end checks · exit (once)
//
// What is long is never inlined: a profile shows it by name, and what it costs does not depend on its neighbours. Nor
// are the functions callOut…, in the files of the steps, through which a pass calls the program, without a lock.
// Debuggers and profilers know them by name. What may have no other owner is taken inout and released in there, so that
// the deinit of what it captured runs without a lock as well (item 177).

import CGRun

extension GRunLoop {
    /// How a pass ended.
    enum PassEnd {
        case handledSource, other
        /// The wait is the host's. The stage does not tell: a foreign loop in a callout may have changed it.
        case waits
    }

    /// One pass: stages 2 to 11, and where a host drives perhaps only the head: the wait is the host's, and the tail
    /// follows it. With the lock held before and after; never held in user code.
    @inline(never) func runPassLocked(_ frame: Frame, _ mode: ModeState) -> PassEnd {
        let run = frame.run
        let handled = runHeadLocked(frame, mode)
        var looks = run.onlyLooks || (handled && !sleepsAtOnceLocked(frame, mode))
        if run.scheduler.owesTurns {
            // What the tail would find comes after the host's turn.
            if run.scheduler.isHostsTurn { return .other }
            looks = true
        }
        guard let found = takeReadyLocked(frame, mode, looks: looks) else { return .waits }
        return runTailLocked(frame, mode, found) || handled ? .handledSource : .other
    }

    /// What comes before the wait: stages 2 to 5. Returns whether a source was handled.
    @inline(never) func runHeadLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        beginPassLocked(frame)
        notifyLocked(.beforeTimers, mode)  // 2
        notifyLocked(.beforeSources, mode)  // 3
        runBlocksLocked(frame, mode)  // 4
        let handled = performSourcesLocked(frame, mode)  // 5
        if handled { runBlocksLocked(frame, mode) }
        return handled
    }

    /// What comes after the wait: stages 10 and 11. Returns whether a source was handled.
    @inline(never) func runTailLocked(_ frame: Frame, _ mode: ModeState, _ found: Found) -> Bool {
        frame.run.stage.beginTail()
        let dispatches = !found.contexts.isEmpty && frame.run.scheduler.mayServe(.context)
        if dispatches { dispatchAllLocked(found.contexts, frame) }
        mark(.service)
        frame.run.scheduler.noteServed(.other)
        // What is owed after a cut, or after a foreign loop in the callout, is for later passes.
        let owesTurns = frame.run.scheduler.owesTurns
        let handled = serviceLocked(found.item, frame, mode)  // 10
        if owesTurns { endTurnsLocked(frame, of: found) }
        runBlocksLocked(frame, mode)  // 11
        if !found.contexts.isEmpty { keepDispatchedLocked(found, frame) }
        if let item = found.item, item.kind != .wakeUp { _ = isCutLocked(frame, after: item.kind) }
        return handled || dispatches
    }

    /// A context that was removed meanwhile may have its last reference in `found`, which is released under the lock:
    /// it is kept for later. If nothing else was served, the dispatch is what used the slice.
    private func keepDispatchedLocked(_ found: Found, _ frame: Frame) {
        frame.kept.keep(all: found.contexts)
        let isAlone = found.item.map { $0.kind == .wakeUp } ?? true
        if isAlone, !frame.run.scheduler.owesTurns { _ = isCutLocked(frame, after: .context) }
    }

    /// From here on wake-ups count again. An outer run's deadline that passed while they were ignored is ignored, too.
    private func beginPassLocked(_ frame: Frame) {
        if frame.run.stage == .tail, frame.nextAncestorDeadline != .never {
            _ = frame.takePassedAncestorDeadlines(at: time)
        }
        // A foreign loop in a callout of the last pass returned between beforeWaiting and afterWaiting. Before the next
        // line, because it sets the stage, too.
        if isWaitTold { endHostWaitLocked() }
        frame.run.beginPass()
    }

    // MARK: 10

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

    /// Whether the outermost run goes on after this pass, and stages 2 to 5 of the next pass would have no effect and
    /// no observer. Never in virtual time, which is checked in each pass.
    @inline(__always) func isNextHeadEmptyLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        mode.observed.isEmpty && mode.signalled.isEmpty && mode.blocks.live == 0 && commonBlocks.live == 0
            && tracer == nil && virtualTime == nil
            && frame.isOutermost && !frame.run.returnsAfterSource && !frame.run.isStopped && !isWaitTold
    }

    // MARK: 4, 5 and 11

    /// Runs the blocks of the mode that are enqueued now. Blocks that these enqueue wait for the
    /// next step. A nested run does not see the rest of this step.
    @inline(__always) func runBlocksLocked(_ frame: Frame, _ mode: ModeState) {
        mark(.blocks)
        guard mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) else {
            // A nested run may have run them.
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

    /// The queue to run, if blocks wait in only one of the mode's two queues, and this step runs all of them. Blocks
    /// for the common modes count even if the mode is not common yet: a block may make it so.
    private func onlyQueueLocked(_ mode: ModeState, from start: UInt64) -> BlockQueue? {
        let hasCommon = commonBlocks.live > 0
        guard !hasCommon || mode.isCommon && mode.blocks.live == 0 else { return nil }
        let queue = hasCommon ? commonBlocks : mode.blocks
        return queue.isPlain(from: start) ? queue : nil
    }

    /// Takes all blocks out of the queue, and runs them without the lock: no other run sees them.
    private func runAllLocked(_ queue: BlockQueue, _ frame: Frame) {
        let taken = spareBlocks ?? BlockQueue()
        spareBlocks = nil
        taken.exchange(with: queue)
        frame.takenBlocks = taken
        let run = frame.run
        let limit = sliceLength
        lock.unlock()
        repeat {
            // Handed on in place: a copy of the body that outlives its callout would be released with the lock held.
            var body = taken.removeFirst()
            callOutToBlock(&body, of: self)
            guard run.scheduler.usesUpSlice(limit, after: .block) else { continue }
            lock.lock()
            if cutLocked(frame, after: .block), taken.live > 0 {
                // Blocks that were enqueued meanwhile come after the rest.
                taken.appendAll(of: queue)
                taken.exchange(with: queue)
            }
            lock.unlock()
        } while taken.live > 0
        lock.lock()
        frame.takenBlocks = nil
        if spareBlocks == nil, taken.isSmall { spareBlocks = taken } else { taken.deallocate() }
    }

    /// Runs the blocks of both queues one by one, choosing anew before each.
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

    /// Releases the lock, because `item` is about to be called. Retains it first, so that no other thread can release
    /// it before; the run keeps it.
    @inline(__always) func unlock(toCall item: Unmanaged<some AnyObject>, in frame: Frame) {
        _ = item.retain()
        lock.unlock()
        frame.kept.replace(by: item.takeRetainedValue())
    }
}

@inline(never) func callOutToBlock(_ block: inout (@Sendable () -> Void)?, of loop: GRunLoop) {
    loop.begin(CalloutMark(.block), .block, closure: Code.of(block))
    if let body = block.take() { body() }
    cgrun_keep_frame()
}
