// SPDX-License-Identifier: Apache-2.0
// Runs blocks in stages 4, 5 and 11 of a pass, in the order in which they were enqueued.

import CGRun

extension GRunLoop {
    /// Runs the blocks that wait in the mode now. Blocks that these blocks enqueue wait for the next block step. A
    /// nested run does not see the blocks that this step has not run yet.
    @inline(__always) func runBlocksLocked(_ frame: Frame, _ mode: ModeState) {
        tell(.blocks)
        guard mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) else {
            // No block waits. A nested run may have run all blocks. So the blocks' turn is over.
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

    /// Returns the queue if only one queue has blocks and this step runs all of them. Returns nil if the step must
    /// search for each block. Also returns nil if common blocks wait and the mode is not common, because a block of
    /// this step may make the mode common.
    private func onlyQueueLocked(_ mode: ModeState, from start: UInt64) -> BlockQueue? {
        let hasCommon = commonBlocks.live > 0
        guard !hasCommon || mode.isCommon && mode.blocks.live == 0 else { return nil }
        let queue = hasCommon ? commonBlocks : mode.blocks
        return queue.isPlain(from: start) ? queue : nil
    }

    /// Takes all blocks out of the queue and runs them. No other run sees these blocks, so the lock is not needed
    /// between two blocks.
    private func runAllLocked(_ queue: BlockQueue, _ frame: Frame) {
        let taken = spareBlocks ?? BlockQueue()
        spareBlocks = nil
        taken.exchange(with: queue)
        frame.takenBlocks = taken
        let run = frame.run
        let limit = sliceLength
        lock.unlock()
        repeat {
            // The body is passed inout, because a copy would outlive the callout, and might be released with the lock
            // held.
            var body = taken.removeFirst()
            callOutToBlock(&body, of: self)
            guard run.scheduler.usesUpSlice(limit, after: .block) else { continue }
            lock.lock()
            if endSliceLocked(frame, after: .block), taken.live > 0 {
                // The other blocks of this step must wait. They are put back into `queue`, before the blocks that were
                // enqueued since the step began.
                taken.appendAll(of: queue)
                taken.exchange(with: queue)
            }
            lock.unlock()
        } while taken.live > 0
        lock.lock()
        frame.takenBlocks = nil
        if spareBlocks == nil, taken.isSmall { spareBlocks = taken } else { taken.deallocate() }
    }

    /// Runs the mode's blocks and the common blocks one by one, in the order in which they were enqueued. Searches both
    /// queues again before each block, because the block before it may have changed them.
    private func runMergedLocked(_ frame: Frame, _ mode: ModeState, from start: UInt64, before end: UInt64) {
        var next = start
        while let (queue, sequence) = nextBlockLocked(mode, from: next), sequence < end {
            var body = queue.take(sequence)
            next = sequence + 1
            lock.unlock()
            callOutToBlock(&body, of: self)
            lock.lock()
            if endItemLocked(frame, of: .block) { break }
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
}

@inline(never) func callOutToBlock(_ block: inout (@Sendable () -> Void)?, of loop: GRunLoop) {
    loop.tell(CalloutMark(.block), closure: ClosureSymbol.of(block))
    if let body = block.take() { body() }
    cgrun_keep_frame()
}
