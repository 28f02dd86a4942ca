// SPDX-License-Identifier: Apache-2.0
// Notifications with one observer: each enqueues the next one; posted now; and one that replaces its equal beside
// others of the same name.

import BenchSupport
import GRunLoop

private typealias Queue = GRunLoop.NotificationQueue<Int, Int>

private nonisolated(unsafe) var queue: Queue?
private nonisolated(unsafe) var style = GRunLoop.PostingStyle.asap

extension Bench {
    func notificationAgain(_ chosen: GRunLoop.PostingStyle) {
        let own = Queue(on: loop)
        let observation = own.observe { _ in enqueueNext() }
        (queue, style) = (own, chosen)
        enqueueNext()
        report(measure(drive))
        observation.cancel()
    }

    func notificationNow() {
        let own = Queue(on: loop)
        let observation = own.observe { count &+= $0.payload | 1 }
        let time = measure {
            for number in 0..<n { own.enqueue(.init(name: 1, payload: number), style: .now) }
        }
        report(time)
        observation.cancel()
    }

    /// `n` notifications wait, each of a different sender.
    func notificationsAlikeTax() {
        let own = Queue(on: loop)
        let senders = (0..<n).map { _ in Sender() }
        let begin = bench_now()
        for sender in senders { own.enqueue(.init(name: 1, sender: sender, payload: 0), style: .asap) }
        let fill = bench_now() - begin
        bench_begin_steps()
        while bench_step() { own.enqueue(.init(name: 1, sender: senders[0], payload: 0), style: .asap) }
        report(bench_step_time(), "passes:\(bench_steps()),fill:\(shown(Double(fill) / Double(n)))")
    }
}

private final class Sender: Sendable {}

private func enqueueNext() {
    count += 1
    guard count <= bench.n else { return bench.stop() }
    queue?.enqueue(.init(name: 1, payload: count), style: style)
}
