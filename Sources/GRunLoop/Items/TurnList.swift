// SPDX-License-Identifier: Apache-2.0
// Those of a mode's items that take turns, and whose turn it is.

/// An item in a mode. Both hold it, until the item leaves. It knows its neighbours in the order of turns, so that what
/// happens to one item costs the same beside any number of others.
final class Turn<Member: AnyObject> {
    let member: Member
    /// It lives as long as its loop.
    unowned(unsafe) let mode: ModeState

    // Guarded by the loop's lock. Whoever leaves the mode leaves the list first.
    fileprivate(set) var isListed = false
    fileprivate unowned(unsafe) var previous: Turn?
    fileprivate unowned(unsafe) var next: Turn?

    init(of member: Member, in mode: ModeState) {
        self.member = member
        self.mode = mode
    }
}

/// Guarded by the loop's lock. Those that have work are listed in the order of their turns: who comes to have some is
/// the last. One that is being called has none meanwhile, so that all others come before its next turn.
struct TurnList<Member: AnyObject> {
    private var turns: [ObjectIdentifier: Turn<Member>] = [:]
    private unowned(unsafe) var first: Turn<Member>?
    private unowned(unsafe) var last: Turn<Member>?

    var all: [Member] { turns.values.map(\.member) }
    var isEmpty: Bool { turns.isEmpty }
    var haveWork: Bool { first != nil }

    /// The one whose turn it is. Only its identity: it may go before its turn.
    var next: ObjectIdentifier? { first.map { ObjectIdentifier($0.member) } }

    /// All that have work, in the order of their turns. For tests, which choose.
    var ready: [ObjectIdentifier] {
        sequence(first: first) { $0?.next }.prefix { $0 != nil }.compactMap { $0.map { ObjectIdentifier($0.member) } }
    }

    /// The one that is wanted, if it is here still and has work. Not counted: the list holds it.
    func ifReady(_ wanted: ObjectIdentifier) -> Unmanaged<Member>? {
        if let first, ObjectIdentifier(first.member) == wanted { return .passUnretained(first.member) }
        return turns[wanted].flatMap { $0.isListed ? .passUnretained($0.member) : nil }
    }

    mutating func insert(_ turn: Turn<Member>) {
        turns[ObjectIdentifier(turn.member)] = turn
    }

    /// Its member has no turn any more.
    mutating func remove(_ turn: Turn<Member>) {
        turns[ObjectIdentifier(turn.member)] = nil
    }

    /// The member has work from now on, or has none.
    mutating func note(_ turn: Turn<Member>, _ hasWork: Bool) {
        guard hasWork != turn.isListed else { return }
        if hasWork { list(turn) } else { unlist(turn) }
    }

    private mutating func list(_ turn: Turn<Member>) {
        turn.isListed = true
        turn.previous = last
        if let last { last.next = turn } else { first = turn }
        last = turn
    }

    private mutating func unlist(_ turn: Turn<Member>) {
        turn.isListed = false
        if let previous = turn.previous { previous.next = turn.next } else { first = turn.next }
        if let next = turn.next { next.previous = turn.previous } else { last = turn.previous }
        (turn.previous, turn.next) = (nil, nil)
    }
}
