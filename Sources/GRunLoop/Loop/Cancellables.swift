// SPDX-License-Identifier: Apache-2.0
// The delayed performs that have a target, and the ordered performs, each of which ends its source.

/// Own thread only.
struct Cancellables {
    enum Tag: Hashable {
        /// It has a name already.
        case delayed(GRunLoop.DelayedPerform)
        case ordered(UInt64)
    }

    /// The target's deinit may call back into the loop: a removed entry is released after the access to the others.
    struct Entry {
        /// Alive as long as its holder is.
        let target: Unmanaged<AnyObject>?
        /// The target itself; its closure's if it belongs to an actor, which lets both go.
        let holder: (any AnyObject & Sendable)?
        let key: AnyHashable?
        /// Of an ordered one.
        fileprivate(set) var source: GRunLoop.Source?
        /// The order of addition.
        fileprivate let number: UInt64

        init(_ number: UInt64, _ target: AnyObject?, heldBy holder: (any AnyObject & Sendable)?, _ key: AnyHashable?) {
            self.number = number
            self.target = target.map(Unmanaged.passUnretained)
            self.holder = holder
            self.key = key
        }
    }

    private var entries: [Tag: Entry] = [:]
    private var additions: UInt64 = 0

    var isEmpty: Bool { entries.isEmpty }
    var inOrderOfAddition: [(tag: Tag, entry: Entry)] {
        entries.sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value) }
    }

    mutating func add(
        _ perform: GRunLoop.DelayedPerform, target: AnyObject, heldBy holder: (any AnyObject & Sendable)?,
        key: (any Hashable & Sendable)?
    ) {
        additions += 1
        entries[.delayed(perform)] = Entry(additions, target, heldBy: holder, key.map { AnyHashable($0) })
    }

    /// The tag of an ordered one, whose source is not made yet.
    mutating func add(
        target: AnyObject?, heldBy holder: (any AnyObject & Sendable)?, key: (any Hashable & Sendable)?
    ) -> Tag {
        additions += 1
        let tag = Tag.ordered(additions)
        entries[tag] = Entry(additions, target, heldBy: holder, key.map { AnyHashable($0) })
        return tag
    }

    mutating func setSource(_ source: GRunLoop.Source, of tag: Tag) {
        entries[tag]?.source = source
    }

    mutating func remove(_ tag: Tag) -> Entry? {
        entries.removeValue(forKey: tag)
    }
}
