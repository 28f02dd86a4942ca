// SPDX-License-Identifier: Apache-2.0
// Keeps what was called until the run lets go of it, without the lock.

/// An item that its own callout took out of the loop may have its last reference here. It is released after the lock,
/// because its deinit is user code. Own thread only.
struct Kept {
    /// The usual case: a pass calls one item.
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

    /// Without the lock: releases what was called before, and keeps what is called now.
    @inline(__always) mutating func replace(by object: AnyObject) {
        drop()
        keep(object)
    }

    /// Without the lock.
    @inline(__always) mutating func drop() {
        if first != nil { first = nil }
        if !others.isEmpty { dropOthers() }
    }

    private mutating func dropOthers() {
        others.removeAll(keepingCapacity: true)
    }
}
