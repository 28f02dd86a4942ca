// SPDX-License-Identifier: Apache-2.0
// Scenario keep-alive-thread: a thread that lives as long as there is an item in its run loop.

import GRunLoop
import Glibc

/// AFNetworking's network thread adds a source that is never signalled, and then runs its loop (item 272). Without the
/// source the mode is empty, and the run ends immediately (items 203 and 245). Other threads give the thread work with
/// `performOnThread`. `run(until:)` starts one run after another until the default mode is empty, so `stop()` ends only
/// one of these runs (item 209). If other threads must be able to stop the thread, it must check a flag between two
/// runs. While there is no work, the thread makes no passes and uses no processor time.
enum KeepAliveThread {
    static let scenario = Scenario(
        "keep-alive-thread", "A thread that a source keeps alive, idle until other threads give it work.",
        expected: """
            thread   | run(until:) with nothing to wait for returned at once
            thread   | adds a source, runs
            main     | performs on the thread
            thread   | performs 1
            thread   | performs 2
            idle     | 0 wake-ups, under 1 ms of processor time
            main     | stop() ends only one run of run(until:)
            thread   | performs 3, removes the source
            thread   | run(until:) returned
            stoppable thread | runs while it is not told to stop
            stoppable thread | performs, is told to stop
            stoppable thread | returned
            """, body: run)

    private static func run(_ log: Recorder) throws {
        try keepAlive(log)
        try keepStoppable(log)
    }

    private static func keepAlive(_ log: Recorder) throws {
        let keepAlive = GRunLoop.Source {}
        let (wakeUps, runs) = (Shared(0), Shared(0))
        let cpuClock = Shared(clockid_t())
        let thread = LoopThread { loop in
            // This run returns immediately, because the mode is empty.
            loop.run(until: GRunLoop.distantFuture)
            log.line("thread", "run(until:) with nothing to wait for returned at once")

            loop.add(keepAlive, forMode: .default)
            loop.add(GRunLoop.Observer(activities: .afterWaiting) { _, _ in wakeUps.increment() }, forMode: .default)
            loop.add(GRunLoop.Observer(activities: .entry) { _, _ in runs.increment() }, forMode: .default)
            var clock = clockid_t()
            pthread_getcpuclockid(pthread_self(), &clock)
            cpuClock.value = clock
            log.line("thread", "adds a source, runs")
            loop.run(until: GRunLoop.distantFuture)
            log.line("thread", "run(until:) returned")
        }
        let loop = thread.loop
        _ = wait { loop.isWaiting }

        log.line("main", "performs on the thread")
        try loop.performOnThread { log.line("thread", "performs 1") }
        try loop.performAndWait { log.line("thread", "performs 2") }
        _ = wait { loop.isWaiting }

        idle(wakeUps, cpuClock.value, log)
        let before = runs.value
        loop.stop()
        let runsAgain = wait { runs.value > before && loop.isWaiting }
        log.line("main", "stop() \(runsAgain ? "ends only one run of run(until:)" : "has ended run(until:)")")
        try loop.performAndWait {
            log.line("thread", "performs 3, removes the source")
            loop.remove(keepAlive, forMode: .default)
        }
        thread.join()
    }

    /// Counts the thread's wake-ups in 30 ms without work. A late wake-up from before may also be counted. So if the
    /// count is not zero, this function repeats the measurement, up to five times in all.
    private static func idle(_ wakeUps: Shared<Int>, _ clock: clockid_t, _ log: Recorder) {
        var count = 0
        var used = Duration.zero
        for _ in 1...5 {
            let (before, start) = (wakeUps.value, processorTime(clock))
            linger(until: GRunLoop.now.advanced(by: .milliseconds(30)))
            (count, used) = (wakeUps.value - before, processorTime(clock) - start)
            if count == 0 { break }
        }
        log.line("idle", "\(count) wake-ups, \(used < .milliseconds(1) ? "under" : "over") 1 ms of processor time")
        log.note("\(used.nanoseconds / 1000) us of processor time in 30 ms")
    }

    private static func processorTime(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private static func keepStoppable(_ log: Recorder) throws {
        let isStopped = Shared(false)
        let thread = LoopThread { loop in
            loop.add(GRunLoop.Source {}, forMode: .default)
            log.line("stoppable thread", "runs while it is not told to stop")
            while !isStopped.value, loop.run(mode: .default, before: GRunLoop.distantFuture) {}
            log.line("stoppable thread", "returned")
        }
        _ = wait { thread.loop.isWaiting }
        // A perform counts as a handled source. So run(mode:before:) returns, and the thread checks the flag.
        try thread.loop.performOnThread {
            log.line("stoppable thread", "performs, is told to stop")
            isStopped.value = true
        }
        thread.join()
    }
}
