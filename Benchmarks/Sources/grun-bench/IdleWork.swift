// SPDX-License-Identifier: Apache-2.0
// Idle work: a piece that enqueues the next one, so that each is enqueued, and called when the loop would sleep.

import BenchSupport
import GRunLoop

extension Bench {
    func idleWork() {
        loop.add(queue, forMode: .default)
        enqueueNext()
        report(measure(drive))
    }
}

private let queue = GRunLoop.IdleQueue()

// It captures a number, as the blocks of "post-local" do.
private func enqueueNext() {
    let number = count
    queue.enqueue {
        count = number + 1
        if count < bench.n { enqueueNext() } else { bench.stop() }
    }
}
