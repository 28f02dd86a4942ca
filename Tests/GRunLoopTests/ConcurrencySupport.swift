// SPDX-License-Identifier: Apache-2.0
// Helpers of the thread safety tests: threads that start together, and counters of deliveries.

import GRunLoop
import Glibc
import TestSupport

/// Runs `body` on `count` threads, which start together, and waits for all of them.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    let start = Flag()
    let threads = (0..<count).map { index in
        startThread {
            start.wait()
            body(index)
        }
    }
    start.set()
    for thread in threads { pthread_join(thread, nil) }
}

/// Records what a loop has delivered for several producers, and checks that each item arrives once and in order.
final class Deliveries: Sendable {
    private let delivered: Shared<[[Int]]>

    init(producers: Int) { delivered = Shared(Array(repeating: [], count: producers)) }

    func deliver(_ number: Int, of producer: Int) {
        delivered.update { $0[producer].append(number) }
    }

    /// Waits until each producer has `count` deliveries. Returns all deliveries.
    func wait(for count: Int) -> [[Int]] {
        _ = delivered.wait { $0.allSatisfy { $0.count >= count } }
        return delivered.value
    }
}

/// Counts witnesses that were made and those that still exist.
final class Census: Sendable {
    private let made = Counter()
    private let gone = Counter()

    func witness() -> Witness {
        made.increment()
        return Witness { [gone] in gone.increment() }
    }

    var total: Int { made.value }
    var left: Int { made.value - gone.value }

    /// Returns false if witnesses still exist after the time limit.
    func waitUntilEmpty() -> Bool { gone.wait(for: made.value) }
}

extension LoopThread {
    /// Waits until the running loop has done its earlier work.
    func settle() {
        try? loop.performAndWait {}
    }
}
