// SPDX-License-Identifier: Apache-2.0
// A C function with its user data. A Swift closure calls this function.

import CGRunHeaders
import GRunLoop

/// A C function with its user data, and the function that releases the data.
///
/// `notify` is called when the last Swift closure that retains this object is released. When a timer or an observer is
/// invalidated, it releases its closure (items 138 and 154). When a source or a port is freed, it releases its closure
/// (item 98). The closure of a block is released after the block was called or dropped. No lock of this library is held
/// while `notify` is called.
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
