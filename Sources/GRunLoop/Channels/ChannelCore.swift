// SPDX-License-Identifier: Apache-2.0
// A channel without its element type: one lock, and pieces of memory that threads fill and the receiver empties.
//
// The receiver takes all pieces at once, and has them for itself. So the lock is held for a few instructions on either
// side, and no message costs an allocation. What is generic is a thin shell that the compiler specialises in the
// program (Channel.swift): it puts an element where ``begin()`` says and takes it from where ``deliver(_:)`` or
// ``takeNext()`` says. To move an element is no user code; all else that touches one, its deinit too, happens without
// the lock.

import Synchronization

/// The program's ``GRunLoop/Channel`` holds it, and so does the source by which it is in modes, until it is closed.
@usableFromInline final class ChannelCore: @unchecked Sendable {
    /// Where an element is to be put, if it is accepted.
    @usableFromInline enum Slot {
        /// The lock is held: ``commit()`` releases it.
        case at(UnsafeMutableRawPointer)
        case full, closed
    }

    enum State {
        case open
        /// Nothing more is accepted; what was is delivered.
        case finishing
        /// Nothing is delivered any more.
        case closed
    }

    let type: ChannelElementType
    /// At least one.
    @usableFromInline let capacity: Int

    let lock = Lock.take()

    @exclusivity(unchecked) var guarded = Guarded()
    @exclusivity(unchecked) var own = Own()

    /// The channel was closed, or has left a mode: the receiver looks before the next element.
    let hasNews = Atomic(false)

    /// Guarded by the lock.
    struct Guarded {
        var state = State.open
        var sent = ChannelSent()
        var spare = ChannelSpare()
        /// The receiver was told, and will look: nobody else has to tell it.
        var isScheduled = false
        /// By this the channel is in modes. Nil: nothing receives yet, or the channel is closed.
        var source: GRunLoop.Source?
        /// The loop that receives, once there is one: for good. So the receiver reads it without the lock.
        var loop: GRunLoop?
        var senders = ChannelSenders()
        /// Senders that have got the room of an element that was taken alone, and are still to be told.
        var admitted: [ChannelSender] = []
        /// How many deliveries are on the stack of the loop's thread; 1 while a task has a batch. Then it is theirs to
        /// give up what is left.
        var busy = 0
        /// The task that receives, to be told of the end; nil if a closure receives.
        var mailbox: Mailbox<Void>?
        /// A task receives, also after the end: the batch that it has is its own.
        var isReadByTask = false
    }

    /// The receiver's own: the batch. A nested run goes on with it.
    struct Own {
        /// The first one is being emptied, from `next` up to `end`.
        var pieces = ChannelPieces()
        var next: UnsafeMutableRawPointer?
        var end: UnsafeMutableRawPointer?
        /// The source is signalled, so that a nested run finds what is left.
        var isSignalled = false
        /// The loop's time slice when a task took the batch.
        var slice = Scheduler.standardSlice
        /// Whether the task has taken an element in this turn. Only then does a used-up slice end the turn, so that
        /// each turn delivers at least one element.
        var hasTaken = false

        /// Elements are left.
        var hasRest: Bool { next != end || pieces.hasSecond }

        /// Elements will be left when the next one has gone.
        func hasMore(_ type: ChannelElementType) -> Bool {
            pieces.hasSecond || next != end && next.unsafelyUnwrapped + type.size != end
        }

        /// Goes on with the first piece.
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
        // A child leaves to the parent what is the parent's.
        guard !Fork.isChild else { return }
        guarded.spare.end()
        // Of what was sent and never received, ``close()`` has left nothing; a piece that is used up may be left.
        while let piece = own.pieces.removeFirst() { piece.free() }
        Lock.giveBack(lock)
    }

    // MARK: Sending. Any thread

    /// Where to put an element.
    @usableFromInline func begin() -> Slot {
        guard !Fork.refuses("Channel.send") else { return .closed }
        lock.lock()
        if guarded.sent.room == 0, let refusal = makeRoomLocked() {
            lock.unlock()
            return refusal
        }
        return .at(guarded.sent.slot.unsafelyUnwrapped)
    }

    /// The element is there.
    @usableFromInline func commit() {
        guarded.sent.commit(type)
        let told = guarded.isScheduled ? nil : guarded.source
        guarded.isScheduled = true
        lock.unlock()
        if let told { Self.tell(told) }
    }

    /// Nil if there is room now.
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

    /// Once a burst.
    static func tell(_ source: GRunLoop.Source) {
        source.signalAnsweringLoop()?.wakeUpEveryRun()
    }

    // MARK: The batch. The receiver's

    /// With the lock held, and nothing left of the last batch: takes what was sent. Returns the senders that wait no
    /// longer.
    func takeBatchLocked() -> [ChannelSender] {
        giveBackUsedLocked()
        own.pieces = guarded.sent.takeAll(type)
        own.beginPiece(type)
        guarded.spare.noteBatch(of: own.pieces.count, type)
        return admitSendersLocked()
    }

    /// With the lock held: if nothing is left of the batch, its last piece is to be filled again.
    func giveBackUsedLocked() {
        guard !own.hasRest, let used = own.pieces.removeFirst() else { return }
        own.beginPiece(type)
        guarded.spare.giveBack(used)
    }

    /// Where the next element of the batch stands, to be moved out at once; nil if none is left.
    @inline(__always) func takeNext() -> UnsafeMutableRawPointer? {
        if own.next == own.end, !takeNextPiece() { return nil }
        let element = own.next.unsafelyUnwrapped
        own.next = element + type.size
        return element
    }

    /// Returns whether there is one.
    @inline(never) private func takeNextPiece() -> Bool {
        guard own.pieces.hasSecond, let used = own.pieces.removeFirst() else { return false }
        own.beginPiece(type)
        lock.withLock { guarded.spare.giveBack(used) }
        return true
    }

    // MARK: One by one, without a batch: each counts as waiting until it is taken

    /// As ``commit()``. Returns whether the receiver is to be told.
    func commitAnswering() -> Bool {
        guarded.sent.commit(type)
        let isFirst = !guarded.isScheduled
        guarded.isScheduled = true
        lock.unlock()
        return isFirst
    }

    /// Moves the first element to `memory`, if there is one. Returns whether there was one, whether more are left, of
    /// which the receiver need not be told, and whether somebody waited for the room: ``resumeSenders()`` follows then.
    func takeOne(to memory: UnsafeMutableRawPointer) -> (isTaken: Bool, isLeft: Bool, hasAdmitted: Bool) {
        lock.lock()
        defer { lock.unlock() }
        let isTaken = !guarded.sent.isEmpty
        if let used = guarded.sent.takeFirst(to: memory, upTo: capacity, type) { guarded.spare.giveBack(used) }
        // At once: the room is theirs, and who comes now must not overtake them.
        if !guarded.senders.isEmpty { guarded.admitted += admitSendersLocked() }
        guarded.isScheduled = !guarded.sent.isEmpty
        return (isTaken, guarded.isScheduled, !guarded.admitted.isEmpty)
    }

    /// Lets those go on whose elements have taken the room.
    func resumeSenders() {
        let admitted = lock.withLock {
            defer { guarded.admitted = [] }
            return guarded.admitted
        }
        for sender in admitted { sender.resume(.enqueued) }
    }

    /// With the lock held: what waiting senders hold takes the room, in the order in which they began to wait.
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
