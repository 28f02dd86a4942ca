// SPDX-License-Identifier: Apache-2.0
// Blocks: closures that are run once, in a given mode.

extension GRunLoop {
    /// Enqueues a block for the default mode. It does not wake the loop: see ``async(inModes:_:)``.
    ///
    /// Threads: any. The corresponding Foundation method is `RunLoop.perform(_:)`.
    public func perform(_ body: @escaping @Sendable () -> Void) {
        perform(inModes: [.default], body)
    }

    /// Enqueues a block, to be run once, in the first of the modes that runs; ``Mode/common`` stands for every common mode. Blocks
    /// run in the order in which they were enqueued.
    ///
    /// It does **not** wake a sleeping loop: the block runs after the next wake-up. An empty list of modes means never. A
    /// block that is still waiting when the loop's thread ends is released without being run.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopPerformBlock`.
    public func perform(inModes names: [Mode], _ body: @escaping @Sendable () -> Void) {
        guard !refuses("perform") else { return }
        lock.withLock { enqueueLocked(body, names) }
    }

    /// Enqueues a block and wakes the loop.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopPerformBlock` and `CFRunLoopWakeUp`.
    public func async(inModes names: [Mode] = [.common], _ body: @escaping @Sendable () -> Void) {
        guard !refuses("async") else { return }
        lock.withLock { () -> Kick? in
            enqueueLocked(body, names)
            return wakeUpLocked()
        }?.send()
    }

    private func enqueueLocked(_ body: @escaping @Sendable () -> Void, _ names: [Mode]) {
        guard !isDead else { return }
        if names.count == 1 {
            blockQueueLocked(names[0]).append(.init(sequence: blockSequence, body: body, token: nil))
        } else if !names.isEmpty {
            let queues = Set(names).map(blockQueueLocked)
            let token = BlockToken(body: body, queues: queues)
            for queue in queues { queue.append(.init(sequence: blockSequence, body: nil, token: token)) }
        }
        blockSequence += 1
    }

    private func blockQueueLocked(_ name: Mode) -> BlockQueue {
        name == .common ? commonBlocks : modeLocked(name).blocks
    }

    // MARK: For the pass, with the lock held

    /// Stages 4, 5 and 11: runs the blocks of the mode that were enqueued before. Those that one of them enqueues wait for the next
    /// step; a nested run does not see the rest of this one.
    @inline(__always) func runBlocksLocked(_ mode: ModeState) {
        mark(.blocks)
        if mode.blocks.live > 0 || (mode.isCommon && commonBlocks.live > 0) { runBlockStepLocked(mode) }
    }

    @inline(never) private func runBlockStepLocked(_ mode: ModeState) {
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
