// SPDX-License-Identifier: Apache-2.0
// The memory of a channel: pieces that hold some elements each. Senders fill them, the loop empties them, and they are
// filled again.
//
// The first piece is replaced by larger ones, up to 32 KiB, so that a channel with few elements needs little memory.
// After that, more pieces are added. So few elements are moved under the lock, however long the loop does not receive.
// The pieces of a burst are used again for the next burst.

/// The facts and functions that a channel needs for its element type.
@usableFromInline struct ChannelElementType {
    let size: Int
    let alignment: Int
    /// Moves `count` elements to uninitialized memory.
    let move: (_ from: UnsafeMutableRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int) -> Void
    /// Moves `count` elements out: passes them to the closure `undelivered`, or releases them if there is none.
    let giveUp: GiveUp

    @usableFromInline typealias GiveUp = (_ first: UnsafeMutableRawPointer, _ count: Int) -> Void

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

/// Memory for elements. Its owner frees it, or gives it back to the channel's `ChannelSpare`.
struct ChannelPiece {
    private struct Head {
        let room: Int
        /// How many elements were put in. Set when the piece is no longer being filled.
        var count = 0
        /// The next piece in the row.
        var next: ChannelPiece?
    }

    private let head: UnsafeMutablePointer<Head>

    init(room: Int, _ type: ChannelElementType) {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.offset(type) + room * type.size,
            alignment: max(MemoryLayout<Head>.alignment, type.alignment))
        head = memory.initializeMemory(as: Head.self, to: Head(room: room))
    }

    /// Frees the memory, which must hold no element.
    func free() { head.deallocate() }

    var room: Int { head.pointee.room }

    var count: Int {
        get { head.pointee.count }
        nonmutating set { head.pointee.count = newValue }
    }

    fileprivate var next: ChannelPiece? {
        get { head.pointee.next }
        nonmutating set { head.pointee.next = newValue }
    }

    func elements(_ type: ChannelElementType) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(head) + Self.offset(type)
    }

    /// The offset of the first element, which comes after the head.
    private static func offset(_ type: ChannelElementType) -> Int {
        (MemoryLayout<Head>.size + type.alignment - 1) / type.alignment * type.alignment
    }
}

/// A row of pieces, linked to each other.
struct ChannelPieces {
    private(set) var first: ChannelPiece?
    private(set) var last: ChannelPiece?
    private(set) var count = 0

    var hasSecond: Bool { count > 1 }

    mutating func append(_ piece: ChannelPiece) {
        piece.next = nil
        if let last { last.next = piece } else { first = piece }
        last = piece
        count += 1
        checkInvariants()
    }

    mutating func removeFirst() -> ChannelPiece? {
        guard let piece = first else { return nil }
        first = piece.next
        if first == nil { last = nil }
        count -= 1
        checkInvariants()
        return piece
    }

    /// In debug builds: the row has as many pieces as `count` says.
    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant((first == nil) == (count == 0) && (last == nil) == (count == 0), "a row has its ends")
            guard count <= Invariant.few else { return }
            invariant(
                sequence(first: first, next: { $0?.next }).prefix { $0 != nil }.count { _ in true } == count,
                "pieces are counted")
        #endif
    }
}

/// The elements that were sent and not taken yet. Guarded by the channel's lock.
struct ChannelSent {
    /// The last piece is being filled.
    private var pieces = ChannelPieces()
    private(set) var count = 0
    /// How many elements of the first piece were taken one by one.
    private(set) var taken = 0
    /// The address for the next element, if there is room.
    private(set) var slot: UnsafeMutableRawPointer?
    /// How many elements fit from `slot` on. At 0, the sender has to find out why: the piece or the channel is full, or
    /// the channel accepts no more elements.
    private(set) var room = 0

    var isEmpty: Bool { count == 0 }

    /// Counts the element that was put at `slot`, and moves `slot` on.
    @inline(__always) mutating func commit(_ type: ChannelElementType) {
        slot = slot.unsafelyUnwrapped + type.size
        room &-= 1
        count &+= 1
        invariant(room >= 0, "an element was put where there was room")
    }

    /// Adds a piece when the others have no room left.
    mutating func append(_ piece: ChannelPiece, upTo capacity: Int, _ type: ChannelElementType) {
        endPiece(type)
        pieces.append(piece)
        slot = piece.elements(type)
        room = min(piece.room, capacity - count)
        checkInvariants(type)
    }

    /// Checks for room in the last piece, which may have been left unfilled because the channel was full. Returns
    /// whether there is room in it now.
    mutating func reopen(upTo capacity: Int, _ type: ChannelElementType) -> Bool {
        guard let last = pieces.last else { return false }
        room = min(last.room - filled(last, type), capacity - count)
        return room > 0
    }

