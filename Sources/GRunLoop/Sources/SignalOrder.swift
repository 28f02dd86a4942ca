// SPDX-License-Identifier: Apache-2.0
// The order of first signals, over all loops and threads of the process.

import Synchronization

enum SignalOrder {
    private static let last = Atomic<UInt64>(0)

    /// Never 0.
    static func next() -> UInt64 {
        last.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
