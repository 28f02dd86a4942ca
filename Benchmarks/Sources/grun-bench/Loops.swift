// SPDX-License-Identifier: Apache-2.0
// Many loops: n threads, each with a loop that sleeps until another loop posts a block.

import BenchSupport
import GRunLoop
import Synchronization

extension Bench {
    /// A block that goes around: each loop passes it to the next one.
    func ringOfLoops() {
        let before = bench_resident()
        let threads = makeThreads()
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
        let time = Double(bench_now() - begin) / Double(Self.hops)
        report(time, "bytes:\((bench_resident() - before) / n)")
        end(threads)
    }

    /// As many blocks as loops. Each block goes from loop to loop by a stride of its own, so that the ways cross.
    func crossingLoops() {
        let before = bench_resident()
        let threads = makeThreads()
        keepAlive()
        let running = Atomic(n)
        @Sendable func pass(stride: Int, to index: Int, left: Int) {
            threads[index].loop.async { [n, loop] in
                if left > 0 {
                    pass(stride: stride, to: (index + stride) % n, left: left - 1)
                } else if running.subtract(1, ordering: .relaxed).newValue == 0 {
                    loop.async { stop() }
                }
            }
        }
        let hops = max(Self.hops / n, 1)
        let begin = bench_now()
        for index in 0..<n { pass(stride: 1 + index % max(n - 1, 1), to: index, left: hops) }
        drive()
        let time = Double(bench_now() - begin) / Double(n * (hops + 1))
        report(time, "bytes:\((bench_resident() - before) / n)")
        end(threads)
    }

    private func makeThreads() -> [GRunLoop.Thread] {
        (0..<n).map { index in
            do { return try GRunLoop.Thread(name: "loop \(index)") } catch { fatalError("\(error)") }
        }
    }

    private func end(_ threads: [GRunLoop.Thread]) {
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
    }

    private static let hops = 20000
}
