// SPDX-License-Identifier: Apache-2.0
// The executor of a loop.

extension GRunLoop {
    /// Runs the jobs of actors and tasks on a loop's thread.
    ///
    /// To make an actor live on a loop, give the actor an executor of the loop:
    ///
    /// ```swift
    /// actor Decoder {
    ///     private nonisolated let executor: GRunLoop.Executor
    ///     nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    ///
    ///     init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop, label: "Decoder") }
    /// }
    /// ```
    ///
    /// The actor must retain the executor, as in this example, because the runtime does not. For ``GRunLoop/executor``,
    /// it is enough to retain the loop. To start a task on the loop, use `Task(executorPreference: loop.executor)` or
    /// `withTaskExecutorPreference`.
    ///
    /// Jobs run in order, in every common mode, and also in runs that are nested in a job. Jobs that are enqueued
    /// together wake the loop once. Each pass runs jobs until ``GRunLoop/timeSlice`` is used up. The common modes of a
    /// loop with an executor are never finished. All executors of one loop share one isolation. So a call between
    /// actors of these executors schedules no job.
    ///
    /// Before the loop's thread ends, it runs the queued jobs, and the jobs that these jobs enqueue. A job that is
    /// enqueued later is a **late job**. An executor cannot refuse a job. If the executor dropped the job, the job's
    /// task would stay suspended forever. So late jobs run on Swift's thread pool, isolated to their actors. They run
    /// in order, and one at a time for all executors of the loop. The first late job of a loop is logged with the names
    /// of the loop and the executor. End the actors and tasks of a loop before its thread ends, or end the thread with
    /// ``Thread/stopAndWait()``. To end operations that the loop does not know, such as GIO operations, use
    /// ``GRunLoop/addEndHandler(_:)``.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. Swift's protocols are `SerialExecutor` and
    /// `TaskExecutor`.
    public final class Executor: SerialExecutor, TaskExecutor, Sendable {
        /// A name for log messages, usually the name of the actor; nil if none was given. Threads: any.
        public let label: String?

        fileprivate let queue: JobQueue

        /// Creates an executor of a loop. The new executor differs from ``GRunLoop/executor`` only in its label.
        ///
        /// - Parameters:
        ///   - loop: the loop whose thread runs the jobs. If this thread has ended, all jobs are late jobs.
        ///   - label: a name for log messages.
        ///
        /// Threads: any.
        public init(_ loop: GRunLoop, label: String? = nil) {
            self.label = label
            queue = loop.executor.queue
        }

        fileprivate init(_ queue: JobQueue) {
            label = nil
            self.queue = queue
        }

        /// Enqueues a job of an actor; Swift's runtime calls this method. If the loop's thread has ended, the job is a
        /// late job. Threads: any.
        public func enqueue(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .actor, for: self)
        }

        /// Enqueues a job that is isolated to another executor. The isolation of that executor is the loop's thread.
        package func append(_ job: UnownedJob, for executor: any SerialExecutor) {
            queue.append(job, .actor, for: executor)
        }

        /// Enqueues a job of a task that prefers the executor; Swift's runtime calls this method. The job is not
        /// isolated. If the loop started the job like an actor's job, the runtime would enqueue the job a second time.
        /// If the loop's thread has ended, the job is a late job.
        ///
        /// Threads: any.
        @_implements(TaskExecutor,enqueue(_:))
        public func enqueueTask(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .task, for: self)
        }

        /// The executor's loop if this loop belongs to the calling thread; otherwise nil.
        var loopOfThisThread: GRunLoop? { queue.loopOfThisThread }

        /// Whether the calling thread is running a late job of the loop.
        var isRunningLateJob: Bool { queue.isLate.load(ordering: .relaxed) && queue.isOnLoop }

        // MARK: Checks of the isolation

        /// Returns whether the loop is the calling thread's current loop, both inside and outside of jobs. After the
        /// end of the loop's thread, returns true only in late jobs. Never returns nil. Threads: any.
        public func isIsolatingCurrentContext() -> Bool? {
            queue.isOnLoop
        }

        /// Ends the process with a message if ``isIsolatingCurrentContext()`` returns false. Threads: any.
        public func checkIsolated() {
            guard !queue.isOnLoop else { return }
            let name = label.map { " " + quoted($0) } ?? ""
            Log.fatal(
                "Executor\(name)",
                "the code needs the thread of \(queue.loopName), but runs on another thread. Call the actor with await")
        }

        /// Returns whether both executors belong to the same loop. All executors of a loop share one isolation.
        /// Threads: any.
        public func isSameExclusiveExecutionContext(other: Executor) -> Bool {
            queue === other.queue
        }

        /// Returns the value for an actor's `unownedExecutor`. The value does not retain the executor, so the actor
        /// must retain it. Threads: any.
        public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
            UnownedSerialExecutor(complexEquality: self)
        }
    }

    /// The executor of the loop, for actors and tasks that live on the loop's thread. Every access returns the same
    /// object, which lives as long as the loop.
    ///
    /// The first access adds a source to the common modes. From then on these modes are never finished.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var executor: Executor {
        if Fork.refuses("executor") { return Executor(JobQueue(of: self)) }
        let (executor, made) = lock.withLock { () -> (Executor, Source?) in
            if let known = executorLocked { return (known, nil) }
            let queue = JobQueue(of: self)
            let executor = Executor(queue)
            sharedExecutor = executor
            if areJobsLate { queue.handOver(nameForMessages) }
            return (executor, isDead ? nil : queue.makeSource())
        }
        if let made {
            add(made, forMode: .common)
            // If the source is signalled, another thread enqueued a job before the source was in the loop. That thread
            // could not wake the loop.
            if made.isSignalled { wakeUpEveryRun() }
        }
        return executor
    }

    private var executorLocked: Executor? { sharedExecutor.map { unsafeDowncast($0, to: Executor.self) } }

    /// The queue of the loop's executor; nil if the loop has no executor yet. Threads: any.
    var jobQueue: JobQueue? { lock.withLock { executorLocked }?.queue }

    /// Runs the remaining jobs, and makes all later jobs late jobs. This is the last step of the loop's end, on the
    /// ending thread.
    func handOverJobs() {
        jobQueue?.runRemaining()
        // Looks up the executor here, because another thread or a cancel closure may create the executor after the loop
        // is marked dead.
        let queue = lock.withLock {
            areJobsLate = true
            return executorLocked?.queue
        }
        queue?.handOver(nameForMessages)
    }
}
