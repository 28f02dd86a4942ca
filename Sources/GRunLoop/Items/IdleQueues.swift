// SPDX-License-Identifier: Apache-2.0
// The idle queues of a mode, and whose turn it is.

/// A queue in a mode. Both hold it, until the queue leaves. It knows its neighbours in the order of turns, so that what
/// happens to one queue costs the same beside any number of others.
final class IdleMembership {
    let queue: GRunLoop.IdleQueue
    /// It lives as long as its loop.
    unowned(unsafe) let mode: ModeState

    // Guarded by the loop's lock. Whoever leaves the mode leaves the list first.
    fileprivate var isListed = false
    fileprivate unowned(unsafe) var previous: IdleMembership?
    fileprivate unowned(unsafe) var next: IdleMembership?

    init(of queue: GRunLoop.IdleQueue, in mode: ModeState) {
        self.queue = queue
        self.mode = mode
    }
}

/// Guarded by the loop's lock. Those that have work are listed in the order of their turns: who comes to have some is
/// the last. A queue whose closure is called has none meanwhile, so that all others come before its next one.
struct IdleQueues {
    private var members: [ObjectIdentifier: IdleMembership] = [:]
    private unowned(unsafe) var first: IdleMembership?
    private unowned(unsafe) var last: IdleMembership?

    var all: [GRunLoop.IdleQueue] { members.values.map(\.queue) }
    var haveWork: Bool { first != nil }

    /// The queue whose turn it is; if one is `wanted`, that one. Nil if it has no work.
    func next(_ wanted: ObjectIdentifier?) -> GRunLoop.IdleQueue? {
        guard let wanted else { return first?.queue }
        return members[wanted].flatMap { $0.isListed ? $0.queue : nil }
    }

    mutating func insert(_ membership: IdleMembership) {
        members[ObjectIdentifier(membership.queue)] = membership
    }

    /// Its queue has no turn any more.
    mutating func remove(_ membership: IdleMembership) {
        members[ObjectIdentifier(membership.queue)] = nil
    }

    fileprivate mutating func list(_ membership: IdleMembership) {
        membership.isListed = true
        membership.previous = last
        if let last { last.next = membership } else { first = membership }
        last = membership
    }

    fileprivate mutating func unlist(_ membership: IdleMembership) {
        membership.isListed = false
        if let previous = membership.previous { previous.next = membership.next } else { first = membership.next }
        if let next = membership.next { next.previous = membership.previous } else { last = membership.previous }
        (membership.previous, membership.next) = (nil, nil)
    }
}

extension ModeState {
    /// Whether any idle queue has work that can be called now.
    var hasIdleWork: Bool { idleQueues.haveWork }

    /// Whether one of the queues has work may have changed.
    func noteIdleWork(of membership: IdleMembership, _ hasWork: Bool) {
        guard hasWork != membership.isListed else { return }
        let had = hasIdleWork
        if hasWork { idleQueues.list(membership) } else { idleQueues.unlist(membership) }
        if had != hasIdleWork { noteObserved() }
    }
}
