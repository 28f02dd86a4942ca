// SPDX-License-Identifier: Apache-2.0
// A copy of the core's `withLock` that this target can inline.

import CGRun
import GRunLoop

extension Lock {
    /// Calls `body` with the lock held. The result of `body` is released by the caller, after the lock, because the
    /// deinit of a user's object is user code.
    ///
    /// The core has the same function. It is here once more, because a function of another target is inlined only if
    /// the C functions that it calls are public. Tests see both, and take the core's.
    @_disfavoredOverload @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
