// SPDX-License-Identifier: Apache-2.0
// The receiving side of a channel: the version-0 source that delivers batches, and the end of the channel and of this
// source.

import Synchronization

extension ChannelCore {
    // MARK: The receiver

    /// Sets the channel's receiver. If the channel has a receiver already, logs a message and returns false. Threads:
    /// any.
    ///
    /// - Parameter task: the mailbox of the receiving task; nil if a closure receives.
    func bind(
        to loop: GRunLoop, inModes names: [GRunLoop.Mode], _ source: GRunLoop.Source, waking task: Mailbox<Void>?,
        _ call: String
    ) -> Bool {
        let isFirst = lock.withLock { () -> Bool in
            guard guarded.loop == nil else { return false }
            guarded.loop = loop
            guard guarded.state != .invalid else { return true }
            guarded.source = source
            guarded.mailbox = task
            guarded.isReadByTask = task != nil
            return true
        }
        guard isFirst else {
            Log.misuse(call, "ignored: the channel already has a receiver; make a channel for each receiver")
            return false
        }
        guard loop.addWaiter(self) else {
            invalidate()
            return true
        }
        passOnLabel()
        for name in names { join(name, of: loop) }
        lock.lock()
        let tells = guarded.source != nil && (!guarded.sent.isEmpty || guarded.state == .closing)
        if tells { guarded.isScheduled = true }
        lock.unlock()
        if tells { Self.tell(source) }
        // If another thread invalidated the channel before it joined the loop's waiters, this code removes it from the
        // waiters.
        if lock.withLock({ guarded.state == .invalid }) { _ = loop.removeWaiter(self) }
        return true
    }

    func makeSource(_ perform: @escaping @Sendable () -> Void) -> GRunLoop.Source {
        GRunLoop.Source(cancel: noteLeft, perform: perform)
    }

    /// The cancel closure of the channel's source. The closure makes the receiver check whether the channel is still in
    /// the mode.
    var noteLeft: @Sendable (GRunLoop, GRunLoop.Mode) -> Void {
        { [self] _, _ in mustRecheck.store(true, ordering: .relaxed) }
    }

    private func join(_ name: GRunLoop.Mode, of loop: GRunLoop) {
        guard let source = lock.withLock({ guarded.source }) else { return }
        loop.add(source, forMode: name)
        // If the source was signalled while it was in no mode, that signal woke no loop. So the loop is woken here.
        if source.isSignalled { loop.wakeUpEveryRun() }
    }

