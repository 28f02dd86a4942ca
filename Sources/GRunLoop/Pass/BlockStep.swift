// SPDX-License-Identifier: Apache-2.0
// Stages 4, 5 and 11: the blocks of a mode.

extension GRunLoop {
    /// Stages 4, 5 and 11: runs the blocks of the mode that were enqueued before. Those that one of them enqueues wait for the next
    /// step; a nested run does not see the rest of this one.
    @inline(__always) func runBlocksLocked(_ run: Activation) {
        mark(.blocks)
        let mode = run.mode
        if mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) { runBlockStepLocked(run) }
    }

    @inline(never) private func runBlockStepLocked(_ run: Activation) {
        let mode = run.mode
        let end = blockSequence
        let start = hiddenBlocks
        var next = start
        while let (queue, sequence) = nextBlockLocked(mode, from: next), sequence < end {
            var body = queue.take(sequence)
            hiddenBlocks = end
            next = sequence + 1
            lock.unlock()
            callOutToBlock(&body, of: self)
            lock.lock()
            if isCutLocked(run) { break }
        }
        hiddenBlocks = start
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
