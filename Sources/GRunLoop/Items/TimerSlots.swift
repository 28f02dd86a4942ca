// SPDX-License-Identifier: Apache-2.0
// Who stands in a heap of timers: a timer, or the closure of a delayed perform, which nothing else holds.

import Glibc

/// A table of 24 bytes a slot: an object for each perform would cost more than all the rest of it. Guarded by the
/// loop's lock. Timers are held unretained: the mode retains them.
struct TimerSlots: ~Copyable {
    typealias Body = @Sendable () -> Void

    /// A slot, and which of its uses: no other occupant ever has it.
    struct Key: Hashable, Sendable {
        let slot: UInt32
        let use: UInt32
    }

    /// A bare closure is wrapped in another one where memory is bound to its type.
    private struct Closure {
        let body: Body
    }

    /// The last 8 bytes of a slot. Before them is a timer or a closure.
    private struct Mark {
        /// Where it stands in the heap; of a free slot, the next free one, or -1.
        var place: Int32
        private var useAndKind: UInt32

        init(_ kind: UInt32) { (place, useAndKind) = (0, kind) }

        /// How often the slot was used before.
        var use: UInt32 {
            get { useAndKind >> 2 }
            set { useAndKind = newValue << 2 | useAndKind & 3 }
        }

        var kind: UInt32 {
            get { useAndKind & 3 }
            set { useAndKind = useAndKind & ~3 | newValue }
        }

        static let greatestUse = UInt32.max >> 2
    }

    private static let timer: UInt32 = 0
    private static let body: UInt32 = 1
    private static let commonBody: UInt32 = 2

    private static let markOffset = MemoryLayout<Closure>.size
    private static let stride = markOffset + MemoryLayout<Mark>.size

    private var capacity = 1
    private var slots: UnsafeMutableRawPointer
    private var firstFree = -1
    /// How many were ever used.
    private var used = 0
    private let greatestUse: UInt32

    /// - Parameter greatestUse: for tests. After so many uses a slot is left alone, so that its first key, which
    ///   somebody may still hold, does not become that of another occupant.
    init(greatestUse: UInt32 = Mark.greatestUse) {
        self.greatestUse = greatestUse
        slots = Self.memory(nil, capacity * Self.stride)
    }

    deinit { free(slots) }

    // MARK: In and out

    mutating func add(_ timer: Unmanaged<GRunLoop.Timer>) -> Int {
        let slot = take(for: Self.timer)
        occupant(of: slot).initializeMemory(as: Unmanaged<GRunLoop.Timer>.self, to: timer)
        return slot
    }

    mutating func add(_ body: consuming @escaping Body, isCommon: Bool) -> Int {
        let slot = take(for: isCommon ? Self.commonBody : Self.body)
        occupant(of: slot).initializeMemory(as: Closure.self, to: Closure(body: body))
        return slot
    }

    /// A closure leaves its slot, which is to be given back, or to a timer, which has its key then.
    func takeBody(from slot: Int) -> Body {
        occupant(of: slot).assumingMemoryBound(to: Closure.self).move().body
    }

    func put(_ timer: Unmanaged<GRunLoop.Timer>, inPlaceOfBodyAt slot: Int) {
        occupant(of: slot).initializeMemory(as: Unmanaged<GRunLoop.Timer>.self, to: timer)
        mark(of: slot).pointee.kind = Self.timer
    }

    mutating func giveBack(_ slot: Int) {
        let mark = mark(of: slot)
        mark.pointee.use += 1
        guard mark.pointee.use < greatestUse else { return }
        mark.pointee.place = Int32(truncatingIfNeeded: firstFree)
        firstFree = slot
    }

    private mutating func take(for kind: UInt32) -> Int {
        let slot = firstFree
        if slot >= 0 {
            firstFree = Int(mark(of: slot).pointee.place)
            mark(of: slot).pointee.kind = kind
            return slot
        }
        if used == capacity { grow() }
        (occupant(of: used) + Self.markOffset).initializeMemory(as: Mark.self, to: Mark(kind))
        used += 1
        return used - 1
    }

    // MARK: Who and where

    func isTimer(_ slot: Int) -> Bool { mark(of: slot).pointee.kind == Self.timer }
    /// Whether it is a closure that joins every mode that becomes common.
    func isCommon(_ slot: Int) -> Bool { mark(of: slot).pointee.kind == Self.commonBody }

    func timer(of slot: Int) -> Unmanaged<GRunLoop.Timer> {
        occupant(of: slot).assumingMemoryBound(to: Unmanaged<GRunLoop.Timer>.self).pointee
    }

    func key(of slot: Int) -> Key { Key(slot: UInt32(truncatingIfNeeded: slot), use: mark(of: slot).pointee.use) }

    /// Nil once its occupant has left.
    func slot(of key: Key) -> Int? {
        let slot = Int(key.slot)
        return slot < used && mark(of: slot).pointee.use == key.use ? slot : nil
    }

    /// Where it stands in the heap.
    subscript(place slot: Int) -> Int {
        get { Int(mark(of: slot).pointee.place) }
        nonmutating set { mark(of: slot).pointee.place = Int32(truncatingIfNeeded: newValue) }
    }

    /// For a prefetch.
    func occupant(of slot: Int) -> UnsafeMutableRawPointer { slots + slot * Self.stride }

    private func mark(of slot: Int) -> UnsafeMutablePointer<Mark> {
        (occupant(of: slot) + Self.markOffset).assumingMemoryBound(to: Mark.self)
    }

    // MARK: Memory

    private mutating func grow() {
        capacity = Self.grown(capacity)
        slots = Self.memory(slots, capacity * Self.stride)
    }

    static func grown(_ capacity: Int) -> Int { Swift.max(16, capacity + capacity / 2) }

    /// Makes or enlarges a table. The kernel moves a large one without copying it.
    static func memory(_ former: UnsafeMutableRawPointer?, _ bytes: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(former, bytes) else {
            fatalError("GRunLoop: no memory is left for timers: \(bytes) bytes were asked for")
        }
        return memory
    }
}
