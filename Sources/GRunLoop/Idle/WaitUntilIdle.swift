// SPDX-License-Identifier: Apache-2.0
// Waiting with `await` until a loop is idle.

extension GRunLoop {
    /// Suspends the task until the loop is about to sleep and nothing is ready. The task is resumed by a closure of an
    /// ``IdleQueue``, and another pass follows. No thread is blocked. The call wakes a sleeping loop.
    ///
    /// Call it between the steps of a task on the loop, so that everything else has its turn:
    ///
    /// ```swift
    /// for row in rows {
    ///     try await GRunLoop.main.waitUntilIdle()
    ///     measure(row)
    /// }
    /// ```
    ///
    /// - Parameter names: the modes in which the loop must be idle. The task waits while the loop runs in none of them.
    ///   If the list is empty, the task waits until it is cancelled.
    /// - Throws: `CancellationError` as soon as the task is cancelled, even before it waits. ``LoopEndedError`` if the
    ///   loop's thread has ended or ends. In both cases nothing stays in the loop.
    ///
    /// Threads: any. The task is resumed as by ``ItemSequence/Iterator/next()``. A task that runs on the loop continues
    /// in a job, which takes one more pass. There is no corresponding Core Foundation function.
    nonisolated(nonsending) public func waitUntilIdle(inModes names: [Mode] = [.common]) async throws {
        try Task.checkCancellation()
        if isDead || Fork.refuses("waitUntilIdle") { throw LoopEndedError() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox even if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        let queue = IdleQueue()
        queue.enqueue { mailbox.send(()) }
        mailbox.open(for: queue)
        for name in names { add(queue, forMode: name) }
        if await mailbox.next(isolation: #isolation) != nil { return }
        throw mailbox.failure
    }
}
