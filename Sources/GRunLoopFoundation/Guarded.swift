// SPDX-License-Identifier: Apache-2.0
// A value behind a lock. Not Swift's `Mutex`: the Thread Sanitizer does not see that, and would tell a program of races
// that are none.

import Foundation

final class Guarded<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
