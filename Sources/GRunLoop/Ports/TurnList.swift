// SPDX-License-Identifier: Apache-2.0
// Those of a mode's items that take turns, and whose turn it is.

/// An item in a mode, which the item holds until it leaves. It knows its neighbours in the order of turns, so that what
/// happens to one item costs the same beside any number of others.
final class Turn<Member: AnyObject> {
    let member: Unmanaged<Member>
    /// It lives as long as its loop.
    let mode: Unmanaged<ModeState>

    // Guarded by the loop's lock. Whoever leaves the mode leaves the list first.
    fileprivate(set) var isListed = false
    fileprivate var previous: Unmanaged<Turn>?
    fileprivate var next: Unmanaged<Turn>?

    init(of member: Member, in mode: ModeState) {
        self.member = .passUnretained(member)
        self.mode = .passUnretained(mode)
    }
}

/// The turn of an item in one of its modes, which the item retains from the beginning until ``end()``. Not counted in
/// between: a port is told of each message.
struct TurnPlace<Member: AnyObject>: Place {
    let turn: Unmanaged<Turn<Member>>

    init(of member: Member, in mode: ModeState) { turn = .passRetained(Turn(of: member, in: mode)) }

    var modeOfPlace: Unmanaged<ModeState> { turn._withUnsafeGuaranteedRef { $0.mode } }

    func end() { turn.release() }
}

/// Guarded by the loop's lock. Those that have work are listed in the order of their turns: who comes to have some is
/// the last. One that is being called has none meanwhile, so that all others come before its next turn.
struct TurnList<Member: AnyObject> {
    /// What the mode holds.
    private var members: [UnsafeMutableRawPointer: Member] = [:]
    private var first: Unmanaged<Turn<Member>>?
    private var last: Unmanaged<Turn<Member>>?

    var all: [Member] { Array(members.values) }
    var isEmpty: Bool { members.isEmpty }
    var haveWork: Bool { first != nil }

    /// The one whose turn it is. Not counted: the mode holds it.
    var next: Unmanaged<Member>? { first?._withUnsafeGuaranteedRef { $0.member } }

    /// All that have work, in the order of their turns. For tests, which choose.
    var ready: [Unmanaged<Member>] {
        sequence(first: first) { $0?._withUnsafeGuaranteedRef { $0.next } }.prefix { $0 != nil }
            .compactMap { $0?._withUnsafeGuaranteedRef { $0.member } }
    }

    /// Unlike ``all``, the search allocates no memory.
    func first(where isWanted: (Member) -> Bool) -> Member? {
        for member in members.values where isWanted(member) { return member }
        return nil
    }

    /// Whether it is here still. It may be gone: only its identity counts.
    func contains(_ wanted: Unmanaged<Member>) -> Bool {
        next?.toOpaque() == wanted.toOpaque() || members[wanted.toOpaque()] != nil
    }

    mutating func insert(_ member: Member) {
        members[Unmanaged.passUnretained(member).toOpaque()] = member
    }

    /// Its member has no turn any more.
    mutating func remove(_ member: Member) {
        members[Unmanaged.passUnretained(member).toOpaque()] = nil
    }

    /// The member has work from now on, or has none.
    mutating func note(_ turn: Unmanaged<Turn<Member>>, _ hasWork: Bool) {
        turn._withUnsafeGuaranteedRef {
            guard hasWork != $0.isListed else { return }
            $0.isListed = hasWork
            if hasWork { list(turn, $0) } else { unlist($0) }
        }
        checkInvariants()
    }

    /// One that has work has the next turn.
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

    /// In debug builds: the list is the same from both ends.
    @inline(__always) private func checkInvariants() {
        #if DEBUG
            guard members.count <= Invariant.few else { return }
            var (before, at) = (nil as Turn<Member>?, first?.takeUnretainedValue())
            var count = 0
            while let turn = at, count <= members.count {
                invariant(turn.isListed, "a turn in the list knows so")
                invariant(turn.previous?.takeUnretainedValue() === before, "a turn knows the one before")
                (before, at) = (turn, turn.next?.takeUnretainedValue())
                count += 1
            }
            invariant(at == nil, "a list of turns ends")
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
