// SPDX-License-Identifier: Apache-2.0
// The receiving side of a channel: a version-0 source that delivers a batch, and the end of both.

import Synchronization

extension ChannelCore {
    // MARK: The receiver

    /// Gives the channel its receiver, on a loop, for good. False, with a message, if it has one. Any thread.
    ///
    /// - Parameter task: what wakes the task that receives; nil if a closure does.
    func bind(
        to loop: GRunLoop, inModes names: [GRunLoop.Mode], _ source: GRunLoop.Source, waking task: Mailbox<Void>?,
        _ call: StaticString
    ) -> Bool {
        let isFirst = lock.withLock { () -> Bool in
            guard self.loop == nil else { return false }
            self.loop = loop
            guard state != .closed else { return true }
            self.source = source
            mailbox = task
            isReadByTask = task != nil
            return true
        }
        guard isFirst else {
            Log.misuse(call, "ignored: the channel has a receiver, and keeps it; make a channel for each")
            return false
        }
        guard loop.lock.withLock({ loop.waiters.add(self) }) else {
            close()
            return true
        }
        for name in names { join(name, of: loop) }
        lock.lock()
        let tells = self.source != nil && (count > 0 || state == .finishing)
        if tells { isScheduled = true }
        lock.unlock()
        if tells { Self.tell(source) }
        // It was closed meanwhile, and does not wait for the end of the loop any more.
        if lock.withLock({ state == .closed }) { forget(loop) }
        return true
    }

    /// The source that receives: it knows in how many modes it is.
    func makeSource(_ perform: @escaping @Sendable () -> Void) -> GRunLoop.Source {
        GRunLoop.Source(schedule: noteJoined, cancel: noteLeft, perform: perform)
    }

    var noteJoined: @Sendable (GRunLoop, GRunLoop.Mode) -> Void {
        { [self] _, _ in lock.withLock { modeCount += 1 } }
    }

    var noteLeft: @Sendable (GRunLoop, GRunLoop.Mode) -> Void {
        { [self] _, _ in
            lock.withLock { modeCount -= 1 }
            hasNews.store(true, ordering: .relaxed)
        }
    }

    private func join(_ name: GRunLoop.Mode, of loop: GRunLoop) {
        guard let source = lock.withLock({ source }) else { return }
        loop.add(source, forMode: name)
        // It may have been told of elements while it was in no mode.
        if source.isSignalled { loop.wakeUp() }
    }

    /// Adds the channel to a mode of its loop. Any thread.
    func add(to loop: GRunLoop, forMode name: GRunLoop.Mode) {
        guard !Fork.refuses("add(Channel)") else { return }
        guard let home = lock.withLock({ self.loop }) else {
            return Log.misuse(
                "add(Channel)", "ignored: nothing receives from the channel yet; call Channel.receive(on:inModes:_:)")
        }
        guard home === loop else {
            return Log.misuse(
                "add(Channel)",
                "ignored: another loop receives from the channel, and no other can; make a channel for "
                    + "each loop")
        }
        join(name, of: loop)
    }

    func remove(from loop: GRunLoop, forMode name: GRunLoop.Mode) {
        guard !Fork.refuses("remove(Channel)"), let source = lock.withLock({ source }) else { return }
        loop.remove(source, forMode: name)
    }

    func isIn(_ loop: GRunLoop, forMode name: GRunLoop.Mode) -> Bool {
        guard !Fork.refuses("contains(Channel)"), let source = lock.withLock({ source }) else { return false }
        return loop.contains(source, forMode: name)
    }

    // MARK: Delivering, in the callout of the source

    /// Calls `body` with the address of each element that is there now, one by one: it moves the element out. What
    /// comes meanwhile waits for the next pass.
    @usableFromInline func deliver(_ body: (UnsafeMutableRawPointer) -> Void) {
        guard let (run, slice) = beginDelivery() else { return }
        // In the memory of the channel, not here: a nested run in the closure goes on with it.
        while next < end {
            let element = taken.address(next, type)
            next &+= 1
            body(element)
            if hasNews.load(ordering: .relaxed), !mayGoOn() { break }
            if next < end, run.turns.slice.isSpent(slice, after: .sources), isCut() { break }
        }
        endDelivery()
    }

    /// The same with all elements at once, which `body` moves out or destroys.
    @usableFromInline func deliverBatch(_ body: (_ first: UnsafeMutableRawPointer, _ count: Int) -> Void) {
        guard beginDelivery() != nil else { return }
        // A nested run in the closure must not fill this piece.
        var batch = Piece()
        swap(&batch, &taken)
        let (first, last) = (next, end)
        next = 0
        end = 0
        if first < last { body(batch.address(first, type), last - first) }
        if taken.room == 0 {
            swap(&batch, &taken)
            (next, end) = (last, last)
        }
        batch.free()
        endDelivery()
    }

