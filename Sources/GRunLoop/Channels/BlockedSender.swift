// SPDX-License-Identifier: Apache-2.0
// The event of a thread that blocks, without running its loop, until its message is sent.

import CGRun
import Synchronization

/// Wakes a blocked thread when its message was sent, which another thread may have done. Threads: any.
package final class BlockedSender: Sendable {
    private let made = Atomic<Int32>(-1)

    /// The eventfd; -1 before ``begin()``, or if no eventfd could be made.
    package var event: Int32 { made.load(ordering: .acquiring) }

    package init() {}

    deinit { if event >= 0 { cgrun_close(event) } }

    /// Makes the eventfd. Call it once, before the last check of the message: a ``tell()`` that comes earlier wakes
    /// nobody.
    package func begin() { made.store(cgrun_event_new(), ordering: .releasing) }

    package func tell() { if event >= 0 { cgrun_event_signal(event) } }
}
