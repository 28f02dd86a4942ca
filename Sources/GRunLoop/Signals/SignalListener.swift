// SPDX-License-Identifier: Apache-2.0
// A listener for one signal, with an eventfd that counts the signals.

import CGRun
import Glibc

/// Listens to one signal of the process from the listener's creation until ``end()``. Threads: any.
final class SignalListener: @unchecked Sendable {
    /// Guards the list of listeners, and the signal dispositions that the library changes (signals.c).
    private static let lock = Lock.take()

    let event: Int32
    /// The record of this listener in signals.c; nil after ``end()``. Guarded by the lock.
    private var listener: OpaquePointer?

    init(_ signal: Int32, replacing: Bool) throws(GRunLoop.SystemError) {
        if Fork.isChild { throw .forked }
        if SignalRefusal.isRefused(signal) { throw .signalRefused(signal) }
        // Normally the first loop starts the watch for fork(), but the program may not have a loop yet.
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

    /// Returns the number of signals since the last call.
    func take() -> Int { Int(clamping: cgrun_event_take(event)) }

    /// Stops listening. A second call does nothing.
    func end() {
        // A forked child need not stop listening, because its signal handler ignores signals (signals.c).
        guard !Fork.isChild else { return }
        Self.lock.withLock {
            if let ended = listener.take() { cgrun_signal_stop(ended) }
        }
    }
}
