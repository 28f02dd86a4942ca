// SPDX-License-Identifier: Apache-2.0
// A channel without its element type: one lock, and pieces of memory that senders fill and the receiver empties.
//
// The receiver takes all pieces together, and then uses them alone. So senders and the receiver hold the lock for a few
// instructions only, and no element costs an allocation. The generic part is a thin shell that the compiler specialises
// in the program (Channel.swift). The shell puts an element at the address that ``begin()`` returns. It takes an
// element from the address that ``deliver(_:)`` or ``takeNext()`` passes. The lock may be held while an element is
// moved, because a move runs no user code. Everything else that touches an element happens without the lock, also its
// deinit.

import Synchronization

/// The state of a channel. The program's ``GRunLoop/Channel`` holds it, and so does the channel's source until the
/// channel is invalid.
@usableFromInline final class ChannelCore: @unchecked Sendable {
    /// The answer to a sender: the address for its element, or why the element is not accepted.
    @usableFromInline enum Slot {
        /// The address for the element. The lock is held, and ``commit()`` releases it.
        case at(UnsafeMutableRawPointer)
        case full, closed
    }

    enum State {
        case open
        /// No more elements are accepted; the accepted ones are still delivered.
        case closing
        /// No more elements are accepted or delivered.
        case invalid
    }

    let type: ChannelElementType
    /// At least one.
    @usableFromInline let capacity: Int

    let lock = Lock.take()

    @exclusivity(unchecked) var guarded = Guarded()
    @exclusivity(unchecked) var own = Own()

    /// True if the channel was invalidated or has left a mode. The receiver checks it before the next element.
    let mustRecheck = Atomic(false)

    /// The state that the lock guards.
    struct Guarded {
        var state = State.open
        var sent = ChannelSent()
        var spare = ChannelSpare()
        /// True if the receiver knows that elements wait, and will look for them. No other thread has to signal it
        /// then.
        var isScheduled = false
        /// The source that stands for the channel in its modes. Nil if there is no receiver yet, or if the channel is
        /// invalid.
        var source: GRunLoop.Source?
        /// The loop that receives; nil until there is a receiver. It never changes after that, so the receiver reads it
        /// without the lock.
        var loop: GRunLoop?
        var senders = ChannelSenders()
        /// Senders whose elements got the room that ``takeOne(to:)`` made, and which are still to be resumed.
        var admitted: [ChannelSender] = []
        /// How many deliveries are on the stack of the loop's thread; 1 while a task has a batch. If it is not 0 when
        /// the channel is invalidated, the delivery or the task passes on the elements that are left.
        var busy = 0
        /// The mailbox of the receiving task, which is closed at the channel's end; nil if a closure receives.
        var mailbox: Mailbox<Void>?
        /// True if a task receives. It stays true after the channel's end, because the task still uses its batch.
        var isReadByTask = false
    }

    /// The state that only the receiver uses: its batch. A nested run continues with the same batch.
    struct Own {
        /// The pieces of the batch. The first piece is being emptied, from `next` up to `end`.
        var pieces = ChannelPieces()
        var next: UnsafeMutableRawPointer?
        var end: UnsafeMutableRawPointer?
        /// True if the source is signalled, so that a nested run finds the elements that are left.
        var isSignalled = false
        /// The loop's time slice when a task took the batch.
        var slice = Scheduler.standardSlice
        /// Whether the task has taken an element in this turn. Only then does a used-up slice end the turn, so that
        /// each turn delivers at least one element.
        var hasTaken = false

        /// Whether the batch has more elements.
        var hasRest: Bool { next != end || pieces.hasSecond }

        /// Whether the batch has more elements after the next one.
        func hasMore(_ type: ChannelElementType) -> Bool {
            pieces.hasSecond || next != end && next.unsafelyUnwrapped + type.size != end
        }

        /// Points `next` and `end` to the elements of the first piece.
        mutating func beginPiece(_ type: ChannelElementType) {
            next = pieces.first?.elements(type)
            end = pieces.first.map { $0.elements(type) + $0.count * type.size }
        }
    }

    @usableFromInline init(capacity: Int, _ type: ChannelElementType) {
        self.capacity = max(1, capacity)
        self.type = type
    }

    deinit {
        // In a forked child, the memory is the parent's, and is not released.
        guard !Fork.isChild else { return }
        guarded.spare.end()
        // No element is left, because ``invalidate()`` has taken them all. A piece that is used up may be left.
        while let piece = own.pieces.removeFirst() { piece.free() }
        Lock.giveBack(lock)
    }

    // MARK: Sending. Any thread

    /// Returns where to put an element, or why it is not accepted. If it is accepted, the caller puts the element there
    /// and calls ``commit()``.
    @usableFromInline func begin() -> Slot {
        guard !Fork.refuses("Channel.send") else { return .closed }
        lock.lock()
        if guarded.sent.room == 0, let refusal = makeRoomLocked() {
            lock.unlock()
            return refusal
        }
        return .at(guarded.sent.slot.unsafelyUnwrapped)
    }

