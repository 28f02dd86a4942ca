// SPDX-License-Identifier: Apache-2.0
// A value behind a lock. The lock is an `NSLock` and not a `Mutex`, because the Thread Sanitizer does not understand
// Swift's `Mutex`, and would report false data races.

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
