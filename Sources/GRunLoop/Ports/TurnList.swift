// SPDX-License-Identifier: Apache-2.0
// The order in which the ports of a mode take turns. The idle queues of a mode use the same code.

/// The turn of an item in one mode. The item retains the turn until the item leaves the mode. Turns are linked to each
/// other, so the cost of adding or removing one turn does not depend on the number of items.
final class Turn<Member: AnyObject> {
    let member: Unmanaged<Member>
    /// Not retained, because a mode lives as long as its loop.
    let mode: Unmanaged<ModeState>

    // Guarded by the loop's lock. An item leaves the list before it leaves the mode.
    fileprivate(set) var isListed = false
    fileprivate var previous: Unmanaged<Turn>?
    fileprivate var next: Unmanaged<Turn>?

    init(of member: Member, in mode: ModeState) {
        self.member = .passUnretained(member)
        self.mode = .passUnretained(mode)
    }
}

/// An item's reference to its turn in one of its modes. The turn is retained until ``end()``. For speed, uses of the
/// turn are not reference-counted, because a port uses its turn for each message.
struct TurnPlace<Member: AnyObject>: Place {
    let turn: Unmanaged<Turn<Member>>

    init(of member: Member, in mode: ModeState) { turn = .passRetained(Turn(of: member, in: mode)) }

    var modeOfPlace: Unmanaged<ModeState> { turn._withUnsafeGuaranteedRef { $0.mode } }

    func end() { turn.release() }
}

/// The ports or the idle queues of a mode, which take turns. Guarded by the loop's lock. A linked list holds the items
/// with work, in the order of their turns. An item that gets work is appended to this list, and leaves the list when
/// its turn comes. If the item then has more work, it is appended again.
struct TurnList<Member: AnyObject> {
    /// All items, with their addresses as keys. The mode retains its items here.
    private var members: [UnsafeMutableRawPointer: Member] = [:]
    private var first: Unmanaged<Turn<Member>>?
    private var last: Unmanaged<Turn<Member>>?

    var all: [Member] { Array(members.values) }
    var isEmpty: Bool { members.isEmpty }
    var hasReadyItems: Bool { first != nil }

    /// The next item in turn; nil if no item has work. Not retained, because the mode retains the item.
    var next: Unmanaged<Member>? { first?._withUnsafeGuaranteedRef { $0.member } }

    /// All items that have work, in the order of their turns. Only tests that choose the next item read this property.
    var ready: [Unmanaged<Member>] {
        sequence(first: first) { $0?._withUnsafeGuaranteedRef { $0.next } }.prefix { $0 != nil }
            .compactMap { $0?._withUnsafeGuaranteedRef { $0.member } }
    }

    /// Returns the first item that matches, without allocating memory; ``all`` allocates.
    func first(where isWanted: (Member) -> Bool) -> Member? {
        for member in members.values where isWanted(member) { return member }
        return nil
    }

    /// Returns whether the mode still has the item. The item may already be deallocated, because only its address is
    /// compared.
    func contains(_ wanted: Unmanaged<Member>) -> Bool {
        next?.toOpaque() == wanted.toOpaque() || members[wanted.toOpaque()] != nil
    }

    mutating func insert(_ member: Member) {
        members[Unmanaged.passUnretained(member).toOpaque()] = member
    }

    /// Removes an item from the mode. The item must have left the list of turns already.
    mutating func remove(_ member: Member) {
        members[Unmanaged.passUnretained(member).toOpaque()] = nil
    }

    /// Adds an item to the list if it has work; otherwise removes the item from the list.
    mutating func note(_ turn: Unmanaged<Turn<Member>>, _ hasWork: Bool) {
        turn._withUnsafeGuaranteedRef {
            guard hasWork != $0.isListed else { return }
            $0.isListed = hasWork
            if hasWork { list(turn, $0) } else { unlist($0) }
        }
        checkInvariants()
    }

    /// Gives the next turn to an item that has work.
    mutating func listFirst(_ turn: Unmanaged<Turn<Member>>) {
        turn._withUnsafeGuaranteedRef {
            unlist($0)
            $0.next = first
            if let first { first._withUnsafeGuaranteedRef { $0.previous = turn } } else { last = turn }
            first = turn
        }
        checkInvariants()
    }

    private mutating func list(_ turn: Unmanaged<Turn<Member>>, _ content: Turn<Member>) {
        content.previous = last
        if let last { last._withUnsafeGuaranteedRef { $0.next = turn } } else { first = turn }
        last = turn
    }

    private mutating func unlist(_ turn: Turn<Member>) {
        let (previous, next) = (turn.previous, turn.next)
        if let previous { previous._withUnsafeGuaranteedRef { $0.next = next } } else { first = next }
        if let next { next._withUnsafeGuaranteedRef { $0.previous = previous } } else { last = previous }
        (turn.previous, turn.next) = (nil, nil)
    }

    @inline(__always) private func checkInvariants() {
        #if DEBUG
            guard members.count <= Invariant.few else { return }
            var (before, at) = (nil as Turn<Member>?, first?.takeUnretainedValue())
            var count = 0
            while let turn = at, count <= members.count {
                invariant(turn.isListed, "a turn in the list is marked as listed")
                invariant(turn.previous?.takeUnretainedValue() === before, "a turn refers to the previous one")
                (before, at) = (turn, turn.next?.takeUnretainedValue())
                count += 1
            }
            invariant(at == nil, "a list of turns has no cycle")
            invariant(last?.takeUnretainedValue() === before, "the list knows its last turn")
        #endif
    }
}

extension Unmanaged {
    func inMode<Member>(_ body: (ModeState, Unmanaged<Turn<Member>>) -> Void)
    where Instance == Turn<Member> {
        _withUnsafeGuaranteedRef { $0.mode._withUnsafeGuaranteedRef { body($0, self) } }
    }
}
