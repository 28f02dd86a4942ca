// SPDX-License-Identifier: Apache-2.0
// The memory of a channel: pieces that hold several elements each.
//
// A channel begins with one small piece, because many channels never have many elements. When this piece is full, a
// piece of twice the size replaces it, up to 32 KiB. A full piece of 32 KiB is kept, and another piece is added. So
// only few elements are moved with the lock held. The pieces of a burst are kept for the next burst.

/// The size, alignment and functions of a channel's element type.
@usableFromInline struct ChannelElementType {
    let size: Int
    let alignment: Int
    /// Moves `count` elements to uninitialized memory.
    let move: (_ from: UnsafeMutableRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int) -> Void
    /// Passes `count` elements to the channel's closure `undelivered`, or releases the elements if there is no such
    /// closure.
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

/// Memory for several elements. The owner of a piece frees it, or returns it to ``ChannelSpare``.
struct ChannelPiece {
    private struct Head {
        let room: Int
        /// The number of elements in the piece. Valid only when senders no longer fill the piece.
        var count = 0
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

    private static func offset(_ type: ChannelElementType) -> Int {
        (MemoryLayout<Head>.size + type.alignment - 1) / type.alignment * type.alignment
    }
}

/// A linked list of pieces.
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

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            invariant((first == nil) == (count == 0) && (last == nil) == (count == 0), "a list has both ends or none")
            guard count <= Invariant.few else { return }
            invariant(
                sequence(first: first, next: { $0?.next }).prefix { $0 != nil }.count { _ in true } == count,
                "pieces are counted")
        #endif
    }
}

/// The elements that were sent and not taken yet. Guarded by the channel's lock.
struct ChannelSent {
    /// Senders fill the last piece.
    private var pieces = ChannelPieces()
    private(set) var count = 0
    /// How many elements of the first piece were taken one by one.
    private(set) var taken = 0
    /// The address for the next element. Use it only if `room` is not 0.
    private(set) var slot: UnsafeMutableRawPointer?
    /// How many elements can be written from `slot` on. If the number is 0, the piece or the channel is full, or the
    /// channel accepts no more elements.
    private(set) var room = 0

    var isEmpty: Bool { count == 0 }

    /// Adds the element that was written to `slot`, and advances `slot`.
    @inline(__always) mutating func commit(_ type: ChannelElementType) {
        slot = slot.unsafelyUnwrapped + type.size
        room &-= 1
        count &+= 1
        invariant(room >= 0, "the last piece had room for the element")
    }

    /// Adds a piece, because the last piece is full.
    mutating func append(_ piece: ChannelPiece, upTo capacity: Int, _ type: ChannelElementType) {
        endPiece(type)
        pieces.append(piece)
        slot = piece.elements(type)
        room = min(piece.room, capacity - count)
        checkInvariants(type)
    }

    /// Recomputes `room`, and returns whether the last piece has room. The piece still has room if senders stopped
    /// filling it because the channel was full.
    mutating func reopen(upTo capacity: Int, _ type: ChannelElementType) -> Bool {
        guard let last = pieces.last else { return false }
        room = min(last.room - filled(last, type), capacity - count)
        return room > 0
    }

    var hasOnePiece: Bool { pieces.count == 1 }

    /// Moves all elements from the only piece to a larger one, and frees the smaller piece.
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

    /// Moves the first element to `memory`, if there is one. Returns the first piece if it is now empty and another
    /// piece follows. If there is no other piece, the empty piece stays, and senders fill it again from its start.
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

    /// Sets `room` to 0, so that the next sender notices that the channel accepts no more elements.
    mutating func end() { room = 0 }

    @inline(__always) private func checkInvariants(_ type: ChannelElementType) {
        #if DEBUG
            guard let last = pieces.last else { return }
            invariant(room >= 0 && filled(last, type) + room <= last.room, "the room fits in the last piece")
            guard pieces.count == 1 else { return }
            invariant(filled(last, type) - taken == count, "the count of elements is right")
        #endif
    }

    private func endPiece(_ type: ChannelElementType) {
        if let last = pieces.last { last.count = filled(last, type) }
    }

    /// How many elements the last piece holds.
    private func filled(_ last: ChannelPiece, _ type: ChannelElementType) -> Int {
        slot.map { ($0 - last.elements(type)) / type.size } ?? 0
    }
}

/// Empty pieces that the channel keeps, to fill them again. Guarded by the channel's lock.
struct ChannelSpare {
    private(set) var pieces = ChannelPieces()
    /// The largest number of pieces to keep: the number of pieces in the last batch, but at least half the former
    /// limit. All kept pieces together have at most `mostKept` bytes.
    private var kept = 1
    /// How many elements fit into a new piece; 0 before the first piece.
    private var room = 0

    private static let firstRoom = 16
    /// The greatest size of one piece, and the greatest size of all kept pieces together, in bytes.
    private static let (largest, mostKept) = (1 << 15, 1 << 22)

    mutating func take(upTo capacity: Int, _ type: ChannelElementType) -> ChannelPiece {
        if room == 0 { room = min(Self.firstRoom, mostRoom(upTo: capacity, type)) }
        return pieces.removeFirst() ?? ChannelPiece(room: room, type)
    }

    /// Doubles the room of new pieces, and returns an empty piece with this room. Returns nil if pieces have their
    /// greatest size already.
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

    /// Frees the kept pieces. Pieces that are returned after this call are also freed.
    mutating func end() {
        kept = 0
        freeAll()
    }

    private mutating func freeAll() {
        while let piece = pieces.removeFirst() { piece.free() }
    }
}
