// SPDX-License-Identifier: Apache-2.0
// Threads that send values to the daemon's loop.

import GRunLoop
import Synchronization

/// What a thread has to tell the loop; of what it is made is left out here.
struct Reading: Sendable {
    let date: GRunLoop.Instant
}

/// Threads, each with a loop of its own, in which a timer sends a reading.
@MainActor final class Workers {
    /// What the threads count together. They are added to after the channel has the reading: until the threads have
    /// ended, more may have been received than was sent.
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

    /// Ends the threads that there are and starts others.
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

    /// Returns when they have ended, which is at once: none of them ever waits for anything but its timer.
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
                // The loop is behind. A reading that comes late is worth nothing: better lose it than wait with it.
                case .full: counts.dropped.add(1, ordering: .relaxed)
                case .closed: timer.invalidate()
                }
            }
            here.loop.add(timer, forMode: .default)
        }
    }
}
