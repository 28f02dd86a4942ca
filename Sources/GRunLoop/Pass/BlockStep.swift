// SPDX-License-Identifier: Apache-2.0
// Stages 4, 5 and 11: the blocks of a mode.

extension GRunLoop {
    /// Stages 4, 5 and 11: runs the blocks of the mode that are enqueued now. Blocks that these enqueue wait for the
    /// next step. A nested run does not see the rest of this step.
    @inline(__always) func runBlocksLocked(_ frame: Frame, _ mode: ModeState) {
        mark(.blocks)
        guard mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) else {
            // A nested run may have run them.
            return endTurnLocked(frame, of: .blocks)
        }
        if frame.run.turns.mayServe(.blocks) { runBlockStepLocked(frame, mode) }
    }

    @inline(never) private func runBlockStepLocked(_ frame: Frame, _ mode: ModeState) {
        frame.run.turns.slice.begin()
        let outer = hiddenBlocks
        hiddenBlocks = blockSequence
        frame.run.turns.forgetAsked()
        if let queue = onlyQueueLocked(mode, from: outer) {
            runAllLocked(queue, frame)
        } else {
            runMergedLocked(frame, mode, from: outer, before: hiddenBlocks)
        }
        hiddenBlocks = outer
        endTurnLocked(frame, of: .blocks)
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
            guard run.turns.slice.isSpent(limit, after: .blocks) else { continue }
            lock.lock()
            if cutLocked(frame, after: .blocks), taken.live > 0 {
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
            if isCutLocked(frame, after: .blocks) { break }
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

    func hasVisibleBlocksLocked(_ mode: ModeState) -> Bool {
        mode.blocks.first(from: hiddenBlocks) != nil
            || (mode.isCommon && commonBlocks.first(from: hiddenBlocks) != nil)
    }
}
