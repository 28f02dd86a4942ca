// SPDX-License-Identifier: Apache-2.0
// Numbers the signals of version-0 sources, in one order for all loops and threads of the process.

import Synchronization

enum SignalOrder {
    private static let last = Atomic<UInt64>(0)

    /// Returns the number of a new signal. The number is never 0, because 0 means that a source is not signalled.
    static func next() -> UInt64 {
        last.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
