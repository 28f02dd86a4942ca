// SPDX-License-Identifier: Apache-2.0
// The jobs of a loop that is ending or has ended. They must run, because Swift's runtime has no way to refuse them.

import Glibc
import Synchronization

extension JobQueue {
    // MARK: On the ending thread

    /// Runs the jobs that are left, and the jobs that these enqueue.
    func runRemaining() {
        // The rounds are limited, because a task that enqueues itself forever would keep its thread from ending.
        var rounds = 0
        while rounds < 10_000, runAll() { rounds += 1 }
    }

    /// Makes all later jobs late jobs. This is the thread's last use of the queue. From here on the jobs run one at a
    /// time, in their order, on Swift's thread pool. They must not begin earlier, because the ending thread may still
    /// be on their actors.
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

    /// Starts a task that runs the late jobs. Call it when `isScheduled` has become true, so that only one task at a
    /// time runs late jobs.
    func startLateJobs() {
        Task.detached { [self] in
            // The loops of a second copy of the library never run. The actors of its main loop must not run beside the
            // main thread, so their tasks stay suspended.
            if OneCopy.other != nil { return OneCopy.explain("Executor") }
            logLateJobs()
            while runLateJobs() { await Task.yield() }
        }
    }

    /// Runs the late jobs that are queued. It is not inlined: libc promises that `pthread_self()` is constant, so in an
    /// async function the compiler would use the thread from before a suspension.
    @inline(never) private func runLateJobs() -> Bool {
        lateThread.store(pthread_self(), ordering: .relaxed)
        // Another thread may have stored its own id, because it has begun to run jobs that came since then.
        defer { _ = lateThread.compareExchange(expected: pthread_self(), desired: 0, ordering: .relaxed) }
        return runAll()
    }

    /// Logs the first late job of the loop. ``append(_:_:for:)`` cannot do that, because the runtime may hold a lock
    /// there.
    private func logLateJobs() {
        let first = lock.withLock { () -> Entry? in
            guard !hasLateJobs else { return nil }
            hasLateJobs = true
            return firstLocked
        }
        guard let first else { return }
        let label = (first.executor as? GRunLoop.Executor)?.label.map { " for \($0)" } ?? ""
        Log.warning(
            "\(loopName) has ended with its thread, and a job\(label) came too late: this job and later ones run on "
                + "Swift's thread pool, one at a time. End the actors and tasks of a loop before its thread, or end "
                + "the thread by stopAndWait(). Logged once for each loop")
    }
}
