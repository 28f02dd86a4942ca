// SPDX-License-Identifier: Apache-2.0
// The kinds of work that a loop does.

import CGRun

/// A kind of work. Everything that a loop calls is of one kind.
enum ItemKind: UInt8, CaseIterable {
    // A wait ends with one of these, and a pass serves one of them. They take turns in this order.

    /// A wake-up alone: the loop calls nothing.
    case wakeUp
    /// One snapshot of the main dispatch queue.
    case mainQueue
    /// All timers that are due.
    case timer
    /// One event of a descriptor.
    case descriptor
    /// One message of a port.
    case port

    // A pass serves these in steps of their own.

    case block, source, context, idleWork, observer

    /// The kinds that take turns, beginning with the kind after this one.
    func next(of kinds: ItemKinds) -> ItemKind? {
        let later = kinds.rawValue & (UInt16.max &- 1) << UInt16(rawValue)
        let number = (later != 0 ? later : kinds.rawValue).trailingZeroBitCount
        return ItemKind(rawValue: UInt8(truncatingIfNeeded: number))
    }
}

/// A set of kinds: the kinds that are ready in a mode, or that are owed a turn.
struct ItemKinds: OptionSet {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }
    init(_ kind: ItemKind) { rawValue = 1 << UInt16(kind.rawValue) }

    static let wakeUp = ItemKinds(.wakeUp)
    static let mainQueue = ItemKinds(.mainQueue)
    static let timer = ItemKinds(.timer)
    static let descriptor = ItemKinds(.descriptor)
    static let port = ItemKinds(.port)
    static let block = ItemKinds(.block)
    static let source = ItemKinds(.source)
    static let context = ItemKinds(.context)

    /// A wait ends with these. For a wake-up alone the loop calls nothing.
    static let found: ItemKinds = [.mainQueue, .timer, .descriptor, .port, .context]
    /// The kinds that are owed a turn when a slice of time is used up.
    static let takingTurns: ItemKinds = found.union([.block, .source])

    func contains(_ kind: ItemKind) -> Bool { contains(ItemKinds(kind)) }

    /// For tests that perturb whose turn it is: the kinds that the bits of a number stand for.
    static func some(_ number: Int) -> ItemKinds {
        ItemKinds(rawValue: UInt16(truncatingIfNeeded: number)).intersection(takingTurns)
    }
}
