// SPDX-License-Identifier: Apache-2.0
// The items of the common modes.

/// An item or a context of the common modes.
enum CommonItem {
    case source(GRunLoop.Source)
    case descriptor(GRunLoop.DescriptorSource)
    case timer(GRunLoop.Timer)
    case observer(GRunLoop.Observer)
    case idleQueue(GRunLoop.IdleQueue)
    case port(GRunLoop.Port)
    case context(OpaquePointer)
}

/// The items that were added to ``GRunLoop/Mode/common``, in the order in which they were added. These items also join
/// every mode that becomes common later. Guarded by the loop's lock.
struct CommonItems {
    private var items: [UInt: (order: UInt64, item: CommonItem)] = [:]
    private var additions: UInt64

    /// - Parameter additions: how many items were added before. Only tests pass this parameter.
    init(additions: UInt64 = 0) { self.additions = additions }

    var ordered: [CommonItem] { items.values.sorted { $0.order < $1.order }.map(\.item) }

    func contains(_ object: AnyObject) -> Bool { items[Self.key(object)] != nil }
    func contains(_ context: OpaquePointer) -> Bool { items[UInt(bitPattern: context)] != nil }

    mutating func insert(_ item: CommonItem, for object: AnyObject) { insert(item, key: Self.key(object)) }
    mutating func insert(_ context: OpaquePointer) { insert(.context(context), key: UInt(bitPattern: context)) }

    /// Removes and returns the item. The caller must hold the result until the lock is released.
    mutating func remove(_ object: AnyObject) -> CommonItem? { items.removeValue(forKey: Self.key(object))?.item }
    mutating func remove(_ context: OpaquePointer) -> CommonItem? {
        items.removeValue(forKey: UInt(bitPattern: context))?.item
    }

    mutating func removeAll() -> [CommonItem] {
        defer { items = [:] }
        return ordered
    }

    private mutating func insert(_ item: CommonItem, key: UInt) {
        guard items[key] == nil else { return }
        additions += 1
        items[key] = (additions, item)
    }

    private static func key(_ object: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }
}
