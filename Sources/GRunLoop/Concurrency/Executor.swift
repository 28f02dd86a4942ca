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
    /// What is queued when the loop's thread ends is run then. A job that is enqueued later **stops the process**, with
    /// a message that names the loop and the label: Swift's runtime has no way to refuse it. End what lives on a loop
    /// before its thread. What waits there for something else is told in time by ``GRunLoop/addEndHandler(_:)``.
    ///
    /// Threads: any. There is no corresponding Core Foundation type; Swift's are `SerialExecutor` and `TaskExecutor`.
    public final class Executor: SerialExecutor, TaskExecutor, Sendable {
        /// Who uses the executor, for messages: as a rule the name of the actor. Nil: none was given. Threads: any.
        public let label: String?

        fileprivate let queue: JobQueue

        /// An executor of a loop, for one actor: ``GRunLoop/executor`` with a label.
        ///
        /// - Parameters:
        ///   - loop: whose thread the jobs are to run on. An executor of a loop whose thread has ended can be made, but
        ///     not used.
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

        /// Called by Swift's runtime, for an actor. After the end of the loop's thread it stops the process. Threads:
        /// any.
        public func enqueue(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .actor, for: self)
        }

        /// Called by Swift's runtime, for a task that prefers the executor. It is isolated to nothing: begun as an
        /// actor's job, it would be enqueued a second time. After the end of the loop's thread it stops the process.
        ///
        /// Threads: any.
        @_implements(TaskExecutor,enqueue(_:))
        public func enqueueTask(_ job: consuming ExecutorJob) {
            queue.append(UnownedJob(job), .task, for: self)
        }

        /// The loop, on its own thread; nil elsewhere.
        var loopOfThisThread: GRunLoop? { queue.loopOfThisThread }

        // MARK: Whether this is the place

        /// Whether the calling thread is the loop's own, in a job or not. Never nil. Threads: any.
        public func isIsolatingCurrentContext() -> Bool? {
            queue.isOnLoop
        }

        /// Stops the process on another thread than the loop's own, with a message. Threads: any.
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
            if isDead { queue.close(nameForMessages) }
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

    /// On the ending thread: runs the remaining jobs, and accepts none from then on.
    func closeJobs() {
        lock.withLock { executorLocked }?.queue.close(nameForMessages)
    }
}
