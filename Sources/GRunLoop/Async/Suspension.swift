// SPDX-License-Identifier: Apache-2.0
// Suspends and resumes a task without a visit to Swift's thread pool.

/// The job of a suspended task, and the loop on which the task lives.
struct SuspendedJob {
    private let job: UnownedJob
    private let home: JobQueue?

    /// Call it on the thread on which the task is suspended.
    init(_ job: UnownedJob) {
        self.job = job
        home = JobQueue.current
    }

    /// Runs the job on the calling thread. The job takes what it has waited for, and the task goes on where it lives.
    func run(on executor: any SerialExecutor) { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }

    /// Runs the job on the thread of the task's loop; on the thread pool if the task lives on no loop. It is for the
    /// thread that cancels the task. This thread must not run the job, because the runtime has locked the task's list
    /// of handlers.
    func enqueue(for executor: any SerialExecutor) {
        if let home {
            home.append(job, .actor, for: executor)
        } else {
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }
}

/// Suspends one task until ``resume(_:isCancelled:)``, as a continuation does. A continuation resumes an actor's task
/// on the thread pool first; from there the task comes back too late if its loop ends meanwhile.
///
/// A suspension is an actor and its own executor, as a ``Mailbox`` is: it keeps the job of the suspended task.
actor Suspension<Value: Sendable>: SerialExecutor {
    private nonisolated let lock = Lock.take()
    // Guarded by the lock.
    private nonisolated(unsafe) var result: Value?
    private nonisolated(unsafe) var suspended: SuspendedJob?

    deinit {
        Lock.giveBack(lock)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    /// The value, if the task has been resumed already.
    nonisolated var known: Value? { lock.withLock { result } }

    /// Waits for the value. Call it once.
    func value() -> Value {
        guard let result = known else { Log.fatal("a task was resumed, and nobody has given it a value") }
        return result
    }

    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = SuspendedJob(UnownedJob(job))
        let isReady = lock.withLock {
            if result == nil { suspended = job }
            return result != nil
        }
        if isReady { job.run(on: self) }
    }

    /// Gives the task its value, and resumes it. Call it once; the call may come before the task waits. Any thread,
    /// without a lock.
    ///
    /// - Parameter isCancelled: whether a cancellation handler calls it.
    nonisolated func resume(_ value: Value, isCancelled: Bool = false) {
        let job = lock.withLock {
            result = value
            return suspended.take()
        }
        if isCancelled { job?.enqueue(for: self) } else { job?.run(on: self) }
    }
}
