// SPDX-License-Identifier: Apache-2.0
// Blocks: one that enqueues itself, many at the same time, posts from another thread; two loops that reply to each
// other; the latency of waking a sleeping loop.

import BenchSupport
import Dispatch
import GRunLoop

extension Bench {
    func postLocal() {
        loop.async(postAgain)
        report(measure(drive))
    }

    func postBurst() {
        let begin = bench_now()
        for number in 0..<n {
            loop.async {
                count &+= number | 1
                countDown()
            }
        }
        let middle = bench_now()
        drive()
        let end = bench_now()
        report(
            Double(end - begin) / Double(n),
            "enq:\(shown(Double(middle - begin) / Double(n))),drain:\(shown(Double(end - middle) / Double(n)))")
    }

    func postRemote() {
        keepAlive()
        onOtherThread { bench in
            for number in 0..<bench.n {
                bench.loop.async {
                    count &+= number | 1
                    countDown()
                }
            }
        }
        let cpu = bench_cpu()
        let time = measure(drive)
        report(time, "cpu_ns:\(shown(Double(bench_cpu() - cpu) / Double(n)))")
        bench_join()
    }

    /// Version-0 sources that signal themselves again.
    func signalAgain(sources: Int) {
        keepAlive()
        for _ in 0..<sources {
            nonisolated(unsafe) let own = UnsafeMutablePointer<Unmanaged<GRunLoop.Source>>.allocate(capacity: 1)
            let source = GRunLoop.Source {
                count += 1
                if count >= n { stop() } else { own.pointee._withUnsafeGuaranteedRef { $0.signal() } }
            }
            own.initialize(to: .passUnretained(source))
            loop.add(source, forMode: .default)
            source.signal()
        }
        report(measure(drive))
    }

    /// Two loops, each with a version-0 source that signals the other's and wakes it.
    func pingPong() {
        let here = GRunLoop.Source {
            count += 1
            if count >= bench.n {
                sides.there?.loop._withUnsafeGuaranteedRef { $0.stop() }
                return bench.stop()
            }
            sides.there?.throwBall()
        }
        let there = GRunLoop.Source { sides.here?.throwBall() }
        sides.here = Side(loop: benchLoop, source: .passUnretained(here))
        loop.add(here, forMode: .default)
        onOtherThread { bench in
            let loop = GRunLoop.current
            sides.there = Side(loop: .passUnretained(loop), source: .passUnretained(there))
            loop.add(there, forMode: .default)
            // The loop must sleep before the first ball comes.
            loop.perform { left = 0 }
            loop.run()
            _ = bench
        }
        while left != 0 || sides.there?.isWaiting != true { bench_sleep_microseconds(1000) }
        let cpu = bench_cpu()
        let time = measure {
            sides.there?.throwBall()
            drive()
        }
        report(time, "cpu_ns:\(shown(Double(bench_cpu() - cpu) / Double(n)))")
        bench_join()
    }

    func wakeLatency() {
        keepAlive()
        latencies = .allocate(capacity: n)
        onOtherThread { bench in
            for number in 0..<bench.n {
                bench_sleep_microseconds(1000)
                stamp = bench_now()
                benchLoop._withUnsafeGuaranteedRef { $0.async(noteLatency) }
                bench_note_posted(number, count != number)
                while count == number { bench_sleep_microseconds(50) }
            }
        }
        drive()
        bench_join()
        bench_report_latencies(caseName, n, latencies)
    }

    /// Blocks for the main dispatch queue, from another queue.
    func mainQueue() {
        DispatchQueue.global().async {
            for number in 0..<n {
                DispatchQueue.main.async {
                    count &+= number | 1
                    countDown()
                }
            }
        }
        report(measure(drive))
    }

    /// Keeps the mode from being finished. As in the peers, no timer is used, because a sleep with a date arms a timer
    /// of the kernel.
    func keepAlive() {
        loop.add(GRunLoop.Source {}, forMode: .default)
    }

    func onOtherThread(_ body: @escaping @Sendable (Bench) -> Void) {
        final class Start {
            let bench: Bench
            let body: @Sendable (Bench) -> Void
            init(_ bench: Bench, _ body: @escaping @Sendable (Bench) -> Void) {
                self.bench = bench
                self.body = body
            }
        }
        bench_start(
            { data in
                guard let data else { return }
                let start = Unmanaged<Start>.fromOpaque(data).takeRetainedValue()
                start.body(start.bench)
            }, Unmanaged.passRetained(Start(self, body)).toOpaque())
    }
}

/// The number of remaining calls.
nonisolated(unsafe) var left = 0

func countDown() {
    left -= 1
    if left == 0 { bench.stop() }
}

// The block captures a number, like those of the peers, so each block allocates. Everything else is global.
private func postAgain() {
    count += 1
    guard count < bench.n else { return bench.stop() }
    let number = count
    benchLoop._withUnsafeGuaranteedRef { loop in loop.async { if number >= 0 { postAgain() } } }
}

// MARK: Callbacks of two threads: global, as in the peers, so that they capture nothing

/// A loop, and its source, which the other side signals.
private struct Side {
    let loop: Unmanaged<GRunLoop>
    let source: Unmanaged<GRunLoop.Source>

    @inline(__always) func throwBall() {
        source._withUnsafeGuaranteedRef { $0.signal() }
        loop._withUnsafeGuaranteedRef { $0.wakeUp() }
    }

    var isWaiting: Bool { loop._withUnsafeGuaranteedRef(\.isWaiting) }
}

nonisolated(unsafe) private var sides: (here: Side?, there: Side?) = (nil, nil)

nonisolated(unsafe) private var stamp: Int64 = 0

private func noteLatency() {
    latencies[count] = bench_now() - stamp
    count += 1
    if count >= bench.n { bench.stop() }
}
