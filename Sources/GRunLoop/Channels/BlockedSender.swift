// SPDX-License-Identifier: Apache-2.0
// A thread that waits for room without its loop.

import CGRun
import Synchronization

/// Wakes the thread when its message was sent, which another thread may do. Threads: any.
final class BlockedSender: Sendable {
    private let made = Atomic<Int32>(-1)

    /// An eventfd; -1 before ``begin()`` and where none can be had.
    var event: Int32 { made.load(ordering: .acquiring) }

    deinit { if event >= 0 { cgrun_close(event) } }

    /// To be called before the last look at the message: of what came before nothing is told. Once.
    func begin() { made.store(cgrun_event_new(), ordering: .releasing) }

    func tell() { if event >= 0 { cgrun_event_signal(event) } }
}
