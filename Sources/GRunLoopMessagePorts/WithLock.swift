// SPDX-License-Identifier: Apache-2.0
// A copy of the core's `withLock` that this target can inline.

import CGRun

extension Lock {
    /// Calls `body` with the lock held. If `body` would release an object of the program, it must return the object.
    /// The caller then releases the object after unlocking, because the object's deinit is user code.
    ///
    /// This copy is needed, because a function of another target is inlined only if the C functions that it calls are
    /// public.
    @inline(__always) func withLock<Result: ~Copyable, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body()
    }
}
