// SPDX-License-Identifier: Apache-2.0
// Threads that send values to the daemon's loop.

import GRunLoop
import Synchronization

/// A message from a thread to the loop. A real program would have its content here.
struct Reading: Sendable {
    let date: GRunLoop.Instant
}

/// Threads with their own loops. A timer in each loop sends a reading.
@MainActor final class Workers {
    /// Counters of all threads. A thread adds to them after the channel has the reading, so more readings may have been
    /// received than sent, until the threads have ended.
    private final class Counts: Sendable {
        let sent = Atomic<Int>(0)
        let dropped = Atomic<Int>(0)
    }

    private let channel: GRunLoop.Channel<Reading>
    private let counts = Counts()
    private var threads: [GRunLoop.Thread] = []

    var sent: Int { counts.sent.load(ordering: .relaxed) }
    var dropped: Int { counts.dropped.load(ordering: .relaxed) }

    init(sendingTo channel: GRunLoop.Channel<Reading>) {
        self.channel = channel
    }

    /// Ends the present threads and starts others.
    func start(_ count: Int, interval: Duration) {
        stop()
        for worker in 0..<count {
            do {
                threads.append(try makeThread(worker, interval: interval))
            } catch {
                say("worker \(worker): \(error)")
            }
        }
    }

    /// Returns when the threads have ended. That is immediate, because they wait for their timers only.
    func stop() {
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
        threads = []
    }

    private func makeThread(_ worker: Int, interval: Duration) throws -> GRunLoop.Thread {
        let (channel, counts) = (channel, counts)
        return try GRunLoop.Thread(name: "worker \(worker)") { here in
            let timer = GRunLoop.Timer(interval: interval, repeats: true, isolation: here) { timer in
                switch channel.trySend(Reading(date: GRunLoop.now)) {
                case .enqueued: counts.sent.add(1, ordering: .relaxed)
                // The channel is full. A late reading is worthless, so it is dropped.
                case .full: counts.dropped.add(1, ordering: .relaxed)
                case .closed: timer.invalidate()
                }
            }
            here.loop.add(timer, forMode: .default)
        }
    }
}
