// SPDX-License-Identifier: Apache-2.0
// Idle work: each closure enqueues the next one, and is called when the loop would sleep.

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

// The closure captures a number, like the blocks of "post-local".
private func enqueueNext() {
    let number = count
    queue.enqueue {
        count = number + 1
        if count < bench.n { enqueueNext() } else { bench.stop() }
    }
}
