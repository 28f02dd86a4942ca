// SPDX-License-Identifier: Apache-2.0
// Blocks: closures that are run once, in a given mode.

extension GRunLoop {
    /// Enqueues a block that runs once, in the default mode. The call does not wake the loop: see
    /// ``perform(inModes:_:)``.
    ///
    /// Threads: any. The corresponding Foundation method is `RunLoop.perform(_:)`.
    public func perform(_ body: consuming @escaping @Sendable () -> Void) {
        guard !refuses("perform") else { return }
        enqueue(body, into: defaultMode.blocks, waking: false)
    }

    /// Enqueues a block that runs once, in the first of the given modes that runs.
    ///
    /// ``Mode/common`` means every common mode. Blocks run in the order in which they were enqueued. This call does
    /// **not** wake a sleeping loop: the block runs after the next wake-up. If the list of modes is empty, the block
    /// never runs. If the loop's thread ends first, the block is released and does not run.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopPerformBlock`.
    public func perform(inModes names: [Mode], _ body: consuming @escaping @Sendable () -> Void) {
        guard !refuses("perform") else { return }
        enqueue(body, names, waking: false)
    }

    /// Enqueues a block, as ``perform(inModes:_:)`` does, and wakes the loop.
    ///
    /// A block does not count as a handled source. If the loop has ended, the call drops the block and reports no
    /// error, unlike ``performOnThread(inModes:_:)``.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopPerformBlock` and `CFRunLoopWakeUp`.
    public func async(inModes names: [Mode], _ body: consuming @escaping @Sendable () -> Void) {
        guard !refuses("async") else { return }
        enqueue(body, names, waking: true)
    }

    /// Enqueues a block for the common modes and wakes the loop, as ``async(inModes:_:)`` does. This is the fastest way
    /// to run a closure on the loop.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopPerformBlock` and `CFRunLoopWakeUp`.
    public func async(_ body: consuming @escaping @Sendable () -> Void) {
        guard !refuses("async") else { return }
        enqueue(body, into: commonBlocks, waking: true)
    }

    /// Enqueues a block of the library for every mode that exists now, and wakes the loop. A block for the common modes
    /// would wait forever if the loop ran only in other modes.
    func asyncInEveryMode(_ body: @escaping @Sendable () -> Void) { async(inModes: allModes, body) }

    @inline(__always) private func enqueue(
        _ body: consuming @escaping @Sendable () -> Void, _ names: [Mode], waking: Bool
    ) {
        // The default mode and the common modes are the usual cases. Their queues need no look-up.
        if names.count == 1, names[0] == .default { return enqueue(body, into: defaultMode.blocks, waking: waking) }
        if names.count == 1, names[0] == .common { return enqueue(body, into: commonBlocks, waking: waking) }
        enqueueByLookup(body, names, waking: waking)
    }

    private func enqueueByLookup(_ body: @escaping @Sendable () -> Void, _ names: [Mode], waking: Bool) {
        lock.withLock { () -> Kick? in
            guard !isDead else { return nil }
            if names.count == 1 {
                enqueueLocked(body, into: blockQueueLocked(names[0]))
            } else {
                enqueueSharedLocked(body, names)
            }
            return noteBlockEnqueuedLocked(waking: waking)
        }?.send()
    }

    /// The closure is moved and not copied, because each retain or release of a closure costs as much as a lock.
    @inline(__always) private func enqueue(
        _ body: consuming @escaping @Sendable () -> Void, into queue: BlockQueue, waking: Bool
    ) {
        lock.lock()
        guard !isDead else {
            lock.unlock()
            return dropClosure(body)
        }
        enqueueLocked(body, into: queue)
        let kick = noteBlockEnqueuedLocked(waking: waking)
        lock.unlock()
        kick?.send()
    }

    /// Enqueues a block for one queue. Such a block needs no token.
    @inline(__always) private func enqueueLocked(
        _ body: consuming @escaping @Sendable () -> Void, into queue: BlockQueue
    ) {
        fixHomeLocked()
        queue.append(.init(sequence: blockSequence, body: body))
        blockSequence &+= 1
    }

    /// Returns the ``Kick`` that the caller must send after it has enqueued a block; nil if no kick is needed.
    ///
    /// The woken run may be in a mode for which the block was not enqueued. So a call from another thread also marks
    /// `.news` pending. The host then finds the block when it drives the loop again.
    @inline(__always) private func noteBlockEnqueuedLocked(waking: Bool) -> Kick? {
        guard waking else {
            noteEnqueuedLocked()
            return nil
        }
        if !pendingPasses.contains(.news), !isCurrent { pendingPasses.add(.news) }
        return wakeUpLocked(for: .everyRun)
    }

    /// Releases the closure where no lock is held, because the deinit of a captured object is user code.
    @inline(never) func dropClosure(_ body: consuming @escaping @Sendable () -> Void) {}

    /// Enqueues a block for zero, two or more modes.
    private func enqueueSharedLocked(_ body: @escaping @Sendable () -> Void, _ names: [Mode]) {
        fixHomeLocked()
        let queues = Set(names).map(blockQueueLocked)
        let token = BlockToken(body: body, queues: queues)
        for queue in queues { queue.append(.init(sequence: blockSequence, token: token)) }
        blockSequence += 1
    }

    private func blockQueueLocked(_ name: Mode) -> BlockQueue {
        name == .common ? commonBlocks : modeLocked(name).blocks
    }
}
