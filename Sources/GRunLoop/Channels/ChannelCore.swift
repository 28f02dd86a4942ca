// SPDX-License-Identifier: Apache-2.0
// The part of a channel that does not depend on the element type: a lock, and pieces of memory that senders fill and
// the receiver empties.
//
// The receiver takes all pieces together, and then uses them without the lock. So the lock is held for a few
// instructions only. Memory is allocated for pieces, and not for each element. An element may be moved with the lock
// held, because a move runs no user code. All other operations on an element, such as its deinit, happen without the
// lock. A function whose name ends in `Locked` is called with the channel's lock held.
//
// Keep the generic part (Channel.swift) small, because the compiler makes a copy of it for each element type in the
// program.

import Synchronization

/// The state of a channel. The program's ``GRunLoop/Channel`` retains this object. Until the channel is invalid, the
/// channel's source also retains this object.
@usableFromInline final class ChannelCore: @unchecked Sendable {
    /// The result of ``begin()``: the address for an element, or why the element is not accepted.
    @usableFromInline enum Slot {
        /// The address for the element. The lock is held until ``commit()`` releases it.
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
    /// The largest number of elements that can wait; at least one.
    @usableFromInline let capacity: Int

    let lock = Lock.take()

    @exclusivity(unchecked) var guarded = Guarded()
    @exclusivity(unchecked) var own = Own()

    /// True if the channel was invalidated or has left a mode, and the receiver has not noticed this yet. The receiver
    /// checks this flag before the next element.
    let mustRecheck = Atomic(false)

    struct Guarded {
        var state = State.open
        var sent = ChannelSent()
        var spare = ChannelSpare()
        /// True if the receiver will look for elements anyway, so that a sender need not signal the channel's source.
        var isScheduled = false
        /// The channel's source; nil before the channel has a receiver, and once the channel is invalid.
        var source: GRunLoop.Source?
        /// The loop that receives; nil until the channel has a receiver. The loop never changes after that, so the
        /// receiver reads it without the lock.
        var loop: GRunLoop?
        var senders = ChannelSenders()
        /// Senders that ``takeOne(to:)`` has made room for, and that must still be resumed.
        var admitted: [ChannelSender] = []
        /// How many deliveries are on the stack of the loop's thread; 1 while a task has a batch. If the number is not
        /// 0, ``invalidate()`` leaves the remaining elements to the delivery or the task.
        var busy = 0
        /// The mailbox of the receiving task; nil if a closure receives. The mailbox is closed when the channel becomes
        /// invalid.
        var mailbox: Mailbox<Void>?
        /// True if a task receives. The flag stays true after the channel's end, because the task may still use its
        /// batch.
        var isReadByTask = false
    }

    /// The receiver's batch. Other threads access it only with the lock held, and only while `busy` is 0. A nested run
    /// continues with the outer run's batch.
    struct Own {
        /// The receiver takes elements from the first piece. `next` and `end` delimit this piece's elements that are
        /// not taken yet.
        var pieces = ChannelPieces()
        var next: UnsafeMutableRawPointer?
        var end: UnsafeMutableRawPointer?
        /// True if the source is signalled for the remaining elements, so that a nested run finds them.
        var isSignalled = false
        /// The loop's time slice at the time when a task took the batch.
        var slice = Scheduler.standardSlice
        /// True if the task has taken an element in its current turn. While it is false, a used-up slice does not end
        /// the turn, because each turn must deliver an element.
        var hasTaken = false

        var hasRest: Bool { next != end || pieces.hasSecond }

        /// Returns whether the batch has more elements after its next element.
        func hasMore(_ type: ChannelElementType) -> Bool {
            pieces.hasSecond || next != end && next.unsafelyUnwrapped + type.size != end
        }

        /// Sets `next` and `end` to the beginning and end of the first piece's elements.
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
        // A forked child does not release the memory, because the memory belongs to the parent.
        guard !Fork.isChild else { return }
        guarded.spare.end()
        // ``invalidate()`` has taken all elements. An empty piece may be left.
        while let piece = own.pieces.removeFirst() { piece.free() }
        Lock.giveBack(lock)
    }

