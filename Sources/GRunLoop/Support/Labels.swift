// SPDX-License-Identifier: Apache-2.0
// The labels of items, in one table of the process. An item without a label costs neither memory nor time.

import Synchronization

package enum Labels {
    /// An immutable label. Its item may have been released, and another object may have the item's address.
    package final class Label: Sendable {
        nonisolated(unsafe) fileprivate weak let item: AnyObject?
        package let text: String

        fileprivate init(_ text: String, of item: AnyObject) {
            self.item = item
            self.text = text
        }
    }

    /// A thread may take this lock while it holds the lock of a loop or of an item. While a thread holds this lock, it
    /// takes no other lock.
    static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var table: [ObjectIdentifier: Label] = [:]
    /// How many more items can get a label before the next purge, which drops the labels of released items. The table's
    /// size cannot be used instead. If new items reuse the addresses of released items, the table does not grow, and
    /// the labels of other released items would stay forever. Guarded by the lock.
    nonisolated(unsafe) private static var untilPurge = leastUntilPurge
    /// The number of labels, including the labels of released items. While it is 0, a search for a label does not take
    /// the lock.
    private static let atomicCount = Atomic(0)

    /// Changes each time a label is set or removed.
    package static var version: UInt64 { atomicVersion.load(ordering: .relaxed) }
    private static let atomicVersion = Atomic<UInt64>(0)

    private static let leastUntilPurge = 64

    /// Whether the table has any label, even of a released item.
    static var isInUse: Bool { count > 0 }

    /// The number of labels, for tests.
    static var count: Int { atomicCount.load(ordering: .relaxed) }

    /// The label of an item; nil if the item has no label, and in a forked child.
    ///
    /// Any thread may read a label, even a thread that holds the lock of a loop or of an item. The label in the table
    /// belongs to `item`, which the caller holds, or to a released item with the same address. So this function never
    /// releases the last reference to an object of the program.
    package static func of(_ item: AnyObject) -> String? {
        guard isInUse, !Fork.isChild else { return nil }
        let label = lock.withLock { table[ObjectIdentifier(item)] }
        guard let label, label.item === item else { return nil }
        return label.text
    }

    enum Finding {
        case label(Label)
        case none
        /// The label could not be read, because another thread holds the lock of the labels.
        case unknown
    }

    /// Finds the label of an item without allocating or freeing memory. The caller holds the loop's lock, and must not
    /// wait for a thread that may be inside the allocator. The thread that holds the lock of the labels may be such a
    /// thread, so this function gives up after 1 ms. The caller must release the label after it has released the loop's
    /// lock.
    static func withoutAllocation(of item: AnyObject) -> Finding {
        guard isInUse, !Fork.isChild else { return .none }
        guard lock.lock(within: 1_000_000) else { return .unknown }
        defer { lock.unlock() }
        guard let label = table[ObjectIdentifier(item)], label.item === item else { return .none }
        return .label(label)
    }

    /// Sets the label of an item; nil removes the label. Any thread. The caller must hold no lock, because this
    /// function may release the last reference to another item.
    static func set(_ text: String?, of item: AnyObject) {
        guard let text else { return remove(item) }
        let label = Label(text, of: item)
        // The former label and the result of the purge are released after unlocking. The text of a label may be large.
        // The purge retains the items that it checks, and may hold the last reference to one of them. `item` must also
        // live until then.
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
            // An emptied table keeps its memory, so a new table replaces it.
            if table.isEmpty { (table, untilPurge) = ([:], leastUntilPurge) }
            atomicCount.store(table.count, ordering: .relaxed)
            return former
        }
    }

    private typealias Purged = (former: [ObjectIdentifier: Label], live: [AnyObject])

    /// Drops the labels of released items. A purge checks at most two labels for each label that was set since the
    /// previous purge.
    private static func purgeLocked() -> Purged {
        let former = table
        var live: [AnyObject] = []
        // Makes a new table, because the old table would keep its memory.
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
    package static func get(_ item: AnyObject, _ call: @autoclosure () -> String) -> String? {
        guard Fork.isChild else { return of(item) }
        Fork.explain(call())
        return nil
    }

    package static func set(_ text: String?, of item: AnyObject, _ call: @autoclosure () -> String) {
        guard !Fork.isChild else { return Fork.explain(call()) }
        set(text, of: item)
        noteChange()
    }

    /// Copies the label of an object to the item that represents it in the modes. Repeats until both labels agree,
    /// because another thread may change the object's label meanwhile.
    package static func pass(from object: AnyObject, to item: AnyObject) {
        guard isInUse else { return }
        while true {
            let text = of(object)
            set(text, of: item)
            if of(object) == text { break }
        }
        noteChange()
    }

    /// Makes recordings read the labels again. Call this function after each change of a label.
    private static func noteChange() { atomicVersion.add(1, ordering: .relaxed) }

    /// Returns the label for the description of an item: `label = "autosave", `; empty if there is none.
    static func part(of item: AnyObject) -> String {
        of(item).map { "label = \(quoted($0)), " } ?? ""
    }

    /// Returns the label to follow the kind of an item in a trace: ` "autosave"`; empty if there is none.
    package static func suffix(of item: AnyObject) -> String {
        of(item).map { " \(quoted($0))" } ?? ""
    }
}
