// SPDX-License-Identifier: Apache-2.0
// A value behind a lock. The lock is the core's `Lock` and not a `Mutex`, because the Thread Sanitizer does not
// understand Swift's `Mutex`, and would report false data races.

import CGRun
import GRunLoop

final class Guarded<Value>: @unchecked Sendable {
    private let lock = Lock.take()
    private var value: Value

    init(_ value: Value) { self.value = value }

    deinit { Lock.giveBack(lock) }

    /// Calls `body` with the lock held. If objects must be released, `body` returns them, so that the caller releases
    /// them after unlocking. Do not store a bare closure as `Value`, because each call would wrap the closure once
    /// more.
    func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
