// SPDX-License-Identifier: Apache-2.0
// A part in the process's signals: an eventfd that counts those of one number.

import CGRun
import Glibc

/// Listens from the beginning until ``end()``. Threads: any.
final class SignalListener: @unchecked Sendable {
    /// The lock of the listeners: of the process's dispositions, as far as they are ours (signals.c).
    private static let lock = Lock.take()

    let event: Int32
    /// Guarded by the lock. Nil after the end.
    private var listener: OpaquePointer?

    init(_ signal: Int32, replacing: Bool) throws(GRunLoop.SignalError) {
        if Fork.isChild { throw .forked }
        if GRunLoop.SignalError.isRefused(signal) { throw .refused(signal) }
        // There may be no loop yet.
        cgrun_watch_fork()
        let event = cgrun_event_new()
        guard event >= 0 else { throw .init(errno: errno, of: "eventfd2(2)") }
        let (made, error) = Self.lock.withLock {
            let made = cgrun_signal_listen(signal, event, replacing)
            return (made, errno)
        }
        guard let made else {
            cgrun_close(event)
            throw .init(errno: error, signal: signal)
        }
        self.event = event
        listener = made
    }

    deinit {
        end()
        cgrun_close(event)
    }

    /// How many have come since the last call.
    func take() -> Int { Int(clamping: cgrun_event_take(event)) }

    /// The second time it does nothing.
    func end() {
        // The handler in a forked child looks for itself.
        guard !Fork.isChild else { return }
        Self.lock.withLock {
            if let ended = listener.take() { cgrun_signal_stop(ended) }
        }
    }
}
