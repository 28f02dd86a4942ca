// SPDX-License-Identifier: Apache-2.0
// A thread that does nothing but run its loop.

import CGRun
import Glibc

extension GRunLoop {
    /// A thread whose loop runs from the beginning until it is stopped: for actors, for sources and timers that are not
    /// to disturb the main loop, for GIO and GStreamer objects that complete in their thread's default context.
    ///
    /// The loop's home context is a context of its own, which is the thread-default one there: what is started on the
    /// thread with GIO completes there. The loop always has something to wait for, its ``GRunLoop/executor``'s jobs.
    ///
    /// The thread runs until ``stop()``, or ``GRunLoop/stop()`` of the outermost run; not because this object is let
    /// go. In async code end it by ``stopAndWait()``. End the actors and tasks of its loop first, see ``Executor``.
    ///
    /// Threads: any. The corresponding Foundation class is `Thread`, with a run loop run in its main method.
    public final class Thread: Sendable {
        /// Why a thread could not be started.
        public enum StartError: Error, Hashable, Sendable, CustomStringConvertible {
            /// What `pthread_create` returns: `EAGAIN` when the system has no thread left.
            case noThread(errno: Int32)
            /// No descriptor is left for the thread's context.
            case noDescriptor
            /// This process was forked and did not exec().
            case forked

            /// What is wrong and what to do, as one sentence.
            public var description: String {
                switch self {
                case .noThread(let errno): "no thread can be started (\(String(cString: strerror(errno))))"
                case .noDescriptor: "no descriptor is left for the thread's context; close some or raise the limit"
                case .forked: "\(Fork.reason). \(Fork.remedy)"
                }
            }
        }

        /// The name as it was given; the system shows its first 15 bytes. Threads: any.
        public let name: String
        /// The thread's loop, which has begun to run. After the thread's end it is inert. Threads: any.
        public let loop: GRunLoop

        private let body: ThreadBody
        private let handle: pthread_t

        /// Starts the thread and waits until its loop runs.
        ///
        /// - Parameters:
        ///   - name: shown by debuggers and `top`.
        ///   - stackSize: in bytes. Zero and less mean the system's default; a positive number below 512 KiB means 512
        ///     KiB, which Swift's runtime may need.
        ///   - setUp: called on the thread before its loop runs, to add what it is to serve. Blocks that it enqueues
        ///     may run before this returns, and must not wait for the caller. What it makes, and gives to items with
        ///     the isolation that it is called with, belongs to the thread. Nil: nothing is called.
        /// - Throws: ``StartError``, which says what the system has refused.
        ///
        /// Threads: any. The corresponding Foundation methods are `Thread.init(block:)` and `Thread.start()`, GLib's
        /// function is `g_thread_new`.
        public init(
            name: String = "GRunLoop", stackSize: Int = 0, setUp: (@Sendable (isolated Isolation) -> Void)? = nil
        ) throws(StartError) {
            if Fork.isChild { throw .forked }
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

        /// Ends every run that is under way on the thread, and the thread with them, after the callouts that are on its
        /// stack. A foreign loop that one of these callouts runs is not ended: the code that began it has to do that.
        /// The second time it does nothing.
        ///
        /// It does not wait for the end. ``stopAndWait()`` does, in async code, and ``join()`` in other code.
        ///
        /// Threads: any, the thread itself included. The corresponding Foundation method is `Thread.cancel()`, which
        /// only sets a flag.
        public func stop() {
            guard !Fork.refuses("Thread.stop") else { return }
            loop.stopAllRuns()
        }

        /// Waits until the thread has ended and is gone; it does not stop it. At once, if it has ended already.
        ///
        /// Threads: any but the thread itself, which would wait for ever: that stops the program, with a message. The
        /// corresponding GLib function is `g_thread_join`.
        @available(*, noasync, message: "it blocks its thread; await waitUntilEnded() instead")
        public func join() {
            guard !Fork.refuses("Thread.join") else { return }
            if loop.isOfThisThread {
                Log.fatal("Thread.join", "a thread cannot wait for its own end; call stop() there")
            }
            let ended = Semaphore()
            body.whenEnded { ended.signal() }
            ended.wait()
            body.reap(handle)
        }

        /// Waits until the thread has ended, without blocking one; it does not stop it. At once, if it has ended
        /// already. Being cancelled does not end the wait.
        ///
        /// To resume the tasks that wait is the last act of the thread: its loop has ended, and it calls nothing any
        /// more but the destructors of what others have left in thread-specific data. Only the form that blocks waits
        /// for those.
        ///
        /// Threads: any. If the task lives on the thread (an actor's, or one that prefers its loop's executor), it is
        /// resumed by a late job on Swift's thread pool, which is logged, see ``Executor``.
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
        /// `CancellationError`, others with a ``LoopEndedError``, sequences with their end. Being cancelled does not
        /// end the wait. If the thread has ended already, this returns immediately.
        ///
        /// It has a name of its own and is not an overload of ``stop()``. In async code the compiler prefers an async
        /// overload, so that `stop()` would wait there, and would not wait in a closure inside the same function.
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

    /// Stops every run of ours on the stack: each returns at the end of its pass.
    fileprivate func stopAllRuns() {
        lock.withLock { () -> Kick? in
            guard !isDead, innermost != nil else { return nil }
            for frame in framesLocked where !frame.run.isHosted { frame.run.isStopped = true }
            return wakeUpLocked(for: .innermostRun)
        }?.send()
    }
}
