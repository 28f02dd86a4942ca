// SPDX-License-Identifier: Apache-2.0
// A thread that only runs its loop.

import CGRun
import Glibc

extension GRunLoop {
    /// A thread that runs its own loop until the program stops the thread.
    ///
    /// Use such a thread for actors, sources and timers that must not disturb the main loop, and for GIO and GStreamer.
    /// The loop's home context is the thread-default context, so GIO operations that are started on the thread complete
    /// there. The loop is never finished, because it serves the jobs of its ``GRunLoop/executor``.
    ///
    /// The thread runs until ``stop()`` is called, or ``GRunLoop/stop()`` ends the outermost run. Releasing this object
    /// does not end the thread. In async code, end the thread with ``stopAndWait()``. First end the actors and tasks of
    /// its loop: see ``Executor``.
    ///
    /// Threads: any. The corresponding Foundation class is `Thread` with a main method that runs a run loop.
    public final class Thread: Sendable {
        /// The full name of the thread. The system shows its first 15 bytes. Threads: any.
        public let name: String
        /// The thread's loop, which is already running. After the thread's end, the loop does nothing. Threads: any.
        public let loop: GRunLoop

        private let body: ThreadBody
        private let handle: pthread_t

        /// Starts the thread and waits until its loop runs.
        ///
        /// - Parameters:
        ///   - name: the name that debuggers and `top` show.
        ///   - stackSize: the stack's size in bytes. Zero or a negative number means the system's default. A positive
        ///     number below 512 KiB means 512 KiB, because Swift's runtime may need that much.
        ///   - setUp: a closure that is called on the thread before its loop runs, to add items. Items that the closure
        ///     makes with its argument, an ``Isolation``, can capture objects that belong to the thread. Blocks that
        ///     the closure enqueues can run before this initialiser returns, so they must not wait for the caller. Nil
        ///     means no set-up.
        /// - Throws: ``SystemError`` if no thread or descriptor is left, in a forked child, or in a second copy of the
        ///   library.
        ///
        /// Threads: any. The corresponding Foundation methods are `Thread.init(block:)` and `Thread.start()`. The
        /// corresponding GLib function is `g_thread_new`.
        public init(
            name: String = "GRunLoop", stackSize: Int = 0, setUp: (@Sendable (isolated Isolation) -> Void)? = nil
        ) throws(SystemError) {
            if Fork.isChild { throw .forked }
            if OneCopy.other != nil { throw .unsupported(OneCopy.text) }
            self.name = name
            body = ThreadBody(name: name, setUp: setUp)
            switch body.start(stackSize: stackSize) {
            case .failure(let error): throw error
            case .success(let started): (handle, loop) = started
            }
        }

        deinit {
            // A forked child does not have the thread.
            if !Fork.isChild { body.letGo(handle) }
        }

        /// Ends every run on the thread, and then the thread. The callouts on the thread's stack return first.
        ///
        /// If a callout runs a foreign loop, the code that started that loop must end it. A second call does nothing.
        /// This method does not wait for the thread's end. To wait, call ``stopAndWait()`` in async code, or ``join()``
        /// elsewhere.
        ///
        /// Threads: any, including the thread itself. The corresponding Foundation method is `Thread.cancel()`, which
        /// only sets a flag.
        public func stop() {
            guard !Fork.refuses("Thread.stop") else { return }
            loop.stopAllRuns()
        }

        /// Waits until the thread and the destructors of its thread-specific data have ended. Does not stop the thread.
        /// If the thread has ended already, the call returns immediately.
        ///
        /// Threads: any except the thread itself. A call on the thread itself would never return, so the process ends
        /// with a message. The corresponding GLib function is `g_thread_join`.
        @available(*, noasync, message: "it blocks the thread; use await waitUntilEnded()")
        public func join() {
            guard !Fork.refuses("Thread.join") else { return }
            if loop.isOfThisThread {
                Log.fatal("Thread.join", "a thread cannot wait for its own end; to end the current thread, call stop()")
            }
            let ended = Semaphore()
            body.whenEnded { ended.signal() }
            ended.wait()
            body.reap(handle)
        }

        /// Waits until the thread has ended, without blocking the calling thread. Does not stop the thread.
        ///
        /// If the thread has ended already, the call returns immediately. Cancelling the task does not end the wait.
        ///
        /// The thread resumes the waiting tasks as its last step, after its loop has ended. Destructors of other
        /// thread-specific data may still run on the thread. Unlike ``join()``, this method does not wait for these
        /// destructors.
        ///
        /// Threads: any. If the task lives on the thread itself, a late job on Swift's thread pool resumes the task,
        /// and the library logs a warning: see ``Executor``.
        nonisolated(nonsending) public func waitUntilEnded() async {
            guard !Fork.refuses("Thread.waitUntilEnded") else { return }
            let ended = Suspension<Void>()
            body.whenEnded { ended.resume(()) }
            await ended.value()
        }

        /// Stops the thread as ``stop()`` does, and waits for its end as ``waitUntilEnded()`` does. No thread is
        /// blocked. Use this method to end a thread in async code:
        ///
        /// ```swift
        /// task.cancel()
        /// await worker.stopAndWait()
        /// ```
        ///
        /// Tasks that await a result or a value from the thread's loop are resumed before the end. Cancelled tasks get
        /// a `CancellationError`, other tasks a ``LoopEndedError``, and sequences end.
        ///
        /// The method is not an overload of ``stop()``, because in async code the compiler prefers an async overload. A
        /// call of `stop()` would then wait in an async function, but not in a synchronous closure inside that
        /// function.
        ///
        /// Threads: any. A late job resumes a task that lives on the thread, as with ``waitUntilEnded()``. There is no
        /// corresponding Foundation method. SwiftNIO has `EventLoopGroup.shutdownGracefully()`.
        nonisolated(nonsending) public func stopAndWait() async {
            guard !Fork.refuses("Thread.stopAndWait") else { return }
            stop()
            await waitUntilEnded()
        }
    }

    /// Stops every run on the stack, except the host's run. Each stopped run returns at the end of its pass.
    fileprivate func stopAllRuns() {
        lock.withLock { () -> Kick? in
            guard !isDead, innermost != nil else { return nil }
            for frame in framesLocked where !frame.run.isHosted { frame.run.isStopped = true }
            return wakeUpLocked(for: .innermostRun)
        }?.send()
    }
}
