// SPDX-License-Identifier: Apache-2.0
// What the tests of thread safety share: threads that start together, and who counts what they handed over.

import GRunLoop
import Glibc
import TestSupport

/// Runs `body` on so many threads, which begin together, and waits for all of them.
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

/// What several producers have handed over and a loop has delivered: each once, and in order.
final class Deliveries: Sendable {
    private let delivered: Shared<[[Int]]>

    init(producers: Int) { delivered = Shared(Array(repeating: [], count: producers)) }

    func deliver(_ number: Int, of producer: Int) {
        delivered.update { $0[producer].append(number) }
    }

    /// Waits until there are so many of each producer; answers what there is.
    func wait(for count: Int) -> [[Int]] {
        _ = delivered.wait { $0.allSatisfy { $0.count >= count } }
        return delivered.value
    }
}

/// Witnesses that were made, and how many of them are left.
final class Census: Sendable {
    private let made = Counter()
    private let gone = Counter()

    func witness() -> Witness {
        made.increment()
        return Witness { [gone] in gone.increment() }
    }

    var total: Int { made.value }
    var left: Int { made.value - gone.value }

    /// False when some are left for too long.
    func waitUntilEmpty() -> Bool { gone.wait(for: made.value) }
}

extension LoopThread {
    /// Waits until the running loop has done what it was given before.
    func settle() {
        try? loop.performAndWait {}
    }
}
