// SPDX-License-Identifier: Apache-2.0
// Awaiting the end of a child process.

extension GRunLoop {
    /// Suspends the task until a child process has ended, and reaps the child. The thread is not blocked.
    ///
    /// If the task is cancelled, the child is neither ended nor reaped: its status stays for the next caller that
    /// waits. A child has one owner, see ``ChildSource``. When this returns, the child's output may not have been read
    /// to the end: wait for the end of the pipe as well.
    ///
    /// - Parameters:
    ///   - pid: a child of this process that was not reaped yet. It may have ended already: then the task is not
    ///     suspended.
    ///   - names: the modes in which the loop notices the end of the child. While none of these modes runs, the wait
    ///     goes on.
    /// - Returns: how the child has ended.
    /// - Throws: ``SystemError`` immediately, if it is known already that the status can never be read, or if no
    ///   descriptor is left to wait with. `CancellationError` as soon as the task is cancelled. ``LoopEndedError`` if
    ///   the loop's thread has ended or ends, and in a forked child.
    ///
    /// Threads: any. The task is resumed as by ``ItemSequence/Iterator/next()``. There is no corresponding Core
    /// Foundation function; GLib's is `g_subprocess_wait_async`.
    nonisolated(nonsending) public func waitForExit(
        of pid: Int32, inModes names: [Mode] = [.common]
    ) async throws -> ExitStatus {
        try Task.checkCancellation()
        if isDead || Fork.refuses("waitForExit") { throw LoopEndedError() }
        let child = try Child(pid)
        if let outcome = child.reap() { return try outcome.get() }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox even if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        // The task reaps the child, and this closure does not: if the task is cancelled now, the status must not be
        // lost.
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