    var hasOnePiece: Bool { pieces.count == 1 }

    /// Moves everything from the only piece to a larger one.
    mutating func move(to larger: ChannelPiece, upTo capacity: Int, _ type: ChannelElementType) {
        guard let small = pieces.removeFirst() else { return }
        pieces.append(larger)
        type.move(small.elements(type) + taken * type.size, larger.elements(type), count)
        small.free()
        taken = 0
        slot = larger.elements(type) + count * type.size
        room = min(larger.room, capacity) - count
        checkInvariants(type)
    }

    mutating func takeAll(_ type: ChannelElementType) -> ChannelPieces {
        endPiece(type)
        defer { self = ChannelSent() }
        return pieces
    }

    /// Moves the first element to `memory`, if there is one. Returns the first piece if it is used up and another one
    /// follows. The only piece is not returned, but filled again from its start.
    mutating func takeFirst(
        to memory: UnsafeMutableRawPointer, upTo capacity: Int, _ type: ChannelElementType
    ) -> ChannelPiece? {
        guard count > 0, let piece = pieces.first else { return nil }
        defer { checkInvariants(type) }
        type.move(piece.elements(type) + taken * type.size, memory, 1)
        taken += 1
        count -= 1
        if pieces.hasSecond {
            guard taken == piece.count else { return nil }
            taken = 0
            return pieces.removeFirst()
        }
        if count == 0 {
            taken = 0
            slot = piece.elements(type)
            room = min(piece.room, capacity)
        }
        return nil
    }

    /// Leaves no room, so that the next sender finds that the channel accepts no more elements.
    mutating func end() { room = 0 }

    /// In debug builds: the pieces hold as many elements as are counted.
    @inline(__always) private func checkInvariants(_ type: ChannelElementType) {
        #if DEBUG
            guard let last = pieces.last else { return }
            invariant(room >= 0 && filled(last, type) + room <= last.room, "there is no more room than in a piece")
            guard pieces.count == 1 else { return }
            invariant(filled(last, type) - taken == count, "elements of the only piece are counted")
        #endif
    }

    private func endPiece(_ type: ChannelElementType) {
        if let last = pieces.last { last.count = filled(last, type) }
    }

    /// How many elements were put into the last piece.
    private func filled(_ last: ChannelPiece, _ type: ChannelElementType) -> Int {
        slot.map { ($0 - last.elements(type)) / type.size } ?? 0
    }
}

/// Empty pieces that are kept to be filled again. Guarded by the channel's lock.
struct ChannelSpare {
    private(set) var pieces = ChannelPieces()
    /// How many pieces are kept at most: as many as the last batch had, or half of the former limit if that is more.
    private var kept = 1
    /// How many elements a new piece has room for; 0 before the first piece. It begins small, because many channels
    /// never have many elements.
    private var room = 0

    private static let firstRoom = 16
    /// The largest size of a piece, and of all kept pieces together, in bytes.
    private static let (largest, mostKept) = (1 << 15, 1 << 22)

    mutating func take(upTo capacity: Int, _ type: ChannelElementType) -> ChannelPiece {
        if room == 0 { room = min(Self.firstRoom, mostRoom(upTo: capacity, type)) }
        return pieces.removeFirst() ?? ChannelPiece(room: room, type)
    }

    /// Returns an empty piece with twice the room. Returns nil if pieces have their largest size already.
    mutating func takeLarger(upTo capacity: Int, _ type: ChannelElementType) -> ChannelPiece? {
        let most = mostRoom(upTo: capacity, type)
        guard room < most else { return nil }
        room = min(room * 2, most)
        freeAll()
        return ChannelPiece(room: room, type)
    }

    private func mostRoom(upTo capacity: Int, _ type: ChannelElementType) -> Int {
        min(max(1, Self.largest / type.size), capacity)
    }

    mutating func giveBack(_ piece: ChannelPiece) {
        guard piece.room == room, pieces.count < kept else { return piece.free() }
        pieces.append(piece)
    }

    mutating func noteBatch(of count: Int, _ type: ChannelElementType) {
        guard count > 0 else { return }
        kept = min(max(count, kept / 2), max(1, Self.mostKept / (room * type.size)))
        while pieces.count > kept { pieces.removeFirst()?.free() }
    }

    /// Frees the kept pieces, and keeps none from now on.
    mutating func end() {
        kept = 0
        freeAll()
    }

    private mutating func freeAll() {
        while let piece = pieces.removeFirst() { piece.free() }
    }
}