    /// Nil if the channel is closed.
    private func beginDelivery() -> (Run, slice: Nanoseconds)? {
        guard let loop = self.loop else { return nil }
        lock.lock()
        guard state != .closed else {
            lock.unlock()
            return nil
        }
        busy += 1
        isScheduled = false
        let admitted = next == end ? takeBatchLocked() : []
        // A nested run in the closure finds the rest only if the source is signalled.
        let signalled = end - next > 1 || count > 0 ? source : nil
        if signalled != nil { isScheduled = true }
        lock.unlock()
        signalled?.signal()
        for sender in admitted { sender.resume(.enqueued) }
        return loop.lock.withLock { loop.frame.map { ($0.run, loop.sliceLength) } }
    }

    /// After news: whether the channel is still open, and in the mode that is being run.
    @inline(never) private func mayGoOn() -> Bool {
        // The news are for the outer deliveries, too.
        if busy == 1 { hasNews.store(false, ordering: .relaxed) }
        guard let loop, let source = lock.withLock({ state == .closed ? nil : self.source }) else { return false }
        return loop.lock.withLock { loop.frame?.mode.sources[ObjectIdentifier(source)] != nil }
    }

    @inline(never) private func isCut() -> Bool { loop?.isSliceSpent() ?? false }

    private func endDelivery() {
        if next == end { freeIfLarge() }
        lock.lock()
        busy -= 1
        let isLeft = next < end || count > 0
        if state == .closed || state == .finishing && !isLeft && busy == 0 {
            lock.unlock()
            return close()
        }
        isScheduled = isLeft
        let source = source
        // Without an element left, the signal was for a nested run, and there was none. Cleared under the lock, so that
        // no new element's signal is lost.
        if !isLeft { source?.clearSignal() }
        lock.unlock()
        if isLeft { source?.signal() }
    }

    // MARK: The end. Any thread

    /// Nothing more is accepted; what was is delivered first.
    @usableFromInline func finish() {
        guard !Fork.isChild else { return }
        lock.lock()
        guard state == .open else { return lock.unlock() }
        state = .finishing
        let waiting = senders.removeAll()
        let isOver = busy == 0 && count == 0 && next == end && source != nil
        let told = isOver || isScheduled ? nil : source
        if told != nil { isScheduled = true }
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if isOver { close() } else if let told { Self.tell(told) }
    }

    /// Nothing is delivered any more: what is left is given up, here, or by the delivery that is under way.
    @usableFromInline func close() {
        guard !Fork.isChild else { return }
        lock.lock()
        state = .closed
        let (source, task, waiting) = (source.take(), mailbox.take(), senders.removeAll())
        hasNews.store(true, ordering: .relaxed)
        let remains = busy == 0 ? takeRemainsLocked() : nil
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if let source {
            source.invalidate()
            if let loop { forget(loop) }
        }
        task?.close(.done)
        if let remains { giveUp(remains) }
    }

    private func forget(_ loop: GRunLoop) {
        _ = loop.lock.withLock { loop.waiters.remove(self) }
    }

    private struct Remains {
        var taken: Piece
        let next: Int
        let end: Int
        var filled: Piece
        let count: Int
    }

    private func takeRemainsLocked() -> Remains {
        defer { (taken, next, end, filled, count) = (Piece(), 0, 0, Piece(), 0) }
        return Remains(taken: taken, next: next, end: end, filled: filled, count: count)
    }

    private func giveUp(_ remains: consuming Remains) {
        if remains.next < remains.end {
            type.giveUp(remains.taken.address(remains.next, type), remains.end - remains.next)
        }
        if remains.count > 0 { type.giveUp(remains.filled.address(0, type), remains.count) }
        remains.taken.free()
        remains.filled.free()
    }

    /// Nobody can send any more.
    @usableFromInline func letGo() {
        guard !Fork.isChild else { return }
        let isReceived = lock.withLock { source != nil && modeCount > 0 }
        if isReceived { finish() } else { close() }
    }

    @usableFromInline var isOpen: Bool { !Fork.isChild && lock.withLock { state == .open } }

    /// What was sent and is not delivered yet. A hint, like any such number.
    @usableFromInline var waiting: Int { Fork.isChild ? 0 : lock.withLock { count } }
}

extension ChannelCore: AsyncWaiter {
    /// On the loop's thread. A delivery that is on its stack was left for good; a task on another thread still has its
    /// batch, also if its mailbox, which ends with the loop as well, has closed the channel already.
    func loopHasEnded() {
        lock.withLock { if !isReadByTask { busy = 0 } }
        close()
    }
}
