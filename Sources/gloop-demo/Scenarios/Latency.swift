// SPDX-License-Identifier: Apache-2.0
// Scenario latency: the time from DispatchQueue.main.async to the start of the block, compared with polling.

import Dispatch
import GRunLoop
import Glibc

/// Without this library, programs with a foreign main loop poll: a timeout runs the run loop for one pass every 50 ms.
/// In this library the main queue is an item of the loop. So the loop sleeps until the main queue has a block.
enum Latency {
    static let scenario = Scenario(
        "latency", "The time from DispatchQueue.main.async to the block, with events and with a 50 ms poll.",
        expected: """
            GRunLoop       | every block ran | median under 2 ms     | 0 wake-ups while idle
            50 ms tickler  | every block ran | median at least 10 ms | at least 3 wake-ups while idle
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let ours = Series(
            name: "GRunLoop", of: measure(samples: 400, longestPause: 2_000) { until in Host.iterate(until: until) })
        let ourWakeUps = wakeUps(while: { until in Host.iterate(until: until) })
        let tickler = try Tickler()
        let theirs = Series(
            name: "50 ms tickler", of: measure(samples: 48, longestPause: 50_000, drive: tickler.iterate))
        let before = tickler.ticks
        tickler.iterate(for: idleTime)
        let theirWakeUps = tickler.ticks - before

        log.line(
            ours.name, verdict(ours, of: 400), ours.quantile(0.5) < 2_000_000 ? "median under 2 ms" : "median too long",
            "\(ourWakeUps) wake-ups while idle")
        log.line(
            theirs.name, verdict(theirs, of: 48),
            theirs.quantile(0.5) >= 10_000_000 ? "median at least 10 ms" : "median too short",
            theirWakeUps >= 3 ? "at least 3 wake-ups while idle" : "\(theirWakeUps) wake-ups while idle")
        for series in [ours, theirs] {
            log.note("\(series.title), \(series.values.count) samples")
            for row in series.histogram { log.note(row) }
        }
        if let path = log.plotPath {
            try Plot(series: [ours, theirs]).write(to: path)
            log.note("drawn in \(path)")
        }
    }

    private static func verdict(_ series: Series, of count: Int) -> String {
        series.values.count == count ? "every block ran" : "\(series.values.count) blocks ran"
    }

    // MARK: Measuring

    private static let idleTime = Duration.milliseconds(300)

    /// Another thread enqueues blocks one after another, with pauses in between. The pauses are spread evenly up to the
    /// longest one, in random order, and are in microseconds. The calling thread drives the main loop.
    private static func measure(
        samples: Int, longestPause: Int, drive: (() -> Bool) -> Void
    ) -> [Int64] {
        let latencies = Shared<[Int64]>([])
        let hasEnded = Shared(false)
        let worker = WorkerThread {
            let done = DispatchSemaphore(value: 0)
            for number in (0..<samples).shuffled() {
                usleep(UInt32(longestPause * number / samples))
                let start = GRunLoop.now
                DispatchQueue.main.async {
                    let latency = start.duration(to: GRunLoop.now).nanoseconds
                    latencies.update { $0.append(latency) }
                    done.signal()
                }
                done.wait()
            }
            DispatchQueue.main.async { hasEnded.value = true }
        }
        drive { hasEnded.value }
        worker.join()
        return latencies.value
    }

    /// How often the main loop wakes up in 300 ms without work. The wake-up at the end of the 300 ms does not count.
    private static func wakeUps(while drive: (() -> Bool) -> Void) -> Int {
        let count = Shared(0)
        let hasEnded = Shared(false)
        let observer = GRunLoop.Observer(activities: .afterWaiting) { _, _ in count.increment() }
        GRunLoop.main.add(observer, forMode: .default)
        defer { observer.invalidate() }
        let timer = GRunLoop.Timer(interval: idleTime, repeats: false) { _ in hasEnded.value = true }
        GRunLoop.main.add(timer, forMode: .default)
        drive { hasEnded.value }
        return count.value - 1
    }
}

/// The usual workaround: a timeout runs our loop every 50 ms. The timeout is in a separate context, because iterations
/// of the default context would drive our loop.
private final class Tickler {
    private(set) var ticks = 0
    private let host: PrivateHost

    init() throws {
        host = try PrivateHost()
    }

    func iterate(until condition: () -> Bool) {
        let timeout = host.addTimeout(milliseconds: 50) { [self] in
            ticks += 1
            GRunLoop.main.run(for: .zero)
        }
        defer { host.remove(timeout) }
        while !condition() { host.iterate() }
    }

    func iterate(for span: Duration) {
        let end = GRunLoop.now.advanced(by: span)
        iterate { GRunLoop.now >= end }
    }
}
