// SPDX-License-Identifier: Apache-2.0
// A copy of the core's `withLock` that this target can inline.

import CGRun
import GRunLoop

extension Lock {
    /// Calls `body` with the lock held. To release an object of the user, return the object from `body`. The caller
    /// then releases the object without the lock, because the object's deinit is user code.
    ///
    /// The target GRunLoop has the same function. The compiler cannot inline the other function into this target,
    /// because that function calls C functions that are not public. In tests, which can call both functions,
    /// `@_disfavoredOverload` selects the function of GRunLoop.
    @_disfavoredOverload @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
