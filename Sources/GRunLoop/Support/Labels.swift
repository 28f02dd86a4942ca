// SPDX-License-Identifier: Apache-2.0
// The labels of items, in one table of the process. An item without a label needs no memory for it, and costs nothing
// when it is made, added or released.

import Synchronization

package enum Labels {
    /// A label of an item, which is replaced and never changed. The item may have been released, and another object may
    /// have its address.
    package final class Label: Sendable {
        nonisolated(unsafe) fileprivate weak let item: AnyObject?
        package let text: String

        fileprivate init(_ text: String, of item: AnyObject) {
            self.item = item
            self.text = text
        }
    }

    /// May be taken while the lock of a loop or of an item is held. No other lock is taken while it is held.
    static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var table: [ObjectIdentifier: Label] = [:]
    /// How many items get a label before the next purge: as many labels as the last purge left. The size of the table
    /// is not used instead. If new items have the addresses of released items, the table does not grow, and the labels
    /// of other released items would stay forever. Guarded by the lock.
    nonisolated(unsafe) private static var untilPurge = leastUntilPurge
    /// How many labels there are, including those of released items. While there are none, no thread takes the lock.
    private static let atomicCount = Atomic(0)

    /// Changes each time that a label is set or removed.
    package static var version: UInt64 { atomicVersion.load(ordering: .relaxed) }
    private static let atomicVersion = Atomic<UInt64>(0)

    private static let leastUntilPurge = 64

    /// Whether the table has any label, perhaps of an item that was released.
    static var isInUse: Bool { count > 0 }

    /// For tests.
    static var count: Int { atomicCount.load(ordering: .relaxed) }

    /// The label of an item; nil if it has none, and in a forked child.
    ///
    /// Any thread, also while it holds the lock of a loop or of an item. The label that is found here has the address
    /// of `item`. So its object is `item`, which the caller holds, or has been released. This function therefore never
    /// releases the last reference to an object of the program.
    package static func of(_ item: AnyObject) -> String? {
        guard isInUse, !Fork.isChild else { return nil }
        let label = lock.withLock { table[ObjectIdentifier(item)] }
        guard let label, label.item === item else { return nil }
        return label.text
    }

    /// The result of a look for a label.
    enum Finding {
        case label(Label)
        case none
        /// Another thread keeps the lock of the labels.
        case unknown
    }

    /// Looks for the label of an item, for a thread that holds the lock of the item's loop and must not wait for the
    /// allocator's lock. This function neither allocates nor frees memory. It does not wait for a thread that keeps the
    /// lock of the labels, because that thread may wait for the allocator's lock. The caller releases the label after
    /// the loop's lock.
    static func withoutAllocation(of item: AnyObject) -> Finding {
        guard isInUse, !Fork.isChild else { return .none }
        guard lock.lock(within: 1_000_000) else { return .unknown }
        defer { lock.unlock() }
        guard let label = table[ObjectIdentifier(item)], label.item === item else { return .none }
        return .label(label)
    }

    /// Sets the label of an item; nil removes it. Any thread that holds no lock, because the last reference to another
    /// item may be released here.
    static func set(_ text: String?, of item: AnyObject) {
        guard let text else { return remove(item) }
        let label = Label(text, of: item)
        // Everything is released after the lock. The former label's text may be large. The purge retains the items that
        // it checks. If another thread releases such an item meanwhile, this thread holds the last reference. The
        // caller's reference to `item` lasts beyond the lock, too.
        withExtendedLifetime(item) {
            _ = lock.withLock { () -> (former: Label?, purged: Purged?) in
                let former = table.updateValue(label, forKey: ObjectIdentifier(item))
                if former?.item !== item { untilPurge -= 1 }
                let purged = untilPurge <= 0 ? purgeLocked() : nil
                atomicCount.store(table.count, ordering: .relaxed)
                return (former, purged)
            }
        }
    }

    private static func remove(_ item: AnyObject) {
        guard isInUse else { return }
        _ = lock.withLock { () -> Label? in
            let former = table.removeValue(forKey: ObjectIdentifier(item))
            // A table that loses its entries keeps its memory, so a new one replaces it.
            if table.isEmpty { (table, untilPurge) = ([:], leastUntilPurge) }
            atomicCount.store(table.count, ordering: .relaxed)
            return former
        }
    }

    private typealias Purged = (former: [ObjectIdentifier: Label], live: [AnyObject])

    /// Drops the labels of released items. It looks at two labels at most for each label that was set since the last
    /// purge.
    private static func purgeLocked() -> Purged {
        let former = table
        var live: [AnyObject] = []
        // This is a new table, because the old one would keep its memory.
        table = former.filter { _, label in
            guard let item = label.item else { return false }
            live.append(item)
            return true
        }
        untilPurge = max(leastUntilPurge, table.count)
        return (former, live)
    }
}

// MARK: For the items' own properties and descriptions

extension Labels {
    /// The getter of an item's public property `label`.
    package static func get(_ item: AnyObject, _ call: @autoclosure () -> String) -> String? {
        guard Fork.isChild else { return of(item) }
        Fork.explain(call())
        return nil
    }

    /// The setter of an item's public property `label`.
    package static func set(_ text: String?, of item: AnyObject, _ call: @autoclosure () -> String) {
        guard !Fork.isChild else { return Fork.explain(call()) }
        set(text, of: item)
        noteChange()
    }

    /// Copies the label of an object to the item that stands for it in the modes. Another thread may change the label
    /// meanwhile, so this repeats until both labels agree.
    package static func pass(from object: AnyObject, to item: AnyObject) {
        guard isInUse else { return }
        while true {
            let text = of(object)
            set(text, of: item)
            if of(object) == text { break }
        }
        noteChange()
    }

    /// Makes recordings read the labels again. Call it after the change.
    private static func noteChange() { atomicVersion.add(1, ordering: .relaxed) }

    /// Returns the label for an item's description: `label = "autosave", `; empty if there is none.
    static func part(of item: AnyObject) -> String {
        of(item).map { "label = \(quoted($0)), " } ?? ""
    }

    /// Returns the label that follows the kind of an item in a trace: ` "autosave"`; empty if there is none.
    package static func suffix(of item: AnyObject) -> String {
        of(item).map { " \(quoted($0))" } ?? ""
    }
}
