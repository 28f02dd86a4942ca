// SPDX-License-Identifier: Apache-2.0
// The kinds of work that a loop does, and sets of these kinds.

import CGRun

/// A kind of work. Every callout of a loop has exactly one kind.
package enum ItemKind: UInt8, CaseIterable {
    // A wait ends with one of the following kinds, and stage 10 serves the ready item. The kinds take turns in this
    // order.

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

    // A pass serves the following three kinds in steps of their own. These kinds take turns with the kinds above.

    case block, source, context
    // The following kinds never have a turn: a pass calls observers at its stages, and idle work when nothing else is
    // ready.
    case idleWork, observer

    /// Returns the first of `kinds` that comes after this kind. After the last kind, the order begins again. Nil if
    /// `kinds` is empty.
    func next(of kinds: ItemKinds) -> ItemKind? {
        let later = kinds.rawValue & (UInt16.max &- 1) &<< UInt16(rawValue)
        let number = (later != 0 ? later : kinds.rawValue).trailingZeroBitCount
        return ItemKind(rawValue: UInt8(truncatingIfNeeded: number))
    }
}

struct ItemKinds: OptionSet {
    let rawValue: UInt16

    init(rawValue: UInt16) { self.rawValue = rawValue }
    @inline(__always) init(_ kind: ItemKind) { rawValue = 1 &<< UInt16(kind.rawValue) }

    static var wakeUp: ItemKinds { ItemKinds(.wakeUp) }
    static var mainQueue: ItemKinds { ItemKinds(.mainQueue) }
    static var timer: ItemKinds { ItemKinds(.timer) }
    static var descriptor: ItemKinds { ItemKinds(.descriptor) }
    static var port: ItemKinds { ItemKinds(.port) }
    static var block: ItemKinds { ItemKinds(.block) }
    static var source: ItemKinds { ItemKinds(.source) }
    static var context: ItemKinds { ItemKinds(.context) }

    /// The kinds that a wait can find. A wake-up is not among these kinds, because the loop calls nothing for a
    /// wake-up.
    static var found: ItemKinds { [.mainQueue, .timer, .descriptor, .port, .context] }
    /// The kinds that get turns after a time slice is used up.
    static var takingTurns: ItemKinds { found.union([.block, .source]) }

    func contains(_ kind: ItemKind) -> Bool { contains(ItemKinds(kind)) }

    /// Every set of kinds that take turns has a raw value below this number.
    static var numberLimit: Int { Int(takingTurns.rawValue) + 1 }
    /// Returns the kinds whose bits are set in a number, except kinds that take no turns. Tests use this function to
    /// give turns to random kinds.
    static func some(_ number: Int) -> ItemKinds {
        ItemKinds(rawValue: UInt16(truncatingIfNeeded: number)).intersection(takingTurns)
    }
}