    func add(to loop: GRunLoop, forMode name: GRunLoop.Mode) {
        guard !Fork.refuses("add(Channel)") else { return }
        guard let home = lock.withLock({ guarded.loop }) else {
            return Log.misuse(
                "add(Channel)", "ignored: nothing receives from the channel yet; call Channel.receive(on:inModes:_:)")
        }
        guard home === loop else {
            return Log.misuse(
                "add(Channel)",
                "ignored: another loop receives from the channel, and a channel has one receiver; make a channel "
                    + "for each loop")
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

    /// Passes the address of each waiting element to `body`, which moves the element out. Elements that are sent during
    /// the delivery wait for the next pass or a nested run.
    @usableFromInline func deliver(_ body: (UnsafeMutableRawPointer) -> Void) {
        guard let (run, slice) = beginDelivery({ $0.hasMore(type) }) else { return }
        // The position in the batch is kept in the channel, because a nested run in `body` continues from this
        // position.
        while let element = takeNext() {
            if !own.hasRest { unsignalLast() }
            body(element)
            if mustRecheck.load(ordering: .relaxed), !mayGoOn() { break }
            if own.hasRest, run.scheduler.usesUpSlice(slice, after: .source), isCut() { break }
        }
        endDelivery()
    }

    /// Passes the elements of one piece to `body`, which moves them out or destroys them.
    @usableFromInline func deliverBatch(_ body: (_ first: UnsafeMutableRawPointer, _ count: Int) -> Void) {
        guard beginDelivery({ $0.pieces.hasSecond }) != nil else { return }
        // The piece leaves the batch first. Otherwise a nested run in `body` would deliver the piece's elements a
        // second time.
        guard own.hasRest, let piece = own.pieces.removeFirst() else { return endDelivery() }
        own.beginPiece(type)
        if !own.hasRest { unsignalLast() }
        body(piece.elements(type), piece.count)
        endDelivery(of: piece)
    }

    /// Begins a delivery. If the current batch is used up, takes a new one. Returns nil if the channel is invalid or no
    /// run is under way.
    ///
    /// - Parameter leavesRest: returns whether the batch has more elements than the first element or first piece of
    ///   this delivery.
    private func beginDelivery(_ leavesRest: (Own) -> Bool) -> (Run, slice: Nanoseconds)? {
        guard let loop = guarded.loop, let found = loop.lock.withLock({ loop.frame.map { ($0.run, loop.sliceLength) } })
        else { return nil }
        lock.lock()
        guard guarded.state != .invalid else {
            lock.unlock()
            return nil
        }
        guarded.busy += 1
        let admitted = own.hasRest ? [] : takeBatchLocked()
        own.isSignalled = leavesRest(own) || !guarded.sent.isEmpty
        guarded.isScheduled = own.isSignalled
        let signalled = own.isSignalled ? guarded.source : nil
        lock.unlock()
        signalled?.signal()
        for sender in admitted { sender.resume(.enqueued) }
        return found
    }

    /// Called before the last element of the batch is delivered. If no further element waits, clears the source's
    /// signal, because a nested run would find nothing to deliver.
    private func unsignalLast() {
        if own.isSignalled { lock.withLock(unsignalLocked) }
    }

    /// Clears the source's signal if no element is left. Without the lock, this function could clear the signal for an
    /// element that another thread is sending.
    private func unsignalLocked() {
        guard !own.hasRest, guarded.sent.isEmpty else { return }
        own.isSignalled = false
        guarded.isScheduled = false
        guarded.source?.clearSignal()
    }

    /// Called if `mustRecheck` is set. Returns whether the channel is valid and in the mode of the current run.
    private func mayGoOn() -> Bool {
        let source = lock.withLock {
            // Only the outermost delivery clears the flag, so that every delivery on the stack sees it. An invalidating
            // thread also acquires this lock. If it acquired the lock earlier, the source is nil here. If it acquires
            // the lock later, it sets the flag again.
            if guarded.busy == 1 { mustRecheck.store(false, ordering: .relaxed) }
            return guarded.source
        }
        guard let source, let loop = guarded.loop else { return false }
        return loop.lock.withLock { loop.frame?.mode.sources[ObjectIdentifier(source)] != nil }
    }

    private func isCut() -> Bool { guarded.loop?.endItemOfCallout() ?? false }

    private func endDelivery(of piece: ChannelPiece? = nil) {
        lock.lock()
        guarded.busy -= 1
        if let piece { guarded.spare.giveBack(piece) }
        giveBackUsedLocked()
        let isLeft = own.hasRest || !guarded.sent.isEmpty
        if guarded.state == .invalid || guarded.state == .closing && !isLeft && guarded.busy == 0 {
            lock.unlock()
            return invalidate()
        }
        guarded.isScheduled = isLeft
        let source = guarded.source
        unsignalLocked()
        lock.unlock()
        if isLeft { source?.signal() }
    }

    // MARK: The end. Any thread

    /// Stops accepting elements. The channel is invalidated after the accepted elements are delivered.
    @usableFromInline func close() {
        guard !Fork.isChild else { return }
        lock.lock()
        guard guarded.state == .open else { return lock.unlock() }
        guarded.state = .closing
        guarded.sent.end()
        let waiting = guarded.senders.removeAll()
        let isOver = guarded.busy == 0 && guarded.sent.isEmpty && !own.hasRest && guarded.source != nil
        let told = isOver || guarded.isScheduled ? nil : guarded.source
        if told != nil { guarded.isScheduled = true }
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if isOver { invalidate() } else if let told { Self.tell(told) }
    }

    /// Invalidates the channel. Passes the remaining elements to `type.giveUp`. If a delivery is under way or a task
    /// has a batch, the receiver does this later.
    @usableFromInline func invalidate() { invalidate(type.giveUp) }

    /// Invalidates the channel. Passes the remaining elements to `giveUp`, unless a delivery is under way or a task has
    /// a batch. Wakes the loop, because a sleeping run does not notice that its mode is empty now (item 75).
    func invalidate(_ giveUp: ChannelElementType.GiveUp) {
        guard !Fork.isChild else { return }
        lock.lock()
        guarded.state = .invalid
        guarded.sent.end()
        guarded.spare.end()
        let (source, task) = (guarded.source.take(), guarded.mailbox.take())
        let waiting = guarded.senders.removeAll()
        mustRecheck.store(true, ordering: .relaxed)
        let remains = guarded.busy == 0 ? takeRemainsLocked() : nil
        lock.unlock()
        for sender in waiting { sender.resume(.closed) }
        if let source {
            source.invalidate()
            if let loop = guarded.loop {
                _ = loop.removeWaiter(self)
                loop.wakeUpEveryRun()
            }
        }
        task?.close(.done)
        if let remains { empty(remains, giveUp) }
    }

    /// Returns the rest of the batch, and the elements that were sent after the batch was taken.
    private func takeRemainsLocked() -> (batch: Own, sent: ChannelPieces) {
        var batch = own
        // `own` is written only if it has a piece. If it has none, a task without a batch may be reading `own` now, and
        // a write would be a data race.
        if batch.pieces.first != nil { own = Own() }
        let taken = guarded.sent.taken
        let sent = guarded.sent.takeAll(type)
        guard taken > 0 else { return (batch, sent) }
        // If elements are taken one by one, there is no batch. The sent pieces are returned as the batch, without the
        // taken elements.
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

    /// Called when the program releases the channel. If the channel is in a mode, closes it; otherwise invalidates it.
    @usableFromInline func letGo() {
        guard !Fork.isChild else { return }
        let isReceived = lock.withLock { guarded.source?.isInModes == true }
        if isReceived { close() } else { invalidate() }
    }

    var isValid: Bool { !Fork.isChild && lock.withLock { guarded.state != .invalid } }
    @usableFromInline var isOpen: Bool { !Fork.isChild && lock.withLock { guarded.state == .open } }

    /// How many elements were sent and have not yet been taken by the loop.
    @usableFromInline var waiting: Int { Fork.isChild ? 0 : lock.withLock { guarded.sent.count } }
}

extension ChannelCore: AsyncWaiter {
    /// Invalidates the channel, on the loop's ending thread. A delivery on this thread's stack never returns, so it no
    /// longer counts as busy. But if a task receives, `busy` does not change, because the task may still use its batch
    /// on another thread.
    func loopHasEnded() {
        lock.withLock { if !guarded.isReadByTask { guarded.busy = 0 } }
        invalidate()
    }
}
