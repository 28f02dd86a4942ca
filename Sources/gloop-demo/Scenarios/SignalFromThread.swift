// SPDX-License-Identifier: Apache-2.0
// Scenario signal-from-thread: another thread gives work to a sleeping loop.

import GRunLoop

/// Signalling a source does not wake a sleeping loop (item 74), but `wakeUp()` does (item 67). If a source is signalled
/// several times before the loop services it, its closure is called only one time (item 88). `performAndWait` enqueues
/// a closure, wakes the loop, waits, and returns the closure's result (items 229 and 230). A stop from another thread
/// ends the run immediately (item 64).
enum SignalFromThread {
    static let scenario = Scenario(
        "signal-from-thread", "Another thread signals a source of a sleeping loop, wakes it, and runs code there.",
        expected: """
            loop    | sleeps
            worker  | signals the source three times
            worker  | nothing happens: the loop sleeps on, the source is signalled
            worker  | wakes the loop
            loop    | wakes up
            loop    | the source performs
            loop    | sleeps
            worker  | asks for the sum of 2 and 3
            loop    | wakes up
            loop    | computes it on the main thread
            worker  | the answer is 5
            worker  | the source has performed 1 time
            worker  | stops the loop
            loop    | the run returned stopped
            """, body: run)

    private static let mode: GRunLoop.Mode = "signal-from-thread"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let performs = Shared(0)
        let source = GRunLoop.Source {
            performs.increment()
            log.line("loop", "the source performs")
        }
        loop.add(source, forMode: mode)
        defer { source.invalidate() }

        let (sleeps, wakeUps) = (Shared(0), Shared(0))
        let observer = GRunLoop.Observer(activities: [.beforeWaiting, .afterWaiting]) { _, activity in
            log.line("loop", activity == .beforeWaiting ? "sleeps" : "wakes up")
            (activity == .beforeWaiting ? sleeps : wakeUps).increment()
        }
        loop.add(observer, forMode: mode)
        defer { observer.invalidate() }

        let worker = WorkerThread {
            signal(source, of: loop, wakeUps, log)
            _ = wait { sleeps.value == 2 && loop.isWaiting }
            ask(loop, observer, log)
            log.line("worker", "the source has performed \(performs.value) time")
            log.line("worker", "stops the loop")
            loop.stop()
        }
        let result = loop.run(mode: mode, for: .patience)
        log.line("loop", "the run returned \(result)")
        worker.join()
    }

    private static func signal(_ source: GRunLoop.Source, of loop: GRunLoop, _ wakeUps: Shared<Int>, _ log: Recorder) {
        _ = wait { loop.isWaiting }
        log.line("worker", "signals the source three times")
        for _ in 1...3 { source.signal() }
        // The worker checks for 20 ms that the loop does not wake up and that the source stays signalled.
        let woke = wait(within: .milliseconds(20)) { wakeUps.value > 0 || !source.isSignalled }
        if !woke { log.line("worker", "nothing happens: the loop sleeps on, the source is signalled") }
        log.line("worker", "wakes the loop")
        loop.wakeUp()
    }

    private static func ask(_ loop: GRunLoop, _ observer: GRunLoop.Observer, _ log: Recorder) {
        log.line("worker", "asks for the sum of 2 and 3")
        do {
            let sum = try loop.performAndWait(inModes: [mode]) {
                log.line("loop", "computes it on \(isMainThread ? "the main" : "another") thread")
                // From here on, the worker and the loop run concurrently, so the order of the loop's sleeps and the
                // worker's actions is not certain. So the observer must write no more lines.
                observer.invalidate()
                return 2 + 3
            }
            log.line("worker", "the answer is \(sum)")
        } catch {
            log.line("worker", "no answer: \(error)")
        }
    }
}