    // MARK: Sending. Any thread

    /// Returns the address for an element, or why the element is not accepted. The caller writes the element to the
    /// address, and calls ``commit()``.
    @usableFromInline func begin() -> Slot {
        guard !Fork.refuses("Channel.send") else { return .closed }
        lock.lock()
        if guarded.sent.room == 0, let refusal = makeRoomLocked() {
            lock.unlock()
            return refusal
        }
        return .at(guarded.sent.slot.unsafelyUnwrapped)
    }

    /// Accepts the element that the caller has written, and releases the lock. Signals the receiver if necessary.
    @usableFromInline func commit() {
        guarded.sent.commit(type)
        let told = guarded.isScheduled ? nil : guarded.source
        guarded.isScheduled = true
        lock.unlock()
        if let told { Self.tell(told) }
    }

    /// Makes room for one element. Returns nil if there is room now, otherwise the reason why the element is not
    /// accepted.
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

    static func tell(_ source: GRunLoop.Source) {
        source.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: The batch. Receiver only

    /// Takes all sent elements as the next batch. Call this function when the previous batch is used up. Returns the
    /// senders whose elements are now accepted; the caller must resume them.
    func takeBatchLocked() -> [ChannelSender] {
        giveBackUsedLocked()
        own.pieces = guarded.sent.takeAll(type)
        own.beginPiece(type)
        guarded.spare.noteBatch(of: own.pieces.count, type)
        return admitSendersLocked()
    }

    /// If the batch is used up, returns its last piece to the spare pieces.
    func giveBackUsedLocked() {
        guard !own.hasRest, let used = own.pieces.removeFirst() else { return }
        own.beginPiece(type)
        guarded.spare.giveBack(used)
    }

    /// Returns the address of the batch's next element; nil if the batch is used up. The caller moves the element out
    /// immediately.
    @inline(__always) func takeNext() -> UnsafeMutableRawPointer? {
        if own.next == own.end, !takeNextPiece() { return nil }
        let element = own.next.unsafelyUnwrapped
        own.next = element + type.size
        return element
    }

    /// Advances to the batch's next piece. Returns false if the batch has no further piece.
    @inline(never) private func takeNextPiece() -> Bool {
        guard own.pieces.hasSecond, let used = own.pieces.removeFirst() else { return false }
        own.beginPiece(type)
        lock.withLock { guarded.spare.giveBack(used) }
        return true
    }

    // MARK: Taking one by one, without a batch: each element counts as waiting until it is taken

    /// Like ``commit()``, but does not signal the receiver. Returns whether the caller must signal the receiver.
    func commitAnswering() -> Bool {
        guarded.sent.commit(type)
        let isFirst = !guarded.isScheduled
        guarded.isScheduled = true
        lock.unlock()
        return isFirst
    }

    /// Moves the first element to `memory`, if there is one. If `isLeft` is true, elements are left, and no sender will
    /// signal the receiver for them. If `hasAdmitted` is true, the caller must call ``resumeSenders()``.
    func takeOne(to memory: UnsafeMutableRawPointer) -> (isTaken: Bool, isLeft: Bool, hasAdmitted: Bool) {
        lock.lock()
        defer { lock.unlock() }
        let isTaken = !guarded.sent.isEmpty
        if let used = guarded.sent.takeFirst(to: memory, upTo: capacity, type) { guarded.spare.giveBack(used) }
        // Waiting senders must get the room before the lock is released. Otherwise a new sender could overtake them.
        if !guarded.senders.isEmpty { guarded.admitted += admitSendersLocked() }
        guarded.isScheduled = !guarded.sent.isEmpty
        return (isTaken, guarded.isScheduled, !guarded.admitted.isEmpty)
    }

    /// Resumes the senders that ``takeOne(to:)`` has made room for. Call this function without the lock.
    func resumeSenders() {
        let admitted = lock.withLock {
            defer { guarded.admitted = [] }
            return guarded.admitted
        }
        for sender in admitted { sender.resume(.enqueued) }
    }

    /// Accepts elements of waiting senders while there is room, in the order in which the senders began to wait.
    /// Returns these senders; the caller resumes them after it has released the lock.
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
