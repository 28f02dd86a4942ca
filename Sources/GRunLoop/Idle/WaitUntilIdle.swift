// SPDX-License-Identifier: Apache-2.0
// Waiting with `await` until a loop is idle.

extension GRunLoop {
    /// Suspends the task until the loop is about to sleep and nothing is ready. A closure in an ``IdleQueue`` resumes
    /// the task, and another pass follows. The call blocks no thread, and wakes a sleeping loop.
    ///
    /// Call this function between the steps of a task on the loop, so that the loop can handle other work:
    ///
    /// ```swift
    /// for row in rows {
    ///     try await GRunLoop.main.waitUntilIdle()
    ///     measure(row)
    /// }
    /// ```
    ///
    /// - Parameter names: the modes in which the loop must be idle. The task waits while the loop runs in none of these
    ///   modes. If the list is empty, the task waits until it is cancelled or the loop's thread ends.
    /// - Throws: `CancellationError` as soon as the task is cancelled, even if it was cancelled before the call.
    ///   ``LoopEndedError`` if the loop's thread has ended, or ends during the wait. In both cases, the loop keeps no
    ///   closure for this task.
    ///
    /// Threads: any. The task resumes as with ``ItemSequence/Iterator/next()``. A task that runs on the loop continues
    /// in a job, in one more pass. There is no corresponding Core Foundation function.
    nonisolated(nonsending) public func waitUntilIdle(inModes names: [Mode] = [.common]) async throws {
        try Task.checkCancellation()
        if isDead || Fork.refuses("waitUntilIdle") { throw LoopEndedError() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox even if the task is cancelled before this function suspends it.
        defer { mailbox.close(.done) }
        let queue = IdleQueue()
        queue.enqueue { mailbox.send(()) }
        mailbox.open(for: queue)
        for name in names { add(queue, forMode: name) }
        if await mailbox.next(isolation: #isolation) != nil { return }
        throw mailbox.failure
    }
}
