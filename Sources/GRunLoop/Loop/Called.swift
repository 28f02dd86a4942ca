// SPDX-License-Identifier: Apache-2.0
// Stores the item that a frame calls, because the item's closure may end the thread.

/// The item whose closure a frame is calling, and the caller that waits for the closure's result.
///
/// A closure that ends its thread with `pthread_exit()` never returns. The code that ends the thread's loop then finds
/// the item here, and marks it as no longer being called. That code cannot search the loop's modes, because the closure
/// may have moved the item to another loop. ``Frame/kept`` keeps the item alive.
struct Called {
    // The loop's thread changes these properties with the lock held, because a stall monitor reads them on another
    // thread.

    var timer: Unmanaged<GRunLoop.Timer>?
    /// The scheduled date of the current fire of `timer`.
    var due: Nanoseconds = 0
    var idleQueue: Unmanaged<GRunLoop.IdleQueue>?

    // Only the loop's own thread uses the properties below.

    var observer: Unmanaged<GRunLoop.Observer>?
    /// The caller that waits for the result of the closure; nil if no caller waits.
    var waiter: (any AsyncWaiter)?
}

extension GRunLoop {
    /// Calls `body` inside a callout, while `waiter` waits for the result of `body`. If `body` ends the thread,
    /// ``AsyncWaiter/loopHasEnded()`` notifies the waiter.
    package static func whileWaited<Result>(by waiter: (any AsyncWaiter)?, _ body: () -> Result) -> Result {
        let frame = ThreadLoops.peek?.frame
        frame?.called.waiter = waiter
        defer { frame?.called.waiter = nil }
        return body()
    }
}
