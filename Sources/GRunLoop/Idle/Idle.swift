// SPDX-License-Identifier: Apache-2.0
// Waiting until a loop is idle, for await.

extension GRunLoop {
    /// Suspends the task until the loop is about to sleep, and nothing is ready: as a closure of an ``IdleQueue``. The
    /// thread goes on, and another pass of the loop follows. It wakes a loop that sleeps.
    ///
    /// Between two pieces of a task's work on the loop it lets everything else have its turn:
    ///
    /// ```swift
    /// for row in rows {
    ///     try await GRunLoop.main.idle()
    ///     measure(row)
    /// }
    /// ```
    ///
    /// - Parameter names: the modes: while none of them runs, the task waits. An empty list means until it is
    ///   cancelled.
    /// - Throws: `CancellationError` as soon as the task is cancelled, also before it waits; ``LoopEndedError`` when
    ///   the loop's thread has ended or ends. Nothing of it stays in the loop then.
    ///
    /// Threads: any. It is resumed as ``ItemSequence/Iterator/next()`` is: a task that lives on the loop goes on by a
    /// job, which is one more pass. There is no corresponding Core Foundation function.
    nonisolated(nonsending) public func idle(inModes names: [Mode] = [.common]) async throws {
        try Task.checkCancellation()
        if isDead || Fork.refuses("idle") { throw LoopEndedError() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox also if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        let queue = IdleQueue()
        queue.enqueue { mailbox.send(()) }
        mailbox.open(for: queue)
        for name in names { add(queue, forMode: name) }
        if await mailbox.next(isolation: #isolation) != nil { return }
        throw mailbox.failure
    }
}
