// SPDX-License-Identifier: Apache-2.0
// Scenario flag-wait: the main thread waits for a worker and stays responsive.

import GRunLoop

/// `while !isDone { run(mode:before:) }` waits for a worker. During this wait, the loop still serves timers, sources
/// and the user's events. A run returns after a handled source, but not after a timer (items 28 and 205). So if the
/// worker only sets the flag `isDone`, the main thread does not check the flag until a source is handled (item 237). If
/// the worker performs a closure on the main loop to set the flag, the run returns and the flag is checked immediately.
enum FlagWait {
    static let scenario = Scenario(
        "flag-wait", "Waiting for a worker in run(mode:before:) while the loop goes on.",
        expected: """
            main    | waits for the flag
            main    | is responsive: the timer ticks 3 times while it waits
            worker  | sets the flag by itself
            worker  | the main thread has not noticed, three ticks later
            worker  | has something performed on the main loop
            main    | performs it
            main    | has seen the flag after 1 run
            main    | waits for the flag
            worker  | sets the flag on the main loop
            main    | has seen the flag after 1 run
            """, body: run)

    private static let mode: GRunLoop.Mode = "flag-wait"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let ticks = Shared(0)
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { _ in ticks.increment() }
        loop.add(timer, forMode: mode)
        defer { timer.invalidate() }

        waitForFlag(loop, log) { flag in
            let isAlive = wait { ticks.value >= 3 }
            log.line(
                "main", isAlive ? "is responsive: the timer ticks 3 times while it waits" : "is frozen while it waits")
            log.line("worker", "sets the flag by itself")
            flag.value = true
            let seen = ticks.value
            let isWaitingOn = wait { ticks.value >= seen + 3 }
            log.line(
                "worker", "the main thread \(isWaitingOn ? "has not noticed, three ticks later" : "waits no more")")
            log.line("worker", "has something performed on the main loop")
            try? loop.performOnThread(inModes: [mode]) { log.line("main", "performs it") }
        }
        waitForFlag(loop, log) { flag in
            log.line("worker", "sets the flag on the main loop")
            try? loop.performOnThread(inModes: [mode]) { flag.value = true }
        }
    }

    private static func waitForFlag(
        _ loop: GRunLoop, _ log: Recorder, _ work: @escaping @Sendable (Shared<Bool>) -> Void
    ) {
        let isDone = Shared(false)
        log.line("main", "waits for the flag")
        let worker = WorkerThread { work(isDone) }
        var runs = 0
        let limit = GRunLoop.now.advanced(by: .patience)
        while !isDone.value, GRunLoop.now < limit {
            loop.run(mode: mode, before: limit)
            runs += 1
        }
        log.line("main", isDone.value ? "has seen the flag after \(runs) run" : "has not seen the flag")
        worker.join()
    }
}
