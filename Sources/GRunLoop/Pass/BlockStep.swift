// SPDX-License-Identifier: Apache-2.0
// Stages 4, 5 and 11: the blocks of a mode.

extension GRunLoop {
    /// Stages 4, 5 and 11: runs the blocks of the mode that were enqueued before. Those that one of them enqueues wait for the next
    /// step; a nested run does not see the rest of this one.
    @inline(__always) func runBlocksLocked(_ run: Activation, _ mode: ModeState) {
        mark(.blocks)
        if mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) { runBlockStepLocked(run, mode) }
    }

    @inline(never) private func runBlockStepLocked(_ run: Activation, _ mode: ModeState) {
        let end = blockSequence
        let start = hiddenBlocks
        var next = start
        // Var, and handed on in place: a copy of the body that outlives its callout would be released with the lock held.
        while var taken = takeBlockLocked(mode, from: next, before: end) {
            hiddenBlocks = end
            next = taken.sequence + 1
            lock.unlock()
            callOutToBlock(&taken.body, of: self)
            lock.lock()
            if isCutLocked(run) { break }
        }
        hiddenBlocks = start
    }

    /// The first block in one of the mode's two queues. Where only one of them holds any, its head is as a rule what comes next.
    @inline(__always) private func takeBlockLocked(
        _ mode: ModeState, from start: UInt64, before end: UInt64
    ) -> (body: (@Sendable () -> Void)?, sequence: UInt64)? {
        let hasCommon = mode.isCommon && commonBlocks.live > 0
        if !hasCommon || mode.blocks.live == 0 {
            let queue = hasCommon ? commonBlocks : mode.blocks
            switch queue.takeHead(from: start, before: end) {
            case .taken(let body, let sequence): return (body, sequence)
            case .tooLate: return nil
            case .other: break
            }
        }
        guard let (queue, sequence) = nextBlockLocked(mode, from: start), sequence < end else { return nil }
        return (queue.take(sequence), sequence)
    }

    @inline(never) private func nextBlockLocked(_ mode: ModeState, from start: UInt64) -> (BlockQueue, UInt64)? {
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
