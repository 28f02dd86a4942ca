// SPDX-License-Identifier: Apache-2.0
// The item that a frame calls, for the case that its closure ends the thread.

/// The item that a frame calls now, and the caller that waits for its result.
///
/// A closure that ends its thread with `pthread_exit()` never returns. The end of the loop finds the item in the frame
/// then, and ends the call. It does not look in the loop's modes, because a closure can move its item to another loop.
/// The frame keeps the items alive.
struct Called {
    // Changed on the own thread with the lock held, because a stall monitor reads them.

    var timer: Unmanaged<GRunLoop.Timer>?
    /// The date that the timer fires for.
    var due: Nanoseconds = 0
    var idleQueue: Unmanaged<GRunLoop.IdleQueue>?

    // Own thread only.

    var observer: Unmanaged<GRunLoop.Observer>?
    /// The caller that waits for the result of the closure, if one does.
    var waiter: (any AsyncWaiter)?
}

extension GRunLoop {
    /// Calls a closure inside a callout, while `waiter` waits for its result. If the closure ends the thread, the end
    /// of the loop tells the waiter.
    package static func whileWaited<Result>(by waiter: (any AsyncWaiter)?, _ body: () -> Result) -> Result {
        let frame = ThreadLoops.peek?.frame
        frame?.called.waiter = waiter
        defer { frame?.called.waiter = nil }
        return body()
    }
}
