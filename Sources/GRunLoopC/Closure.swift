// SPDX-License-Identifier: Apache-2.0
// A C function with its user data, for a Swift closure that calls it.

import CGRunHeaders
import GRunLoop

/// A C function with its user data, and the function that releases the data.
///
/// `notify` is called when the last Swift closure that retains this object is released. A timer or an observer releases
/// its closure when it is invalidated (items 138 and 154). A source or a port releases its closure when it is freed
/// (item 98). A block is released after it was called or dropped. No lock is held during the call.
class Closure<Function>: Forwarder, @unchecked Sendable {
    let function: Function
    let data: gpointer?
    private let notify: GDestroyNotify?

    init(_ function: Function, _ data: gpointer?, _ notify: GDestroyNotify?) {
        self.function = function
        self.data = data
        self.notify = notify
    }

    deinit {
        notify?(data)
    }

    var callee: UInt {
        withUnsafeBytes(of: function) { $0.count == MemoryLayout<UInt>.size ? $0.load(as: UInt.self) : 0 }
    }
}

extension Closure where Function == GRunFunc {
    func call() { function(data) }
}
