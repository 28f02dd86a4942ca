// SPDX-License-Identifier: Apache-2.0
// A value behind a lock, for closures that are called on several threads or more than once.

import Synchronization

final class Shared<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    init(_ value: Value) {
        state = Mutex(value)
    }

    var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    /// Changes the value atomically, and returns the closure's result.
    @discardableResult func update<Result: Sendable>(_ change: @Sendable (inout Value) -> Result) -> Result {
        state.withLock { change(&$0) }
    }
}

extension Shared<Int> {
    /// Adds 1 to the value, and returns the new value.
    @discardableResult func increment() -> Int {
        update { count in
            count += 1
            return count
        }
    }
}
