// SPDX-License-Identifier: Apache-2.0
// Scenario main-queue: the main run loop serves DispatchQueue.main and the main actor.

import Dispatch
import GRunLoop

/// The main dispatch queue is an item of the main loop (item 184). In each pass the loop runs the blocks that are in
/// the queue at that moment (item 186). `DispatchQueue.main.sync` completes (item 191). The main actor uses the main
/// dispatch queue, so its tasks run and can call `Task.sleep`. `MainActor.assumeIsolated` succeeds inside a callout of
/// the main loop. The closures of items may be marked `@MainActor`. A private mode does not serve the queue (item 185).
/// A run that is nested in one of the queue's blocks does not serve the queue either (item 188).
enum MainQueue {
    static let scenario = Scenario(
        "main-queue", "The main loop serves DispatchQueue.main and @MainActor without polling.",
        expected: """
            async from a worker | runs on the main thread
            async from a block  | runs on the main thread | in a later pass
            sync from a worker  | runs on the main thread | answers 42
            @MainActor task     | runs on the main thread
            after Task.sleep    | runs on the main thread | at least 10 ms later
            timer callout       | MainActor.assumeIsolated holds
            @MainActor timer    | calls a function of the main actor
            default mode        | returned stopped
            private mode        | returned timedOut       | the block has not run
            default mode        | returned handledSource  | the block has run
            run in a block      | returned finished       | the queue is not served in it
            default mode        | returned handledSource
            afterwards          | the other block has run
            """, body: run)

    private static func run(_ log: Recorder) {
        serveThreadsAndTasks(GRunLoop.main, log)
        leaveOutPrivateModes(GRunLoop.main, log)
        leaveOutRunsInsideBlocks(GRunLoop.main, log)
    }

    // MARK: Where the queue is served

    private static func serveThreadsAndTasks(_ loop: GRunLoop, _ log: Recorder) {
        let passes = Shared(0)
        let observer = GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() }
        loop.add(observer, forMode: .default)
        defer { observer.invalidate() }

        let worker = WorkerThread {
            dispatch(passes, log)
            startTask(loop, log)
        }
        let result = loop.run(for: .patience)
        log.line("default mode", "returned \(result)")
        worker.join()
    }

    private static func dispatch(_ passes: Shared<Int>, _ log: Recorder) {
        let isDone = DispatchSemaphore(value: 0)
        DispatchQueue.main.async {
            let pass = passes.value
            log.line("async from a worker", "runs on \(threadName)")
            DispatchQueue.main.async {
                let when = passes.value > pass ? "in a later pass" : "in the same pass"
                log.line("async from a block", "runs on \(threadName)", when)
                isDone.signal()
            }
        }
        isDone.wait()
        let (name, answer) = DispatchQueue.main.sync { (threadName, 6 * 7) }
        log.line("sync from a worker", "runs on \(name)", "answers \(answer)")
    }

    /// The task runs on the main actor. While the task sleeps, the loop continues.
    private static func startTask(_ loop: GRunLoop, _ log: Recorder) {
        Task { @MainActor in
            log.line("@MainActor task", "runs on \(threadName)")
            let start = GRunLoop.now
            try? await Task.sleep(for: .milliseconds(10))
            let slept = start.duration(to: GRunLoop.now)
            log.line(
                "after Task.sleep", "runs on \(threadName)",
                slept >= .milliseconds(10) ? "at least 10 ms later" : "early")
            log.note("Task.sleep(for: 10 ms) took \(milliseconds(slept))")
            addTimers(to: loop, log)
        }
    }

    private static func addTimers(to loop: GRunLoop, _ log: Recorder) {
        let now = GRunLoop.now
        let assuming = GRunLoop.Timer(fireAt: now) { _ in
            // If this callout were not isolated to the main actor, assumeIsolated would end the program.
            MainActor.assumeIsolated { log.line("timer callout", "MainActor.assumeIsolated holds") }
        }
        let isolated = GRunLoop.Timer(fireAt: now.advanced(by: .milliseconds(1))) { @MainActor _ in finish(loop, log) }
        for timer in [assuming, isolated] { loop.add(timer, forMode: .default) }
    }

    @MainActor private static func finish(_ loop: GRunLoop, _ log: Recorder) {
        log.line("@MainActor timer", "calls a function of the main actor")
        loop.stop()
    }

    // MARK: Where the queue is not served

    private static func leaveOutPrivateModes(_ loop: GRunLoop, _ log: Recorder) {
        let privateMode: GRunLoop.Mode = "main-queue"
        let idle = GRunLoop.Source {}
        loop.add(idle, forMode: privateMode)
        defer { idle.invalidate() }

        let hasRun = Shared(false)
        DispatchQueue.main.async { hasRun.value = true }
        var result = loop.run(mode: privateMode, for: .milliseconds(10))
        log.line("private mode", "returned \(result)", hasRun.value ? "the block has run" : "the block has not run")
        result = loop.run(for: .patience, returningAfterSourceHandled: true)
        log.line("default mode", "returned \(result)", hasRun.value ? "the block has run" : "the block has not run")
    }

    private static func leaveOutRunsInsideBlocks(_ loop: GRunLoop, _ log: Recorder) {
        let otherHasRun = Shared(false)
        DispatchQueue.main.async {
            DispatchQueue.main.async { otherHasRun.value = true }
            // The default mode has no other item now, and the queue does not count inside its own block. So the run
            // finishes immediately.
            let result = GRunLoop.main.run(for: .patience)
            log.line(
                "run in a block", "returned \(result)", "the queue is \(otherHasRun.value ? "" : "not ")served in it")
        }
        let result = loop.run(for: .patience, returningAfterSourceHandled: true)
        log.line("default mode", "returned \(result)")
        loop.run(for: .patience, returningAfterSourceHandled: true)
        log.line("afterwards", "the other block has \(otherHasRun.value ? "" : "not ")run")
    }

    private static var threadName: String { isMainThread ? "the main thread" : "another thread" }
}
