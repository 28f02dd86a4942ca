// SPDX-License-Identifier: Apache-2.0
// A copy of the core's `withLock` that this target can inline.

import CGRun
import GRunLoop

extension Lock {
    /// Calls `body` with the lock held. To release a user's object, return it from `body`: the caller then releases it
    /// after the lock, because its deinit is user code.
    ///
    /// The core has the same function, but the compiler cannot inline it here, because it calls C functions that are
    /// not public. In tests, which see both functions, the attribute selects the core's.
    @_disfavoredOverload @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
