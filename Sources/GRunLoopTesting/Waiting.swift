// SPDX-License-Identifier: Apache-2.0
// Lets a test on the main actor wait for a stage of the main loop.

import CGRunTesting
import Dispatch
import GRunLoop

/// Resumes a continuation once, by the event that comes first.
@MainActor private final class FirstOf {
    private var continuation: CheckedContinuation<Bool, Never>?
    private var observer: GRunLoop.Observer?

    init(_ continuation: CheckedContinuation<Bool, Never>) { self.continuation = continuation }

    func observe(_ activities: GRunLoop.Activity, _ body: @escaping @MainActor (GRunLoop.Activity) -> Bool?) {
        // The observer keeps this object until it is invalidated.
        let observer = GRunLoop.Observer(activities: activities, order: .max) { @MainActor _, activity in
            if let result = body(activity) { self.finish(result) }
        }
        self.observer = observer
        GRunLoop.main.add(observer, forMode: .common)
    }

    func finish(_ result: Bool) {
        observer?.invalidate()
        observer = nil
        continuation?.resume(returning: result)
        continuation = nil
    }
}

/// Suspends until the main loop has nothing to do and is about to sleep, and no other thread of the process runs. A job
/// that was resumed on another thread has then come back to the main actor, or waits for something else. Threads of
/// other tests may run all the time, so they are not waited for any longer than until `patience`.
///
/// Returns false if the main loop is still busy at `end`.
@MainActor func mainLoopSettles(before end: ContinuousClock.Instant, patience: ContinuousClock.Instant) async -> Bool {
    let loop = GRunLoop.main
    return await withCheckedContinuation { continuation in
        let first = FirstOf(continuation)
        first.observe([.beforeTimers, .beforeWaiting]) { activity in
            let now = ContinuousClock.now
            if activity == .beforeTimers { return now >= end ? false : nil }
            if loop.hasReadyWork { return nil }
            guard cgrun_testing_other_threads_sleep() || now >= patience else {
                loop.wakeUp()
                return nil
            }
            // A thread may have enqueued a job before it fell asleep.
            return loop.hasReadyWork ? nil : true
        }
    }
}

/// Suspends until an event has woken the main loop, 10 ms at most.
@MainActor func mainLoopWakes() async {
    _ = await withCheckedContinuation { continuation in
        let first = FirstOf(continuation)
        first.observe(.afterWaiting) { _ in true }
        DispatchQueue.main.asyncAfter(deadline: .now() + .milliseconds(10)) { first.finish(false) }
    }
}
