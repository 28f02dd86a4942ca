// SPDX-License-Identifier: Apache-2.0
// The slots of a timer heap, which hold timers and the closures of delayed performs.

import Glibc

/// The timers and closures of a timer heap. A slot is a number that does not change while its occupant is in the heap.
/// Guarded by the loop's lock.
///
/// Timers and closures have separate tables, and the slots of closures begin at ``firstBody``. A sift of the heap
/// writes to a slot only the new index of its entry. For timers, these indexes are in a separate array, so a sift
/// touches no other memory of timers.
struct TimerSlots: ~Copyable {
    typealias Body = @Sendable () -> Void

    /// The name of a delayed perform: its slot, and the number of earlier uses of the slot. So no two closures of a
    /// heap ever have the same name.
    struct Name: Hashable, Sendable {
        let slot: UInt32
        let use: UInt32
    }

    /// The lowest slot of the closures, and of the timers that replace closures. Every slot must fit in an `Int32`,
    /// because a timer stores its slot as an `Int32`.
    private static let firstBody = 1 << 30
    static let greatestUse = BodyTable.greatestUse

    private var timers = TimerTable()
    private var bodies: BodyTable

    /// - Parameter greatestUse: for tests. After this many uses, a closure's slot is never used again. Without this
    ///   limit, a new closure could get a name that a client still holds.
    /// - Parameter firstUse: for tests. The use count with which a new slot begins.
    init(greatestUse: UInt32 = Self.greatestUse, firstUse: UInt32 = 0) {
        bodies = BodyTable(greatestUse: greatestUse, firstUse: firstUse)
    }

    // MARK: Adding and removing

    /// Adds a timer and returns its slot. The timer is not retained here, because its mode retains it.
    mutating func add(_ timer: Unmanaged<GRunLoop.Timer>) -> Int {
        defer { timers.checkInvariants() }
        return timers.add(timer)
    }

    mutating func add(_ body: consuming @escaping Body, isCommon: Bool) -> Int {
        defer { bodies.checkInvariants() }
        return Self.firstBody + bodies.add(body, isCommon: isCommon)
    }

    /// Moves the closure out of its slot. The caller then gives the slot back, or puts a timer into the slot.
    func takeBody(from slot: Int) -> Body { bodies.takeBody(from: slot - Self.firstBody) }

    func put(_ timer: Unmanaged<GRunLoop.Timer>, inPlaceOfBodyAt slot: Int) {
        bodies.put(timer, at: slot - Self.firstBody)
    }

    mutating func giveBack(_ slot: Int) {
        if slot < Self.firstBody { timers.giveBack(slot) } else { bodies.giveBack(slot - Self.firstBody) }
        timers.checkInvariants()
        bodies.checkInvariants()
    }

    // MARK: Occupants, names and places

    func isTimer(_ slot: Int) -> Bool { slot < Self.firstBody || bodies.isTimer(slot - Self.firstBody) }
    /// Returns whether the slot holds the closure of a perform in the common modes. A perform of this kind joins every
    /// mode that becomes common.
    func isCommon(_ slot: Int) -> Bool { slot >= Self.firstBody && bodies.isCommon(slot - Self.firstBody) }

    func timer(of slot: Int) -> Unmanaged<GRunLoop.Timer> {
        slot < Self.firstBody ? timers.timer(at: slot) : bodies.timer(at: slot - Self.firstBody)
    }

    func name(of slot: Int) -> Name {
        Name(slot: UInt32(truncatingIfNeeded: slot), use: bodies.use(of: slot - Self.firstBody))
    }

    /// The slot with this name; nil once the closure, or the timer that replaced it, has left the heap.
    func slot(named name: Name) -> Int? {
        let slot = Int(name.slot)
        return bodies.isUsed(slot - Self.firstBody, name.use) ? slot : nil
    }

