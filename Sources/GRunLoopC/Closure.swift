// SPDX-License-Identifier: Apache-2.0
// A function of C's with its data, as Swift closures hold it.

import CGRunHeaders
import GRunLoop

/// Lets go of the data when the last closure that holds it goes: of a timer or an observer when that is invalidated
/// (items 138 and 154), of a source or a port when that itself goes (98), of a block after it was called or dropped. No
/// lock is held then.
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
