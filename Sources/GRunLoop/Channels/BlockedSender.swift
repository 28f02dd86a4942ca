// SPDX-License-Identifier: Apache-2.0
// An eventfd for a thread that blocks until its message is sent, and does not run its loop meanwhile.

import CGRun
import Synchronization

/// Wakes a thread that blocks until its message is sent. Another thread may send the message. Threads: any.
package final class BlockedSender: Sendable {
    private let made = Atomic<Int32>(-1)

    /// The eventfd; -1 before ``begin()``, or if no eventfd could be made.
    package var event: Int32 { made.load(ordering: .acquiring) }

    package init() {}

    deinit { if event >= 0 { cgrun_close(event) } }

    /// Makes the eventfd. Call it once, and check the message again after the call: an earlier ``tell()`` does nothing.
    package func begin() { made.store(cgrun_event_new(), ordering: .releasing) }

    package func tell() { if event >= 0 { cgrun_event_signal(event) } }
}