    /// The index of the slot's entry in the heap.
    subscript(place slot: Int) -> Int {
        get { Int(slot < Self.firstBody ? timers.places[slot] : bodies[place: slot - Self.firstBody]) }
        nonmutating set {
            let place = Int32(truncatingIfNeeded: newValue)
            if slot < Self.firstBody {
                timers.places[slot] = place
            } else {
                bodies[place: slot - Self.firstBody] = place
            }
        }
    }
}

/// The free slots of a table, in a linked list. Each free slot stores the number of the next free slot.
private struct FreeList {
    /// The first free slot; -1 if there is none.
    var first: Int32 = -1
    /// How many slots have been used at least once.
    var used = 0
    var capacity = 0

    @inline(__always) func checkInvariants(_ next: (Int32) -> Int32) {
        #if DEBUG
            invariant(0...capacity ~= used, "a table has room for the slots that were used")
            guard used <= Invariant.few else { return }
            var slot = first
            var seen: Set<Int32> = []
            while slot != -1 {
                invariant(0..<Int32(used) ~= slot && seen.insert(slot).inserted, "free slots are in one list")
                slot = next(slot)
            }
        #endif
    }
}

private struct TimerTable: ~Copyable {
    private var timers: UnsafeMutablePointer<Unmanaged<GRunLoop.Timer>>
    /// For a used slot, the index of its entry in the heap; for a free slot, the next free slot.
    private(set) var places: UnsafeMutablePointer<Int32>
    private var free = FreeList()

    init() {
        timers = Table.memory(nil, for: 1)
        places = Table.memory(nil, for: 1)
        free.capacity = 1
    }

    deinit {
        Glibc.free(timers)
        Glibc.free(places)
    }

    mutating func add(_ timer: Unmanaged<GRunLoop.Timer>) -> Int {
        let slot = take()
        timers[slot] = timer
        return slot
    }

    mutating func giveBack(_ slot: Int) {
        places[slot] = free.first
        free.first = Int32(truncatingIfNeeded: slot)
    }

    func timer(at slot: Int) -> Unmanaged<GRunLoop.Timer> { timers[slot] }

    @inline(__always) func checkInvariants() { free.checkInvariants { places[Int($0)] } }

    private mutating func take() -> Int {
        let slot = Int(free.first)
        if slot >= 0 {
            free.first = places[slot]
            return slot
        }
        if free.used == free.capacity { grow() }
        free.used += 1
        return free.used - 1
    }

    private mutating func grow() {
        free.capacity = Table.grown(free.capacity)
        timers = Table.memory(timers, for: free.capacity)
        places = Table.memory(places, for: free.capacity)
    }
}

/// The closures of delayed performs, in slots of 24 bytes. An object for each perform would cost more than the perform
/// itself.
private struct BodyTable: ~Copyable {
    /// This is a struct, because Swift would wrap a bare closure in another closure when memory is bound to the
    /// closure's type.
    private struct Closure {
        let body: TimerSlots.Body
    }

    /// The kind of the occupant. The occupant itself is in the first 16 bytes of a slot.
    private enum Kind {
        static let body: UInt32 = 0
        static let commonBody: UInt32 = 1
        static let timer: UInt32 = 2
    }

    /// The last 8 bytes of a slot.
    private struct Mark {
        /// In a used slot, the index of its entry in the heap; in a free slot, the next free slot.
        var place: Int32 = 0
        private var useAndKind: UInt32

        init(_ kind: UInt32, use: UInt32) { useAndKind = use << 2 | kind }

        /// How often the slot was used before the current use.
        var use: UInt32 {
            get { useAndKind >> 2 }
            set { useAndKind = newValue << 2 | useAndKind & 3 }
        }

        var kind: UInt32 {
            get { useAndKind & 3 }
            set { useAndKind = useAndKind & ~3 | newValue }
        }
    }

    static let greatestUse = UInt32.max >> 2
    private static let markOffset = MemoryLayout<Closure>.size
    private static let stride = markOffset + MemoryLayout<Mark>.size

    /// The memory of all slots; nil before the first perform is added.
    private var slots: UnsafeMutableRawPointer?
    private var free = FreeList()
    private let greatestUse: UInt32
    private let firstUse: UInt32

