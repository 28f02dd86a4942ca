// SPDX-License-Identifier: Apache-2.0
// What a program calls its items, in one table of the process: an item without a label costs no memory, and nothing
// where it is made, added or let go.

import Synchronization

enum Labels {
    /// Replaced, never changed. What it holds weakly may have gone, and another object may have its address.
    final class Label: Sendable {
        nonisolated(unsafe) fileprivate weak let item: AnyObject?
        let text: String

        fileprivate init(_ text: String, of item: AnyObject) {
            self.item = item
            self.text = text
        }
    }

    /// Taken after a loop's lock and an item's, and none is taken under it.
    private static let lock = Lock.take()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var table: [ObjectIdentifier: Label] = [:]
    /// How many items get a label before the next purge: as many as the last one has left. Not how many the table has:
    /// where new items have the addresses of some that have gone it does not grow, and the others would stay for ever.
    /// Guarded by the lock.
    nonisolated(unsafe) private static var untilPurge = leastUntilPurge
    /// How many labels there are, those of items that have gone included: while none is there nobody takes the lock.
    private static let atomicCount = Atomic(0)

    /// Changes with each label that is given or taken away.
    static var version: UInt64 { atomicVersion.load(ordering: .relaxed) }
    private static let atomicVersion = Atomic<UInt64>(0)

    private static let leastUntilPurge = 64

    /// Whether anything has a label, or had one a while ago.
    static var isInUse: Bool { count > 0 }

    /// For tests.
    static var count: Int { atomicCount.load(ordering: .relaxed) }

    /// The label of an item; nil if it has none, and in a forked child.
    ///
    /// Any thread. A loop's lock may be held, and an item's: what is found here has the address of `item`, so that it
    /// is `item`, which the caller holds, or has gone. Nothing that is let go here is the last reference to anything of
    /// the program's.
    static func of(_ item: AnyObject) -> String? {
        guard isInUse, !Fork.isChild else { return nil }
        let label = lock.withLock { table[ObjectIdentifier(item)] }
        guard let label, label.item === item else { return nil }
        return label.text
    }

    /// The label of an item, for a thread that holds the item's loop's lock and must not wait for the allocator's. It
    /// neither allocates nor frees memory. Nil also if another thread keeps the lock of the labels: that thread may
    /// wait for the allocator's lock. The caller releases the label after the loop's lock.
    static func withoutAllocation(of item: AnyObject) -> Label? {
        guard isInUse, !Fork.isChild, lock.lock(within: 1_000_000) else { return nil }
        defer { lock.unlock() }
        guard let label = table[ObjectIdentifier(item)], label.item === item else { return nil }
        return label
    }

    /// Gives an item a label, or takes it away. Any thread, which holds no lock: that of another item may be let go
    /// here.
    static func set(_ text: String?, of item: AnyObject) {
        guard let text else { return remove(item) }
        let label = Label(text, of: item)
        // Released after the lock, all of it: the former label's text may be large, and of the items that a purge has
        // looked at another thread may have let go meanwhile. The caller's reference to this one lasts beyond it, too.
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
            // One that loses its entries keeps its memory.
            if table.isEmpty { (table, untilPurge) = ([:], leastUntilPurge) }
            atomicCount.store(table.count, ordering: .relaxed)
            return former
        }
    }

    private typealias Purged = (former: [ObjectIdentifier: Label], live: [AnyObject])

    /// Drops the labels of items that have gone. Two for each label that was given since the last time are looked at,
    /// at most.
    private static func purgeLocked() -> Purged {
        let former = table
        var live: [AnyObject] = []
        // Another table: see above.
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
    /// A public property's getter.
    static func get(_ item: AnyObject, _ call: StaticString) -> String? {
        Fork.refuses(call) ? nil : of(item)
    }

    /// Its setter.
    static func set(_ text: String?, of item: AnyObject, _ call: StaticString) {
        guard !Fork.refuses(call) else { return }
        set(text, of: item)
        atomicVersion.add(1, ordering: .relaxed)
    }

    /// Of an item's description: `label = "autosave", `, or nothing.
    static func part(of item: AnyObject) -> String {
        of(item).map { "label = \(quoted($0)), " } ?? ""
    }

    /// Behind what an item is in a trace: ` "autosave"`, or nothing.
    static func suffix(of item: AnyObject) -> String {
        of(item).map { " \(quoted($0))" } ?? ""
    }
}
