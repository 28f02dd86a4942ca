// SPDX-License-Identifier: Apache-2.0
// Lets a test on the main actor wait for a stage of the main loop.

import CGRunTesting
import Dispatch
import GRunLoop
import Glibc

/// How long a test waits until the process's other threads sleep. Threads of other tests may run all the time.
let limitForThreads = Duration.milliseconds(500)

/// How long a test waits for the main loop if the test cannot choose the limit.
let limitForLoop = Duration.seconds(10)

/// Wakes the main loop every 10 ms, for a test that waits for a change that does not wake the loop.
@MainActor struct Ticker {
    private let timer = DispatchSource.makeTimerSource(queue: .main)

    init() {
        timer.setEventHandler {}
        timer.schedule(deadline: .now() + .milliseconds(10), repeating: .milliseconds(10))
        timer.activate()
    }

    func cancel() { timer.cancel() }
}

/// Suspends until the main loop reaches one of the activities and the closure then returns a result.
@MainActor private func mainLoop<Result: Sendable>(
    does activities: GRunLoop.Activity, _ body: @escaping @MainActor (GRunLoop.Activity) -> Result?
) async -> Result {
    await withCheckedContinuation { continuation in
        // This observer is called after the observers of the program, because these may make an item ready.
        let observer = GRunLoop.Observer(activities: activities, order: .max) { @MainActor observer, activity in
            guard let result = body(activity) else { return }
            observer.invalidate()
            continuation.resume(returning: result)
        }
        GRunLoop.main.add(observer, forMode: .common)
    }
}

/// Suspends until the main loop has no work and is about to sleep, and no other thread of the process runs. By then, a
/// task that was resumed on another thread has returned to the main actor, or waits for another event. A thread that
/// still runs at `threadsBefore` is ignored until it waits.
///
/// Returns false if the main loop is still busy at `end`.
@MainActor func mainLoopSettles(
    before end: ContinuousClock.Instant, threadsBefore: ContinuousClock.Instant
) async -> Bool {
    let loop = GRunLoop.main
    return await mainLoop(does: [.beforeTimers, .beforeWaiting]) { activity in
        let now = ContinuousClock.now
        if activity == .beforeTimers { return now >= end ? false : nil }
        if loop.hasReadyWork { return nil }
        if !cgrun_testing_other_threads_sleep() {
            guard now >= threadsBefore else {
                // Sleeps briefly, so that the running threads get the processor.
                usleep(100)
                loop.wakeUp()
                return nil
            }
            cgrun_testing_ignore_running_threads()
        }
        // A thread may have enqueued a job before it fell asleep.
        return loop.hasReadyWork ? nil : true
    }
}

/// Suspends until an event has woken the main loop. A ``Ticker`` limits the wait.
@MainActor func mainLoopWakes() async {
    await mainLoop(does: .afterWaiting) { _ in () }
}
