// SPDX-License-Identifier: Apache-2.0
// A channel without its element type: one lock, and two pieces of memory that change places.
//
// Threads fill one piece, the receiver empties the other; where that is empty, they change places. So the lock is held
// for a few instructions on either side, and no message costs an allocation. What is generic is a thin shell that the
// compiler specialises in the program (Channel.swift): it puts an element where ``begin()`` says and takes it from
// where ``deliver(_:)`` or ``next()`` says. To move an element is no user code; all else that touches one, its deinit
// too, happens without the lock.

import Synchronization

/// What a channel must know of its elements.
@usableFromInline struct ChannelElementType {
    let size: Int
    let alignment: Int
    /// Moves that many elements to memory that holds none.
    let move: (_ from: UnsafeMutableRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int) -> Void
    /// Moves that many elements out, to the program's closure for what was not delivered.
    let giveUp: (_ first: UnsafeMutableRawPointer, _ count: Int) -> Void

    @usableFromInline init(
        size: Int, alignment: Int,
        move: @escaping (UnsafeMutableRawPointer, UnsafeMutableRawPointer, Int) -> Void,
        giveUp: @escaping (UnsafeMutableRawPointer, Int) -> Void
    ) {
        self.size = size
        self.alignment = alignment
        self.move = move
        self.giveUp = giveUp
    }
}

/// The program's ``GRunLoop/Channel`` holds it, and so does the source by which it is in modes, until it is closed.
@usableFromInline final class ChannelCore: @unchecked Sendable {
    /// Where an element is to be put, if it is accepted.
    @usableFromInline enum Slot {
        /// The lock is held: ``commit()`` releases it.
        case at(UnsafeMutableRawPointer)
        case full, closed
    }

    /// Memory for elements. Room for none is no memory.
    struct Piece {
        private(set) var room = 0
        private(set) var first: UnsafeMutableRawPointer?

        func address(_ index: Int, _ type: ChannelElementType) -> UnsafeMutableRawPointer {
            first.unsafelyUnwrapped + index &* type.size
        }

        mutating func grow(to larger: Int, keeping count: Int, _ type: ChannelElementType) {
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: larger * type.size, alignment: type.alignment)
            if let first {
                type.move(first, memory, count)
                first.deallocate()
            }
            first = memory
            room = larger
        }

        /// It holds no element.
        mutating func free() {
            first?.deallocate()
            self = Piece()
        }
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

    // MARK: Guarded by the lock

    @exclusivity(unchecked) var state = State.open
    /// What was sent.
    @exclusivity(unchecked) var filled = Piece()
    @exclusivity(unchecked) var count = 0
    /// The receiver was told, and will look: nobody else has to tell it.
    @exclusivity(unchecked) var isScheduled = false
    /// By this the channel is in modes. Nil: nothing receives yet, or the channel is closed.
    @exclusivity(unchecked) var source: GRunLoop.Source?
    /// The loop that receives, once there is one: for good.
    @exclusivity(unchecked) var loop: GRunLoop?
    /// How many modes the channel is in.
    @exclusivity(unchecked) var modeCount = 0
    @exclusivity(unchecked) var senders = ChannelSenders()
    /// How many deliveries are on the stack of the loop's thread; 1 while a task has a batch. Then it is theirs to give
    /// up what is left.
    @exclusivity(unchecked) var busy = 0
    /// The task that receives, to be told of the end; nil if a closure receives.
    @exclusivity(unchecked) var mailbox: Mailbox<Void>?
    /// A task receives, also after the end: the batch that it has is its own.
    @exclusivity(unchecked) var isReadByTask = false

    // MARK: The receiver's own

    /// What is being delivered: from `next` up to `end`. A nested run goes on with it.
    @exclusivity(unchecked) var taken = Piece()
    @exclusivity(unchecked) var next = 0
    @exclusivity(unchecked) var end = 0
    /// The loop's time slice when a task took the batch.
    @exclusivity(unchecked) var slice = TimeSlice.standard

    /// The channel was closed, or has left a mode: the receiver looks before the next element.
    let hasNews = Atomic(false)

    private static let firstRoom = 16
    /// In bytes. A smaller piece is always kept, a larger one never.
    private static let (alwaysKept, neverKept) = (1 << 16, 1 << 22)

    /// The receiver's, when nothing is left of its batch: memory that a burst took, and that is not used any more.
    func freeIfLarge() {
        let size = taken.room * type.size
        if size > Self.alwaysKept, end * 4 < taken.room || size > Self.neverKept { taken.free() }
    }

    @usableFromInline init(capacity: Int, _ type: ChannelElementType) {
        self.capacity = max(1, capacity)
        self.type = type
    }

    deinit {
        // A child leaves to the parent what is the parent's.
        guard !Fork.isChild else { return }
        taken.free()
        filled.free()
        Lock.giveBack(lock)
    }

    // MARK: Sending. Any thread

    /// Where to put an element.
    @usableFromInline func begin() -> Slot {
        guard !Fork.refuses("Channel.send") else { return .closed }
        lock.lock()
        if state != .open || count == filled.room, let refusal = makeRoomLocked() {
            lock.unlock()
            return refusal
        }
        return .at(filled.address(count, type))
    }

    /// The element is there.
    @usableFromInline func commit() {
        count &+= 1
        let told = isScheduled ? nil : source
        isScheduled = true
        lock.unlock()
        if let told { Self.tell(told) }
    }

    /// Nil if there is room now.
    @inline(never) private func makeRoomLocked() -> Slot? {
        guard state == .open else { return .closed }
        guard count < capacity else { return .full }
        growLocked()
        return nil
    }

    func growLocked() {
        let doubled = filled.room > capacity / 2 ? capacity : filled.room * 2
        filled.grow(to: max(doubled, min(capacity, Self.firstRoom)), keeping: count, type)
    }

    /// Once a burst.
    static func tell(_ source: GRunLoop.Source) {
        source.signalAnsweringLoop()?.wakeUp()
    }

    // MARK: The two pieces

    /// With the lock held, and nothing left of the last batch: takes what was sent. Returns the senders that wait no
    /// longer.
    func takeBatchLocked() -> [ChannelSender] {
        swap(&taken, &filled)
        next = 0
        end = count
        count = 0
        return admitSendersLocked()
    }

    /// With the lock held: what waiting senders hold takes the room, in the order in which they began to wait.
    func admitSendersLocked() -> [ChannelSender] {
        guard !senders.isEmpty else { return [] }
        var admitted: [ChannelSender] = []
        while count < capacity, let sender = senders.removeFirst() {
            if count == filled.room { growLocked() }
            sender.move(to: filled.address(count, type), type)
            count += 1
            admitted.append(sender)
        }
        return admitted
    }
}
