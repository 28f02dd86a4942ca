// SPDX-License-Identifier: Apache-2.0
// The end of a child process, for await.

extension GRunLoop {
    /// Suspends the task until a child process has ended, and reaps the child. The thread goes on.
    ///
    /// Cancelling the task does not end the child and does not reap it: its status is there for the next one who waits.
    /// A child has one owner, see ``ChildSource``. Its output may not have been read to the end when this returns: wait
    /// for the end of the pipe as well.
    ///
    /// - Parameters:
    ///   - pid: a child of this process that nobody has reaped yet. It may have ended: then nothing suspends.
    ///   - names: the modes in which the wait is ended: while none of them runs it lasts.
    /// - Returns: how it has ended.
    /// - Throws: ``ChildError``: at once, where it can be told already that the status will never be known;
    ///   ``DescriptorError`` if no descriptor is left to wait with; `CancellationError` as soon as the task is
    ///   cancelled; ``LoopEndedError`` when the loop's thread has ended or ends.
    ///
    /// Threads: any. It is resumed as ``ItemSequence/Iterator/next()`` is. There is no corresponding Core Foundation
    /// function; GLib's is `g_subprocess_wait_async`.
    nonisolated(nonsending) public func exit(
        of pid: Int32, inModes names: [Mode] = [.common]
    ) async throws -> ExitStatus {
        try Task.checkCancellation()
        if isDead || Fork.refuses("exit") { throw LoopEndedError() }
        let child = try Child(pid)
        if let outcome = child.reap() { return try outcome.get() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox also if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        // Reaped by the task and not here: one that is cancelled just now would take the status with it.
        let source = OwnDescriptorSource(descriptor: child.descriptor) { source, _ in
            guard child.hasEnded else { return source.waitForDebugger() }
            source.invalidate()
            mailbox.send(())
        }
        mailbox.open(for: source)
        for name in names { try add(source, forMode: name) }
        if await mailbox.next(isolation: #isolation) != nil, let outcome = child.reap() { return try outcome.get() }
        throw mailbox.failure
    }
}
