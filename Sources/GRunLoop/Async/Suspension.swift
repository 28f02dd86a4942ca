// SPDX-License-Identifier: Apache-2.0
// Suspends a task, and resumes it without Swift's thread pool.

/// The job of a suspended task, and the loop on which the task lives.
package struct SuspendedJob {
    private let job: UnownedJob
    private let home: JobQueue?

    /// Call this initialiser on the thread that suspends the task, because it stores the loop of that thread.
    package init(_ job: UnownedJob) {
        self.job = job
        home = JobQueue.current
    }

    /// Runs the job on the calling thread. The job only takes the awaited value. Then the task continues on its own
    /// executor.
    package func run(on executor: any SerialExecutor) { job.runSynchronously(on: executor.asUnownedSerialExecutor()) }

    /// Enqueues the job on the task's loop, or on the thread pool if the task lives on no loop. This function is for
    /// cancellation handlers. A cancellation handler must not run the job itself, because Swift's runtime holds the
    /// lock of the task's handlers.
    package func enqueue(for executor: any SerialExecutor) {
        if let home {
            home.append(job, .actor, for: executor)
        } else {
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }
}

/// Suspends one task until ``resume(_:isCancelled:)`` is called. With a continuation, an actor's task would first
/// resume on Swift's thread pool. If the actor's loop ended meanwhile, the task would return to the loop too late.
///
/// Like a ``Mailbox``, a suspension is an actor and its own executor, so it can keep the job of the suspended task.
actor Suspension<Value: Sendable>: SerialExecutor {
    private nonisolated let lock = Lock.take()
    // Guarded by the lock.
    private nonisolated(unsafe) var result: Value?
    private nonisolated(unsafe) var suspended: SuspendedJob?

    deinit {
        Lock.giveBack(lock)
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    /// The task's value; nil until ``resume(_:isCancelled:)`` is called.
    nonisolated var known: Value? { lock.withLock { result } }

    /// Returns the value. The calling task stays suspended until ``resume(_:isCancelled:)`` is called. Call this
    /// function once.
    func value() -> Value {
        guard let result = known else {
            Log.fatal("a task was resumed without a result. This is a bug in GRunLoop; please report it")
        }
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

    /// Gives the task its value, and resumes the task. Call this function once, without a lock. The task need not be
    /// waiting yet. Threads: any.
    ///
    /// - Parameter isCancelled: whether the caller is a cancellation handler.
    nonisolated func resume(_ value: Value, isCancelled: Bool = false) {
        let job = lock.withLock {
            result = value
            return suspended.take()
        }
        if isCancelled { job?.enqueue(for: self) } else { job?.run(on: self) }
    }
}
