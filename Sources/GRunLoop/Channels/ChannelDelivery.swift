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
            guard guarded.loop == nil else { return false }
            guarded.loop = loop
            guard guarded.state != .closed else { return true }
            guarded.source = source
            guarded.mailbox = task
            guarded.isReadByTask = task != nil
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
        passOnLabel()
        for name in names { join(name, of: loop) }
        lock.lock()
        let tells = guarded.source != nil && (!guarded.sent.isEmpty || guarded.state == .finishing)
        if tells { guarded.isScheduled = true }
        lock.unlock()
        if tells { Self.tell(source) }
        // It was closed meanwhile, and does not wait for the end of the loop any more.
        if lock.withLock({ guarded.state == .closed }) { forget(loop) }
        return true
    }

    /// The source that receives.
    func makeSource(_ perform: @escaping @Sendable () -> Void) -> GRunLoop.Source {
        GRunLoop.Source(cancel: noteLeft, perform: perform)
    }

    var noteLeft: @Sendable (GRunLoop, GRunLoop.Mode) -> Void {
        { [self] _, _ in hasNews.store(true, ordering: .relaxed) }
    }

    private func join(_ name: GRunLoop.Mode, of loop: GRunLoop) {
        guard let source = lock.withLock({ guarded.source }) else { return }
        loop.add(source, forMode: name)
        // It may have been told of elements while it was in no mode.
        if source.isSignalled { loop.wakeUpEveryRun() }
    }

    /// Adds the channel to a mode of its loop. Any thread.
    func add(to loop: GRunLoop, forMode name: GRunLoop.Mode) {
        guard !Fork.refuses("add(Channel)") else { return }
        guard let home = lock.withLock({ guarded.loop }) else {
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
        guard !Fork.refuses("remove(Channel)"), let source = lock.withLock({ guarded.source }) else { return }
        loop.remove(source, forMode: name)
    }

    func isIn(_ loop: GRunLoop, forMode name: GRunLoop.Mode) -> Bool {
        guard !Fork.refuses("contains(Channel)"), let source = lock.withLock({ guarded.source }) else { return false }
        return loop.contains(source, forMode: name)
    }

    // MARK: Delivering, in the callout of the source

    /// Calls `body` with the address of each element that is there now, one by one: it moves the element out. What
    /// comes meanwhile waits for the next pass.
    @usableFromInline func deliver(_ body: (UnsafeMutableRawPointer) -> Void) {
        guard let (run, slice) = beginDelivery({ $0.hasMore(type) }) else { return }
        // In the memory of the channel, not here: a nested run in the closure goes on with it.
        while let element = takeNext() {
            if !own.hasRest { unsignalLast() }
            body(element)
            if hasNews.load(ordering: .relaxed), !mayGoOn() { break }
            if own.hasRest, run.scheduler.usesUpSlice(slice, after: .source), isCut() { break }
        }
        endDelivery()
    }

    /// The same with the elements of a piece at once, which `body` moves out or destroys.
    @usableFromInline func deliverBatch(_ body: (_ first: UnsafeMutableRawPointer, _ count: Int) -> Void) {
        guard beginDelivery({ $0.pieces.hasSecond }) != nil else { return }
        // A nested run in the closure goes on with the next piece, and must not fill this one.
        guard own.hasRest, let piece = own.pieces.removeFirst() else { return endDelivery() }
        own.beginPiece(type)
        if !own.hasRest { unsignalLast() }
        body(piece.elements(type), piece.count)
        endDelivery(of: piece)
    }

    /// Nil if the channel is closed.
    ///
    /// - Parameter leavesRest: whether more is left in the batch when the first element, or piece, has gone.
    private func beginDelivery(_ leavesRest: (Own) -> Bool) -> (Run, slice: Nanoseconds)? {
        guard let loop = guarded.loop, let found = loop.lock.withLock({ loop.frame.map { ($0.run, loop.sliceLength) } })
        else { return nil }
        lock.lock()
        guard guarded.state != .closed else {
            lock.unlock()
            return nil
        }
        guarded.busy += 1
        let admitted = own.hasRest ? [] : takeBatchLocked()
        // A nested run in the closure finds what is left only if the source is signalled.
        own.isSignalled = leavesRest(own) || !guarded.sent.isEmpty
        guarded.isScheduled = own.isSignalled
        let signalled = own.isSignalled ? guarded.source : nil
        lock.unlock()
        signalled?.signal()
        for sender in admitted { sender.resume(.enqueued) }
        return found
    }

    /// The last element is about to be delivered: for a nested run nothing is left.
    private func unsignalLast() {
        if own.isSignalled { lock.withLock(unsignalLocked) }
    }

    /// With the lock held, or the signal of an element that comes now would be lost.
    private func unsignalLocked() {
        guard !own.hasRest, guarded.sent.isEmpty else { return }
        own.isSignalled = false
        guarded.isScheduled = false
        guarded.source?.clearSignal()
    }

    /// After news: whether the channel is still open, and in the mode that is being run.
    private func mayGoOn() -> Bool {
        let source = lock.withLock {
            // The news are for the outer deliveries, too. With the lock held: who closes meanwhile has news again.
            if guarded.busy == 1 { hasNews.store(false, ordering: .relaxed) }
            return guarded.source
        }
        guard let source, let loop = guarded.loop else { return false }
        return loop.lock.withLock { loop.frame?.mode.sources[ObjectIdentifier(source)] != nil }
    }

    private func isCut() -> Bool { guarded.loop?.isSliceSpent() ?? false }

    private func endDelivery(of piece: ChannelPiece? = nil) {
        lock.lock()
        guarded.busy -= 1
        if let piece { guarded.spare.giveBack(piece) }
        giveBackUsedLocked()
        let isLeft = own.hasRest || !guarded.sent.isEmpty
        if guarded.state == .closed || guarded.state == .finishing && !isLeft && guarded.busy == 0 {
            lock.unlock()
            return close()
        }
        guarded.isScheduled = isLeft
        let source = guarded.source
        unsignalLocked()
        lock.unlock()
        if isLeft { source?.signal() }
    }

    // MARK: The end. Any thread

    /// Nothing more is accepted; what was is delivered first.
    @usableFromInline func finish() {
        guard !Fork.isChild else { return }
        lock.lock()
        guard guarded.state == .open else { return lock.unlock() }
        guarded.state = .finishing
        guarded.sent.end()
        let waiting = guarded.senders.removeAll()
        let isOver = guarded.busy == 0 && guarded.sent.isEmpty && !own.hasRest && guarded.source != nil
        let told = isOver || guarded.isScheduled ? nil : guarded.source
        if told != nil { guarded.isScheduled = true }
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if isOver { close() } else if let told { Self.tell(told) }
    }

    /// Nothing is delivered any more: what is left is given up, here, or by the delivery that is under way.
    @usableFromInline func close() { close(type.giveUp) }

    /// The same; what is left here is for `giveUp`, which moves it out.
    func close(_ giveUp: ChannelElementType.GiveUp) {
        guard !Fork.isChild else { return }
        lock.lock()
        guarded.state = .closed
        guarded.sent.end()
        guarded.spare.end()
        let (source, task) = (guarded.source.take(), guarded.mailbox.take())
        let waiting = guarded.senders.removeAll()
        hasNews.store(true, ordering: .relaxed)
        let remains = guarded.busy == 0 ? takeRemainsLocked() : nil
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if let source {
            source.invalidate()
            if let loop = guarded.loop { forget(loop) }
        }
        task?.close(.done)
        if let remains { empty(remains, giveUp) }
    }

    private func forget(_ loop: GRunLoop) {
        _ = loop.lock.withLock { loop.waiters.remove(self) }
    }

    /// What is left of a batch, and what was sent since. With the lock held.
    private func takeRemainsLocked() -> (batch: Own, sent: ChannelPieces) {
        var batch = own
        // Nor is it written without need: before its first batch a task may be looking whether it has one.
        if batch.pieces.first != nil { own = Own() }
        let taken = guarded.sent.taken
        let sent = guarded.sent.takeAll(type)
        guard taken > 0 else { return (batch, sent) }
        // They are taken one by one, and there is no batch: its rest stands where the first one of that stood.
        batch.pieces = sent
        batch.beginPiece(type)
        batch.next = batch.next.map { $0 + taken * type.size }
        return (batch, ChannelPieces())
    }

    private func empty(_ remains: (batch: Own, sent: ChannelPieces), _ giveUp: ChannelElementType.GiveUp) {
        var (batch, sent) = remains
        if let piece = batch.pieces.removeFirst(), let next = batch.next, let end = batch.end {
            if next != end { giveUp(next, (end - next) / type.size) }
            piece.free()
        }
        empty(&batch.pieces, giveUp)
        empty(&sent, giveUp)
    }

    private func empty(_ pieces: inout ChannelPieces, _ giveUp: ChannelElementType.GiveUp) {
        while let piece = pieces.removeFirst() {
            if piece.count > 0 { giveUp(piece.elements(type), piece.count) }
            piece.free()
        }
    }

    /// Nobody can send any more.
    @usableFromInline func letGo() {
        guard !Fork.isChild else { return }
        let isReceived = lock.withLock { guarded.source?.isInModes == true }
        if isReceived { finish() } else { close() }
    }

    @usableFromInline var isOpen: Bool { !Fork.isChild && lock.withLock { guarded.state == .open } }

    /// What was sent and the loop has not taken yet. A hint, like any such number.
    @usableFromInline var waiting: Int { Fork.isChild ? 0 : lock.withLock { guarded.sent.count } }
}

extension ChannelCore: AsyncWaiter {
    /// On the loop's thread. A delivery that is on its stack was left for good; a task on another thread still has its
    /// batch, also if its mailbox, which ends with the loop as well, has closed the channel already.
    func loopHasEnded() {
        lock.withLock { if !guarded.isReadByTask { guarded.busy = 0 } }
        close()
    }
}
