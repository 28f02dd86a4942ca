// SPDX-License-Identifier: Apache-2.0
// A task executor with one new thread. A test's body runs there as part of its task.

import GRunLoop
import Glibc

final class ThreadExecutor: TaskExecutor, @unchecked Sendable {
    private let monitor = Monitor()
    private var jobs: [UnownedJob] = []
    private var isEnding = false
    private var thread = pthread_t()

    init(name: String) {
        thread = startThread { [self] in
            System.nameThread(name)
            while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        monitor.change { jobs.append(job) }
    }

    /// Calls `body` with the thread's loop. Must be called in synchronous code on the executor's thread.
    func perform<Result>(_ body: (GRunLoop) -> Result) -> Result {
        precondition(pthread_equal(pthread_self(), thread) != 0, "the test's body is not on its own thread")
        return body(GRunLoop.current)
    }

    /// Lets the thread end when it has nothing left to run, and waits for its destructors.
    func endAndJoin() {
        monitor.change { isEnding = true }
        pthread_join(thread, nil)
    }

    private func next() -> UnownedJob? {
        while true {
            if let job = monitor.change({ jobs.isEmpty ? nil : jobs.removeFirst() }) { return job }
            if monitor.read({ isEnding && jobs.isEmpty }) { return nil }
            _ = monitor.wait(.seconds(3600)) { !jobs.isEmpty || isEnding }
        }
    }
}

/// Limits the number of test bodies that run at the same time, because too many would delay each other.
actor Turns {
    static let shared = Turns(count: 3)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(count: Int) { free = count }

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func giveBack() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