    /// Accepts the element that the caller has put in its place. Releases the lock, and tells the receiver unless it
    /// was told already.
    @usableFromInline func commit() {
        guarded.sent.commit(type)
        let told = guarded.isScheduled ? nil : guarded.source
        guarded.isScheduled = true
        lock.unlock()
        if let told { Self.tell(told) }
    }

    /// Makes room for one element. Returns nil if there is room now, else why there is none.
    @inline(never) private func makeRoomLocked() -> Slot? {
        guard guarded.state == .open else { return .closed }
        guard guarded.sent.count < capacity else { return .full }
        addPieceLocked()
        return nil
    }

    private func addPieceLocked() {
        if guarded.sent.reopen(upTo: capacity, type) { return }
        if guarded.sent.hasOnePiece, let larger = guarded.spare.takeLarger(upTo: capacity, type) {
            guarded.sent.move(to: larger, upTo: capacity, type)
        } else {
            guarded.sent.append(guarded.spare.take(upTo: capacity, type), upTo: capacity, type)
        }
    }

    /// Signals the source and wakes its loop. Called once for a burst of elements.
    static func tell(_ source: GRunLoop.Source) {
        source.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: The batch. Receiver only

    /// Takes the elements that were sent as the next batch. Call it with the lock held, when the last batch is used up.
    /// Returns the waiting senders whose elements were accepted; the caller resumes them.
    func takeBatchLocked() -> [ChannelSender] {
        giveBackUsedLocked()
        own.pieces = guarded.sent.takeAll(type)
        own.beginPiece(type)
        guarded.spare.noteBatch(of: own.pieces.count, type)
        return admitSendersLocked()
    }

    /// Gives the last piece back to be filled again, if the batch is used up. Call it with the lock held.
    func giveBackUsedLocked() {
        guard !own.hasRest, let used = own.pieces.removeFirst() else { return }
        own.beginPiece(type)
        guarded.spare.giveBack(used)
    }

    /// Returns the address of the batch's next element, which the caller moves out immediately. Returns nil if the
    /// batch is used up.
    @inline(__always) func takeNext() -> UnsafeMutableRawPointer? {
        if own.next == own.end, !takeNextPiece() { return nil }
        let element = own.next.unsafelyUnwrapped
        own.next = element + type.size
        return element
    }

    /// Goes on with the next piece of the batch. Returns whether there is one.
    @inline(never) private func takeNextPiece() -> Bool {
        guard own.pieces.hasSecond, let used = own.pieces.removeFirst() else { return false }
        own.beginPiece(type)
        lock.withLock { guarded.spare.giveBack(used) }
        return true
    }

    // MARK: Taking one by one, without a batch: each element counts as waiting until it is taken

    /// Like ``commit()``, but does not tell the receiver. Returns whether the caller has to.
    func commitAnswering() -> Bool {
        guarded.sent.commit(type)
        let isFirst = !guarded.isScheduled
        guarded.isScheduled = true
        lock.unlock()
        return isFirst
    }

    /// Moves the first element to `memory`, if there is one. Returns whether there was one, whether more are left, and
    /// whether waiting senders got room. If more are left, no sender tells the receiver of them. If waiting senders got
    /// room, the caller calls ``resumeSenders()``.
    func takeOne(to memory: UnsafeMutableRawPointer) -> (isTaken: Bool, isLeft: Bool, hasAdmitted: Bool) {
        lock.lock()
        defer { lock.unlock() }
        let isTaken = !guarded.sent.isEmpty
        if let used = guarded.sent.takeFirst(to: memory, upTo: capacity, type) { guarded.spare.giveBack(used) }
        // Waiting senders get the room before the lock is released, so that a new sender cannot overtake them.
        if !guarded.senders.isEmpty { guarded.admitted += admitSendersLocked() }
        guarded.isScheduled = !guarded.sent.isEmpty
        return (isTaken, guarded.isScheduled, !guarded.admitted.isEmpty)
    }

    /// Resumes the senders whose elements got room in ``takeOne(to:)``. Call it without the lock.
    func resumeSenders() {
        let admitted = lock.withLock {
            defer { guarded.admitted = [] }
            return guarded.admitted
        }
        for sender in admitted { sender.resume(.enqueued) }
    }

    /// Accepts elements of waiting senders while there is room, in the order in which the senders began to wait. Call
    /// it with the lock held. Returns those senders, to be resumed after the lock is released.
    func admitSendersLocked() -> [ChannelSender] {
        guard !guarded.senders.isEmpty else { return [] }
        var admitted: [ChannelSender] = []
        while guarded.sent.count < capacity, let sender = guarded.senders.removeFirst() {
            if guarded.sent.room == 0 { addPieceLocked() }
            sender.move(to: guarded.sent.slot.unsafelyUnwrapped, type)
            guarded.sent.commit(type)
            admitted.append(sender)
        }
        return admitted
    }
}
