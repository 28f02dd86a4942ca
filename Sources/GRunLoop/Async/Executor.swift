// SPDX-License-Identifier: Apache-2.0
// The executor of a loop, to which Swift's runtime gives the jobs of actors and tasks.

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
    /// The actor must keep the executor alive, as here, because the runtime does not. For ``GRunLoop/executor``, it is
    /// enough to keep the loop. To start a task on the loop, use `Task(executorPreference: loop.executor)` or
    /// `withTaskExecutorPreference`.
    ///
    /// Jobs run in order, in every common mode, also in runs that are nested in a job. Jobs that are enqueued together
    /// wake the loop once, and run in one pass as far as ``GRunLoop/timeSlice`` lasts. A loop that has an executor
    /// always has something to wait for in its common modes. All executors of one loop are one isolation: a call from
    /// one to another schedules nothing.
    ///
    /// When the loop's thread ends, it runs the jobs that are queued, and the jobs that these enqueue. A job that is
    /// enqueued later is a **late job**. Swift's runtime has no way to refuse a job, and a job that is dropped leaves
    /// its task suspended forever. So late jobs run on Swift's thread pool, isolated to their actors. They run in their
    /// order, and one at a time for all executors of the loop. The first late job of a loop is logged with the loop's
    /// name and the label. End the actors and tasks of a loop before its thread, or end the thread by
    /// ``Thread/stopAndWait()``. To end operations outside the loop in time, use ``GRunLoop/addEndHandler(_:)``.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Swift's are `SerialExecutor` and `TaskExecutor`.
    public final class Executor: SerialExecutor, TaskExecutor, Sendable {
        /// A name for messages, as a rule that of the actor that uses the executor. Nil if none was given. Threads:
        /// any.
        public let label: String?

        fileprivate let queue: JobQueue

        /// Makes an executor of a loop for one actor: the same as ``GRunLoop/executor``, but with a label.
        ///
        /// - Parameters:
        ///   - loop: the loop on whose thread the jobs are to run. If this thread has ended, all jobs are late jobs.
        ///   - label: a name for messages.
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

        /// Called by Swift's runtime to enqueue a job of an actor. After the end of the loop's thread the job is a late
        /// job. Threads: any.
        public func enqueue(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .actor, for: self)
        }

        /// Called by Swift's runtime to enqueue a job of a task that prefers the executor. The job is isolated to
        /// nothing: if it began as an actor's job, the runtime would enqueue it a second time. After the end of the
        /// loop's thread it is a late job.
        ///
        /// Threads: any.
        @_implements(TaskExecutor,enqueue(_:))
        public func enqueueTask(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .task, for: self)
        }

        /// The loop, if the calling thread is the loop's own; otherwise nil.
        var loopOfThisThread: GRunLoop? { queue.loopOfThisThread }

        /// Whether the calling thread is running a job of the executor after the end of the loop's thread.
        var isRunningLateJob: Bool { queue.isLate.load(ordering: .relaxed) && queue.isOnLoop }

        // MARK: Checks of the isolation

        /// Whether the calling thread is the loop's own, in a job or not. After the end of the loop's thread it returns
        /// true in late jobs only. Never nil. Threads: any.
        public func isIsolatingCurrentContext() -> Bool? {
            queue.isOnLoop
        }

        /// Stops the process with a message if ``isIsolatingCurrentContext()`` returns false. Threads: any.
        public func checkIsolated() {
            guard !queue.isOnLoop else { return }
            let name = label.map { " " + quoted($0) } ?? ""
            Log.fatal("Executor\(name)", "this is not the thread of \(queue.loopName)")
        }

        /// Whether both executors are of the same loop: all executors of a loop are one isolation. Threads: any.
        public func isSameExclusiveExecutionContext(other: Executor) -> Bool {
            queue === other.queue
        }

        /// Returns the value for an actor's `unownedExecutor`. It does not keep the executor alive: the actor must.
        /// Threads: any.
        public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
            UnownedSerialExecutor(complexEquality: self)
        }
    }

    /// The executor of the loop, for actors and tasks that are to live on the loop's thread. It is always the same one,
    /// and lives as long as the loop.
    ///
    /// The first access adds a source to the common modes, which are never finished from then on.
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
            // Another thread enqueued a job before the source was in the loop, so it could not wake the loop.
            if made.isSignalled { wakeUpEveryRun() }
        }
        return executor
    }

    private var executorLocked: Executor? { sharedExecutor.map { unsafeDowncast($0, to: Executor.self) } }

    /// The queue of the loop's executor, if it has one. Threads: any.
    var jobQueue: JobQueue? { lock.withLock { executorLocked }?.queue }

    /// Runs the jobs that are left, and lets later jobs be late jobs. Called on the ending thread, as its last act for
    /// the loop.
    func handOverJobs() {
        jobQueue?.runRemaining()
        // Another thread, or a cancel closure, may have asked for the executor after the loop was marked dead.
        let queue = lock.withLock {
            areJobsLate = true
            return executorLocked?.queue
        }
        queue?.handOver(nameForMessages)
    }
}
