// SPDX-License-Identifier: Apache-2.0
// Waiting with `await` for the end of a child process.

extension GRunLoop {
    /// Suspends the task until a child process has ended, and reaps the child. No thread is blocked.
    ///
    /// If the task is cancelled, the child is neither ended nor reaped, and a later call can still get its status. Wait
    /// for a child in one place only: see ``ChildSource``. When this method returns, a pipe from the child may still
    /// hold output: also read the pipe to its end.
    ///
    /// - Parameters:
    ///   - pid: a child of this process that was not reaped yet. If the child has already ended, the task is not
    ///     suspended.
    ///   - names: the modes in which the loop notices the end of the child. While none of these modes runs, the task
    ///     stays suspended.
    /// - Returns: the exit status of the child.
    /// - Throws: ``SystemError`` immediately, if the status can certainly never be read, or if no descriptor is left.
    ///   `CancellationError` as soon as the task is cancelled. ``LoopEndedError`` if the loop's thread has ended or
    ///   ends, and in a forked child.
    ///
    /// Threads: any. The task is resumed in the same way as by ``ItemSequence/Iterator/next()``. The
    /// corresponding GLib function is `g_subprocess_wait_async`.
    nonisolated(nonsending) public func waitForExit(
        of pid: Int32, inModes names: [Mode] = [.common]
    ) async throws -> ExitStatus {
        try Task.checkCancellation()
        if isDead || Fork.refuses("waitForExit") { throw LoopEndedError() }
        let child = try Child(pid)
        if let outcome = child.reap() { return try outcome.get() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Always closes the mailbox, even if adding the source throws an error. Otherwise the mailbox and the source
        // would retain each other forever.
        defer { mailbox.close(.done) }
        // The child is reaped by the task, not by this closure. Otherwise the status would be lost if the task is
        // cancelled now.
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
