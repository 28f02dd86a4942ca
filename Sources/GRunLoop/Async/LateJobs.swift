// SPDX-License-Identifier: Apache-2.0
// The jobs of a loop that is ending or has ended. They must run, because an executor cannot refuse a job.

import Glibc
import Synchronization

extension JobQueue {
    // MARK: On the ending thread

    /// Runs the remaining jobs, and the jobs that these jobs enqueue.
    func runRemaining() {
        // The number of rounds is limited, because a task that enqueues itself again and again must not keep the thread
        // from ending.
        var rounds = 0
        while rounds < 10_000, runAll() { rounds += 1 }
    }

    /// Makes all later jobs late jobs. They run in order, one at a time, on Swift's thread pool. The ending thread must
    /// not use the queue after this call. Late jobs must not start before this call, because the ending thread may
    /// still run code of their actors.
    func handOver(_ loopName: String) {
        let hasJobs = lock.withLock { () -> Bool in
            guard formerLoop == nil else { return false }
            formerLoop = loopName
            isLate.store(true, ordering: .relaxed)
            isScheduled = hasJobsLocked
            return isScheduled
        }
        if hasJobs { startLateJobs() }
    }

    // MARK: After the end

    /// Starts a task that runs the late jobs. Call this function only when `isScheduled` becomes true, so that only one
    /// such task runs.
    func startLateJobs() {
        Task.detached { [self] in
            // A second copy of the library runs no loop. Its jobs stay queued, because actors on its main loop must not
            // run in parallel with the main thread.
            if OneCopy.other != nil { return OneCopy.explain("Executor") }
            logLateJobs()
            while runLateJobs() { await Task.yield() }
        }
    }

    /// Runs the queued late jobs. This function is never inlined, because libc declares `pthread_self()` constant. In
    /// an async function, the compiler could reuse a thread id from before a suspension, but the task may have changed
    /// threads.
    @inline(never) private func runLateJobs() -> Bool {
        lateThread.store(pthread_self(), ordering: .relaxed)
        // Another thread may already run later late jobs and may have stored its own id. That id must stay.
        defer { _ = lateThread.compareExchange(expected: pthread_self(), desired: 0, ordering: .relaxed) }
        return runAll()
    }

    /// Logs the first late job of the loop. ``append(_:_:for:)`` must not log, because Swift's runtime may hold a lock
    /// when it calls that function.
    private func logLateJobs() {
        let first = lock.withLock { () -> Entry? in
            guard !hasLateJobs else { return nil }
            hasLateJobs = true
            return firstLocked
        }
        guard let first else { return }
        let label = (first.executor as? GRunLoop.Executor)?.label.map { " for \($0)" } ?? ""
        Log.warning(
            "\(loopName) has ended with its thread, but a job\(label) still has to run. This job and later ones run on "
                + "Swift's thread pool, one at a time. End the actors and tasks of a loop before its thread, or end "
                + "the thread with stopAndWait(). Logged once for each loop")
    }
}
