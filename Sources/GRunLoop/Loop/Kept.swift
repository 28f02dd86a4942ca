// SPDX-License-Identifier: Apache-2.0
// The items and contexts that a run has called.

/// Keeps the items and contexts that a run has called. If an item's own callout removes the item from the loop, this
/// list may hold the last reference to the item. That reference must be released without the lock, because the item's
/// deinit is user code. Used on the loop's own thread only.
struct Kept {
    /// A pass usually calls one item, which needs no array.
    private var first: AnyObject?
    private var others: [Any] = []

    @inline(__always) var isEmpty: Bool { first == nil && others.isEmpty }

    @inline(__always) mutating func keep(_ object: AnyObject) {
        if first == nil { first = object } else { keepMore(object) }
    }

    @inline(__always) mutating func keep(all list: [some Any]) {
        if !list.isEmpty { keepMore(list) }
    }

    private mutating func keepMore(_ called: Any) {
        others.append(called)
    }

    /// Releases the previous items, and keeps `object`. Call this function without the lock.
    @inline(__always) mutating func replace(by object: AnyObject) {
        drop()
        keep(object)
    }

    /// Releases everything that is kept. Call this function without the lock.
    @inline(__always) mutating func drop() {
        if first != nil { first = nil }
        if !others.isEmpty { dropOthers() }
    }

    private mutating func dropOthers() {
        others.removeAll(keepingCapacity: true)
    }
}
