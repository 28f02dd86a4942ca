// SPDX-License-Identifier: Apache-2.0
// Runs a closure on a loop's thread.

extension GRunLoop {
    /// Runs the closure on the loop's thread and awaits its value, as `MainActor.run` does on the main thread.
    ///
    /// The closure runs as part of the calling task: it sees the task's priority and task-local values, and whether the
    /// task is cancelled.
    ///
    /// The closure runs in the common modes, after the jobs that were enqueued before it. Cancelling the task does not
    /// cancel the closure. If the loop's thread has ended, the closure runs as a late job on Swift's thread pool, and
    /// the library logs a warning: see ``Executor``. In that case, ``performAndWait(inModes:_:)`` would throw an error
    /// instead.
    ///
    /// The task switches to the loop's executor and back. No other thread takes part.
    ///
    /// - Returns: the value of the closure.
    /// - Throws: the error of the closure.
    ///
    /// Threads: any. There is no corresponding Core Foundation function. The corresponding Swift function is
    /// `MainActor.run(resultType:body:)`.
    nonisolated(nonsending) public func run<Value: Sendable, Failure: Error>(
        _ body: @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await Visitor(executor: executor).call(body)
    }

    /// An actor on the loop, made for one call of ``run(_:)``.
    private actor Visitor {
        private nonisolated let executor: Executor
        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        init(executor: Executor) {
            self.executor = executor
        }

        func call<Value: Sendable, Failure: Error>(
            _ body: @Sendable () throws(Failure) -> Value
        ) throws(Failure) -> Value {
            try body()
        }
    }
}
