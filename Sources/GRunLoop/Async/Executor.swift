// SPDX-License-Identifier: Apache-2.0
// Actors and tasks on a loop: the executor that Swift's runtime hands their jobs to.

extension GRunLoop {
    /// Runs the jobs of actors and tasks on a loop's thread.
    ///
    /// An actor lives on a loop by having its executor as its own:
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
    /// The actor must hold the executor, as here, or the loop: the runtime does not. A task is started there by
    /// `Task(executorPreference: loop.executor)` or `withTaskExecutorPreference`.
    ///
    /// Jobs run in order, in every common mode, also in runs that are nested in a job. Those that are enqueued together
    /// wake the loop once, and are run in one pass as far as ``GRunLoop/timeSlice`` lasts. A loop that has an
    /// executor always has something to wait for in its common modes. All executors of one loop are one isolation:
    /// between them nothing is scheduled.
    ///
    /// When the loop's thread ends, it runs the jobs that are queued, and the jobs that these enqueue. A job that is
    /// enqueued later is a **late job**. Swift's runtime has no way to refuse a job, and a job that is dropped leaves
    /// its task suspended forever. So late jobs run on Swift's thread pool: one at a time for all executors of the
    /// loop, in their order, and isolated to their actors. The first late job of a loop is logged with the loop's name
    /// and the label. End the actors and tasks of a loop before its thread, or end the thread by
    /// ``Thread/stopAndWait()``. ``GRunLoop/addEndHandler(_:)`` calls a closure in time for operations outside the
    /// loop.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Swift's are `SerialExecutor` and `TaskExecutor`.
    public final class Executor: SerialExecutor, TaskExecutor, Sendable {
        /// Who uses the executor, for messages: as a rule the name of the actor. Nil: none was given. Threads: any.
        public let label: String?

        fileprivate let queue: JobQueue

        /// An executor of a loop, for one actor: ``GRunLoop/executor`` with a label.
        ///
        /// - Parameters:
        ///   - loop: whose thread the jobs are to run on. If that thread has ended, all jobs are late jobs.
        ///   - label: who uses it, for messages.
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

        /// Called by Swift's runtime, for an actor. After the end of the loop's thread the job is a late job. Threads:
        /// any.
        public func enqueue(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .actor, for: self)
        }

        /// Called by Swift's runtime, for a task that prefers the executor. It is isolated to nothing: begun as an
        /// actor's job, it would be enqueued a second time. After the end of the loop's thread it is a late job.
        ///
        /// Threads: any.
        @_implements(TaskExecutor,enqueue(_:))
        public func enqueueTask(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .task, for: self)
        }

        /// The loop, on its own thread; nil elsewhere.
        var loopOfThisThread: GRunLoop? { queue.loopOfThisThread }

        /// Whether the calling thread is running a job of the executor after the end of the loop's thread.
        var isRunningLateJob: Bool { queue.isLate.load(ordering: .relaxed) && queue.isOnLoop }

        // MARK: Whether this is the place

        /// Whether the calling thread is the loop's own, in a job or not. After the end of the loop's thread it returns
        /// true in late jobs only. Never nil. Threads: any.
        public func isIsolatingCurrentContext() -> Bool? {
            queue.isOnLoop
        }

        /// Stops the process where ``isIsolatingCurrentContext()`` returns false, with a message. Threads: any.
        public func checkIsolated() {
            guard !queue.isOnLoop else { return }
            let name = label.map { " " + quoted($0) } ?? ""
            Log.fatal("Executor\(name)", "this is not the thread of \(queue.loopName)")
        }

        /// Whether both are of one loop: all executors of a loop are one isolation. Threads: any.
        public func isSameExclusiveExecutionContext(other: Executor) -> Bool {
            queue === other.queue
        }

        /// What an actor has as its `unownedExecutor`. It does not keep the executor: the actor must. Threads: any.
        public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
            UnownedSerialExecutor(complexEquality: self)
        }
    }

    /// The executor of the loop, for actors and tasks that are to live on its thread: always the same one. It lives as
    /// long as the loop.
    ///
    /// To ask for it puts a source into the common modes, which are never finished from then on.
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
            // Another thread has enqueued a job already, before the source was in a loop that it could wake.
            if made.isSignalled { wakeUpEveryRun() }
        }
        return executor
    }

    private var executorLocked: Executor? { sharedExecutor.map { unsafeDowncast($0, to: Executor.self) } }

    /// The queue of the loop's executor, if it has one. Threads: any.
    var jobQueue: JobQueue? { lock.withLock { executorLocked }?.queue }

    /// On the ending thread, in its last act for the loop.
    func handOverJobs() {
        jobQueue?.runRemaining()
        // Another thread, or a cancel closure, may have asked for the executor since the loop is dead.
        let queue = lock.withLock {
            areJobsLate = true
            return executorLocked?.queue
        }
        queue?.handOver(nameForMessages)
    }
}
