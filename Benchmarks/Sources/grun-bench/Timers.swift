// SPDX-License-Identifier: Apache-2.0
// Timers: added and removed, fired, idle; a tick per second; memory.

import BenchSupport
import GRunLoop
import Glibc

extension Bench {
    /// Spans within the second hour from now.
    private var farSpans: [Duration] {
        (0..<n).map { _ in .nanoseconds(Int64(bench_random() % 3_600_000_000_000)) + .seconds(3600) }
    }

    func timersCreate() {
        let spans = farSpans
        var timers: [GRunLoop.Timer] = []
        timers.reserveCapacity(n)
        let (heap, resident) = (bench_heap(), bench_resident())
        let adding = measure {
            for index in 0..<n {
                let timer = GRunLoop.Timer(interval: spans[index], repeats: false) { _ in count &+= index }
                loop.add(timer, forMode: .default)
                timers.append(timer)
            }
        }
        let (heapAfter, residentAfter) = (bench_heap(), bench_resident())
        if caseName == "mem-timers" {
            let bytes = Double(heapAfter - heap) / Double(n)
            return report(
                bytes, "bytes_heap:\(shown(bytes)),bytes_rss:\(shown(Double(residentAfter - resident) / Double(n)))")
        }
        let cancelling = measure {
            for timer in timers { timer.invalidate() }
            timers.removeAll()
        }
        report(adding, as: "timers-create-add")
        report(cancelling, as: "timers-create-cancel")
    }

    /// As for timers, with closures that no object holds.
    func performsCreate() {
        let spans = farSpans
        var performs: [GRunLoop.DelayedPerform] = []
        performs.reserveCapacity(n)
        let heap = bench_heap()
        let adding = measure {
            for index in 0..<n { performs.append(loop.perform(after: spans[index]) { count &+= index }) }
        }
        let bytes = Double(bench_heap() - heap) / Double(n)
        if caseName == "mem-performs" { return report(bytes, "bytes_heap:\(shown(bytes))") }
        let cancelling = measure {
            for perform in performs { perform.cancel() }
            performs.removeAll()
        }
        report(adding, as: "performs-create-add")
        report(cancelling, as: "performs-create-cancel")
    }

    /// All performs are due together, in the order of random dates. Adding them is not measured.
    func performsDue() {
        for _ in 0..<n {
            loop.perform(after: .nanoseconds(Int64(bench_random() % 10_000_000))) {
                count += 1
                if count >= bench.n { bench.stop() }
            }
        }
        usleep(10_000)
        report(measure(drive))
    }

    /// Deadlines spread over 50 ms.
    func timersFire(tolerance: Duration = .zero) {
        latencies = .allocate(capacity: n)
        let offset = bench_now() + 100_000_000 + Int64(n) * 1000
        // The same time as an instant of the loop's clock.
        let start = SuspendingClock().systemEpoch + .nanoseconds(offset)
        for _ in 0..<n {
            let delay = Int64(bench_random() % 50_000_000)
            let date = offset + delay
            let timer = GRunLoop.Timer(fireAt: start + .nanoseconds(delay), tolerance: tolerance) { _ in
                latencies[count] = bench_now() - date
                count += 1
                if count >= bench.n { bench.stop() }
            }
            loop.add(timer, forMode: .default)
        }
        let cpu = bench_cpu()
        drive()
        bench_report_lateness(caseName, n, bench_cpu() - cpu, latencies)
    }

    /// All timers are due together. Making them is not measured.
    func timersDue() {
        let date = GRunLoop.now
        for _ in 0..<n {
            loop.add(
                GRunLoop.Timer(fireAt: date) { _ in
                    count += 1
                    if count >= n { stop() }
                }, forMode: .default)
        }
        report(measure(drive))
    }

    /// The cost of a pass beside `n` timers that are far away.
    func timersIdleTax() {
        for _ in 0..<n {
            let far = Duration.seconds(3600 + Int(bench_random() % 3600))
            loop.add(GRunLoop.Timer(interval: far, repeats: false) { _ in }, forMode: .default)
        }
        bench_begin_steps()
        loop.async(postStep)
        drive()
        report(bench_step_time(), "passes:\(bench_steps())")
    }

    /// Measures ticks after a first one, in which a program touches most of its code and memory for the first time.
    func idleWakeUps() {
        nonisolated(unsafe) var cpu: Int64 = 0
        loop.add(
            GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in
                if count == 0 { cpu = bench_cpu() }
                count += 1
                if count > n { stop() }
            }, forMode: .default)
        drive()
        report(Double(bench_cpu() - cpu) / Double(n), "cpu_ns_per_tick")
    }

    func runNoWait() {
        // As in GLib, each pass checks whether the timer is due.
        loop.add(GRunLoop.Timer(interval: .seconds(3600), repeats: true) { _ in }, forMode: .default)
        lookAgain()
    }

    func runNoWaitObserved() {
        loop.add(GRunLoop.Observer(activities: .beforeWaiting) { _, _ in }, forMode: .default)
        lookAgain()
    }

    func lookAgain() {
        report(
            measure {
                for _ in 0..<n { look() }
            })
    }
}

private func postStep() {
    guard bench_step() else { return bench.stop() }
    let number = count
    benchLoop._withUnsafeGuaranteedRef { loop in loop.async { if number >= 0 { postStep() } } }
}
