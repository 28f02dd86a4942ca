// SPDX-License-Identifier: Apache-2.0
// A thread that does nothing but run its loop.

import CGRun
import Glibc

extension GRunLoop {
    /// A thread whose loop runs from the beginning until it is stopped.
    ///
    /// Use it for actors, and for sources and timers that must not disturb the main loop. Use it also for GIO and
    /// GStreamer objects that complete in their thread's default context. The loop has a home context of its own. It is
    /// the thread-default context, so that GIO operations that are started on the thread complete there. The loop never
    /// runs out of items to wait for, because it serves the jobs of its ``GRunLoop/executor``.
    ///
    /// The thread runs until ``stop()`` is called, or ``GRunLoop/stop()`` ends the outermost run. Releasing this object
    /// does not end the thread. In async code end the thread by ``stopAndWait()``. End the actors and tasks of its loop
    /// first, see ``Executor``.
    ///
    /// Threads: any. The corresponding Foundation class is `Thread`, with a run loop run in its main method.
    public final class Thread: Sendable {
        /// The name as it was given. The system shows the first 15 bytes of it. Threads: any.
        public let name: String
        /// The thread's loop, which has begun to run. After the thread's end the loop does nothing any more. Threads:
        /// any.
        public let loop: GRunLoop

        private let body: ThreadBody
        private let handle: pthread_t

        /// Starts the thread and waits until its loop runs.
        ///
        /// - Parameters:
        ///   - name: the name that debuggers and `top` show.
        ///   - stackSize: in bytes. Zero and less mean the system's default. A positive number below 512 KiB means 512
        ///     KiB, because Swift's runtime may need that much.
        ///   - setUp: called on the thread before its loop runs, to add items. Blocks that it enqueues may run before
        ///     this initialiser returns, and must not wait for the caller. Objects that it makes, and gives to items
        ///     with the isolation that it is called with, belong to the thread. If it is nil, nothing is called.
        /// - Throws: ``SystemError``, if no thread or descriptor is left, or in a forked child.
        ///
        /// Threads: any. The corresponding Foundation methods are `Thread.init(block:)` and `Thread.start()`, GLib's
        /// function is `g_thread_new`.
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

        /// Ends every run on the thread, and then the thread. The callouts on its stack return first.
        ///
        /// If a callout runs a foreign loop, that loop is not ended: the code that began it has to end it. A second
        /// call does nothing. This call does not wait for the end: in async code ``stopAndWait()`` does, in other code
        /// ``join()``.
        ///
        /// Threads: any, the thread itself included. The corresponding Foundation method is `Thread.cancel()`, which
        /// only sets a flag.
        public func stop() {
            guard !Fork.refuses("Thread.stop") else { return }
            loop.stopAllRuns()
        }

        /// Waits until the thread has ended and is gone. It does not stop the thread. If the thread has ended already,
        /// this returns immediately.
        ///
        /// Threads: any but the thread itself, which would wait forever: there the program is ended, with a message.
        /// The corresponding GLib function is `g_thread_join`.
        @available(*, noasync, message: "it blocks its thread; await waitUntilEnded() instead")
        public func join() {
            guard !Fork.refuses("Thread.join") else { return }
            if loop.isOfThisThread {
                Log.fatal("Thread.join", "a thread cannot wait for its own end; to end it from itself, call stop()")
            }
            let ended = Semaphore()
            body.whenEnded { ended.signal() }
            ended.wait()
            body.reap(handle)
        }

        /// Waits until the thread has ended, without blocking the calling thread. It does not stop the thread.
        ///
        /// If the thread has ended already, this returns immediately. Cancelling the task does not end the wait.
        ///
        /// The thread resumes the waiting tasks as its last act, after its loop has ended. Only the destructors of
        /// foreign thread-specific data may still run on it afterwards. ``join()`` waits for these destructors, and
        /// this does not.
        ///
        /// Threads: any. The waiting task may itself live on the thread, because its actor does, or because it prefers
        /// the loop's executor. Then a late job on Swift's thread pool resumes it, and that is logged, see
        /// ``Executor``.
        nonisolated(nonsending) public func waitUntilEnded() async {
            guard !Fork.refuses("Thread.waitUntilEnded") else { return }
            let ended = Suspension<Void>()
            body.whenEnded { ended.resume(()) }
            await ended.value()
        }

        /// Stops the thread as ``stop()`` does, and waits until it has ended as ``waitUntilEnded()`` does. No thread is
        /// blocked meanwhile. This is how async code ends a thread:
        ///
        /// ```swift
        /// task.cancel()
        /// await worker.stopAndWait()
        /// ```
        ///
        /// Tasks that await something from the thread's loop are resumed before the end: cancelled tasks with a
        /// `CancellationError`, others with a ``LoopEndedError``, sequences with their end. Cancelling the calling task
        /// does not end the wait. If the thread has ended already, this returns immediately.
        ///
        /// The method is not an overload of ``stop()``, because in async code the compiler prefers an async overload.
        /// `stop()` would wait there, but would not wait in a closure inside the same function.
        ///
        /// Threads: any. A task that lives on the thread is resumed as after ``waitUntilEnded()``. There is no
        /// corresponding Foundation method; SwiftNIO's is `EventLoopGroup.shutdownGracefully()`, beside
        /// `syncShutdownGracefully()`.
        nonisolated(nonsending) public func stopAndWait() async {
            guard !Fork.refuses("Thread.stopAndWait") else { return }
            stop()
            await waitUntilEnded()
        }
    }

    /// Stops every run on the stack, except for a host's: each returns at the end of its pass.
    fileprivate func stopAllRuns() {
        lock.withLock { () -> Kick? in
            guard !isDead, innermost != nil else { return nil }
            for frame in framesLocked where !frame.run.isHosted { frame.run.isStopped = true }
            return wakeUpLocked(for: .innermostRun)
        }?.send()
    }
}