    init(greatestUse: UInt32, firstUse: UInt32) {
        self.greatestUse = greatestUse
        self.firstUse = firstUse
    }

    deinit { Glibc.free(slots) }

    mutating func add(_ body: consuming @escaping TimerSlots.Body, isCommon: Bool) -> Int {
        let slot = take(for: isCommon ? Kind.commonBody : Kind.body)
        occupant(of: slot).initializeMemory(as: Closure.self, to: Closure(body: body))
        return slot
    }

    func takeBody(from slot: Int) -> TimerSlots.Body {
        occupant(of: slot).assumingMemoryBound(to: Closure.self).move().body
    }

    func put(_ timer: Unmanaged<GRunLoop.Timer>, at slot: Int) {
        occupant(of: slot).initializeMemory(as: Unmanaged<GRunLoop.Timer>.self, to: timer)
        mark(of: slot).pointee.kind = Kind.timer
    }

    mutating func giveBack(_ slot: Int) {
        let mark = mark(of: slot)
        mark.pointee.use += 1
        guard mark.pointee.use < greatestUse else { return }
        mark.pointee.place = free.first
        free.first = Int32(truncatingIfNeeded: slot)
    }

    func isTimer(_ slot: Int) -> Bool { mark(of: slot).pointee.kind == Kind.timer }
    func isCommon(_ slot: Int) -> Bool { mark(of: slot).pointee.kind == Kind.commonBody }

    func timer(at slot: Int) -> Unmanaged<GRunLoop.Timer> {
        occupant(of: slot).assumingMemoryBound(to: Unmanaged<GRunLoop.Timer>.self).pointee
    }

    @inline(__always) func checkInvariants() { free.checkInvariants { mark(of: Int($0)).pointee.place } }

    func use(of slot: Int) -> UInt32 { mark(of: slot).pointee.use }

    func isUsed(_ slot: Int, _ use: UInt32) -> Bool {
        slot >= 0 && slot < free.used && mark(of: slot).pointee.use == use
    }

    subscript(place slot: Int) -> Int32 {
        get { mark(of: slot).pointee.place }
        nonmutating set { mark(of: slot).pointee.place = newValue }
    }

    private mutating func take(for kind: UInt32) -> Int {
        let slot = Int(free.first)
        if slot >= 0 {
            free.first = mark(of: slot).pointee.place
            mark(of: slot).pointee.kind = kind
            return slot
        }
        if free.used == free.capacity { grow() }
        free.used += 1
        (occupant(of: free.used - 1) + Self.markOffset).initializeMemory(
            as: Mark.self, to: Mark(kind, use: firstUse))
        return free.used - 1
    }

    private mutating func grow() {
        free.capacity = Table.grown(free.capacity)
        slots = Table.memory(slots, bytes: free.capacity * Self.stride)
    }

    private func occupant(of slot: Int) -> UnsafeMutableRawPointer {
        slots.unsafelyUnwrapped + slot * Self.stride
    }

    private func mark(of slot: Int) -> UnsafeMutablePointer<Mark> {
        (occupant(of: slot) + Self.markOffset).assumingMemoryBound(to: Mark.self)
    }
}

/// Allocates and enlarges the memory of heaps and of slots.
enum Table {
    static func grown(_ capacity: Int) -> Int { Swift.max(16, capacity + capacity / 2) }

    static func memory<Element>(
        _ former: UnsafeMutablePointer<Element>?, for count: Int
    ) -> UnsafeMutablePointer<Element> {
        memory(former, bytes: count * MemoryLayout<Element>.stride).assumingMemoryBound(to: Element.self)
    }

    /// Allocates memory, or enlarges `former`. The kernel moves a large block without copying its contents.
    static func memory(_ former: UnsafeMutableRawPointer?, bytes: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(former, bytes) else {
            Log.fatal("no memory is left for timers: an allocation of \(bytes) bytes has failed")
        }
        return memory
    }
}
