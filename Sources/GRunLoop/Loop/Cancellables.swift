// SPDX-License-Identifier: Apache-2.0
// The delayed and ordered performs that can still be cancelled.

/// The delayed and ordered performs of a loop that can still be cancelled. Own thread only.
struct Cancellables {
    typealias Tag = UInt64

    /// The target's deinit may call back into the loop: a removed entry is released after the access to the others.
    struct Entry {
        /// Alive as long as its holder is.
        let target: Unmanaged<AnyObject>?
        /// The target itself; its closure's if it belongs to an actor, which lets both go.
        let holder: (any AnyObject & Sendable)?
        let key: AnyHashable?
        var item: (any Invalidatable)?
    }

    private(set) var entries: [Tag: Entry] = [:]
    private var tags: Tag = 0

    mutating func add(
        target: AnyObject?, heldBy holder: (any AnyObject & Sendable)?, key: (any Hashable & Sendable)?
    ) -> Tag {
        tags += 1
        entries[tags] = Entry(
            target: target.map(Unmanaged.passUnretained), holder: holder, key: key.map { AnyHashable($0) }, item: nil)
        return tags
    }

    mutating func setItem(_ item: any Invalidatable, of tag: Tag) {
        entries[tag]?.item = item
    }

    mutating func remove(_ tag: Tag) -> Entry? {
        entries.removeValue(forKey: tag)
    }
}

extension GRunLoop {
    /// Cancels what a target, and a key if there is one, name.
    func takeBack(target: AnyObject, key: (any Hashable & Sendable)?) {
        let wanted = key.map { AnyHashable($0) }
        takeBack { $0.target === target && (wanted == nil || $0.key == wanted) }
    }

    /// Cancels the wanted entries, in the order in which they were added.
    func takeBack(where isWanted: (Cancellables.Entry) -> Bool) {
        // A copy: comparing keys calls the user's code.
        let entries = cancellables.entries
        for tag in entries.keys.sorted() {
            guard let entry = entries[tag], isWanted(entry) else { continue }
            let removed = cancellables.remove(tag)
            removed?.item?.invalidate()
        }
    }
}
