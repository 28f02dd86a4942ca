// SPDX-License-Identifier: Apache-2.0
// Many loops: n threads in a ring, each with a loop that sleeps until the previous one posts a block.

import BenchSupport
import GRunLoop

extension Bench {
    func ringOfLoops() {
        let threads = (0..<n).map { index -> GRunLoop.Thread in
            do { return try GRunLoop.Thread(name: "loop \(index)") } catch { fatalError("\(error)") }
        }
        // The main loop counts, and is not in the ring.
        keepAlive()
        nonisolated(unsafe) var left = Self.hops
        @Sendable func pass(to index: Int) {
            threads[index].loop.async {
                left -= 1
                if left > 0 { pass(to: (index + 1) % n) } else { loop.async { stop() } }
            }
        }
        let begin = bench_now()
        pass(to: 0)
        drive()
        report(Double(bench_now() - begin) / Double(Self.hops), "hops:\(Self.hops)")
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
    }

    private static let hops = 20000
}
