// SPDX-License-Identifier: Apache-2.0
// Blocks: one that enqueues itself, many at once, from another thread; two loops that answer each other; how soon a sleeping loop is awake.

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
        nonisolated(unsafe) var other: GRunLoop?
        nonisolated(unsafe) var sources: (here: GRunLoop.Source?, there: GRunLoop.Source?)
        sources.here = GRunLoop.Source {
            count += 1
            if count >= n {
                other?.stop()
                return stop()
            }
            sources.there?.signal()
            other?.wakeUp()
        }
        sources.there = GRunLoop.Source {
            sources.here?.signal()
            loop.wakeUp()
        }
        guard let here = sources.here, let there = sources.there else { return }
        loop.add(here, forMode: .default)
        onOtherThread { bench in
            let loop = GRunLoop.current
            other = loop
            loop.add(there, forMode: .default)
            // It must sleep before the first ball comes.
            loop.perform { left = 0 }
            loop.runUntilStopped()
            _ = bench
        }
        while left != 0 || other?.isWaiting != true { bench_sleep_microseconds(1000) }
        let cpu = bench_cpu()
        let time = measure {
            there.signal()
            other?.wakeUp()
            drive()
        }
        report(time, "cpu_ns:\(shown(Double(bench_cpu() - cpu) / Double(n)))")
        bench_join()
    }

    func wakeLatency() {
        keepAlive()
        let latencies = UnsafeMutablePointer<Int64>.allocate(capacity: n)
        nonisolated(unsafe) let times = latencies
        onOtherThread { bench in
            for number in 0..<bench.n {
                bench_sleep_microseconds(1000)
                let stamp = bench_now()
                bench.loop.async {
                    times[count] = bench_now() - stamp
                    count += 1
                    if count >= bench.n { bench.stop() }
                }
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

    /// A mode is finished when nothing waits in it. As in the peers, nothing has a date: a sleep that may end by itself arms a timer of the
    /// kernel's.
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

/// What is still to come.
nonisolated(unsafe) var left = 0

private func countDown() {
    left -= 1
    if left == 0 { bench.stop() }
}

// The block captures a number, as those of the peers do, so that there is a piece of memory for each; everything else is global.
private func postAgain() {
    count += 1
    guard count < bench.n else { return bench.stop() }
    let number = count
    benchLoop._withUnsafeGuaranteedRef { loop in loop.async { if number >= 0 { postAgain() } } }
}
