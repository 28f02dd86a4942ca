// SPDX-License-Identifier: Apache-2.0
// An eventfd that wakes a thread which blocks, without running its loop, until its message is sent.

import CGRun
import Synchronization

/// Wakes a thread that blocks until another thread has sent its message. The sending thread calls ``tell()``.
/// Threads: any.
package final class BlockedSender: Sendable {
    private let made = Atomic<Int32>(-1)

    /// The eventfd; -1 before ``begin()``, or if no eventfd could be made.
    package var event: Int32 { made.load(ordering: .acquiring) }

    package init() {}

    deinit { if event >= 0 { cgrun_close(event) } }

    /// Makes the eventfd. Call this function once. Then check again whether the message was sent, because a ``tell()``
    /// before this call had no effect.
    package func begin() { made.store(cgrun_event_new(), ordering: .releasing) }

    package func tell() { if event >= 0 { cgrun_event_signal(event) } }
}
