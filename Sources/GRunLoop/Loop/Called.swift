// SPDX-License-Identifier: Apache-2.0
// The item that a frame calls, in case the item's closure ends the thread.

/// The item that a frame calls now, and the caller that waits for its result.
///
/// A closure that ends its thread with `pthread_exit()` never returns. The end of the loop then finds the item here,
/// and ends the call. It cannot find the item in the loop's modes, because the closure may have moved the item to
/// another loop. ``Frame/kept`` keeps the item alive.
struct Called {
    // Changed on the loop's own thread with the lock held, because a stall monitor reads these.

    var timer: Unmanaged<GRunLoop.Timer>?
    /// The date for which the timer fires.
    var due: Nanoseconds = 0
    var idleQueue: Unmanaged<GRunLoop.IdleQueue>?

    // Own thread only.

    var observer: Unmanaged<GRunLoop.Observer>?
    /// The caller that waits for the result of the closure; nil if no caller waits.
    var waiter: (any AsyncWaiter)?
}

extension GRunLoop {
    /// Calls `body` inside a callout, while `waiter` waits for the result. If `body` ends the thread,
    /// ``AsyncWaiter/loopHasEnded()`` notifies the waiter.
    package static func whileWaited<Result>(by waiter: (any AsyncWaiter)?, _ body: () -> Result) -> Result {
        let frame = ThreadLoops.peek?.frame
        frame?.called.waiter = waiter
        defer { frame?.called.waiter = nil }
        return body()
    }
}
