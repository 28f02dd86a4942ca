// SPDX-License-Identifier: Apache-2.0
// An experiment: the main loop as the executor of the main actor, so that nested runs serve the main actor.
//
// The executor uses an unstable interface of Swift's runtime. With a compiler other than Swift 6.3, the executor is not
// compiled, and `install()` throws an error.

public import GRunLoop
import Synchronization

#if compiler(>=6.3) && compiler(<6.4)
    @_spi(ExperimentalCustomExecutors) import _Concurrency

    /// Runs the jobs of the main actor on the main loop, as the loop's own executor runs its jobs.
    private final class LoopExecutor: MainExecutor {
        private let queue = GRunLoop.main.executor
        private let isStopped = Atomic(false)

        func enqueue(_ job: consuming ExecutorJob) { queue.append(UnownedJob(job), for: self) }

        func checkIsolated() { queue.checkIsolated() }

        func isIsolatingCurrentContext() -> Bool? { queue.isIsolatingCurrentContext() }

        /// Swift's runtime calls this method for an async main.
        func run() throws { while !isStopped.load(ordering: .relaxed), GRunLoop.main.run() != .finished {} }

        func stop() {
            isStopped.store(true, ordering: .relaxed)
            GRunLoop.main.stop()
        }
    }

    private struct Factory: ExecutorFactory {
        static let mainExecutor: any MainExecutor = LoopExecutor()
        static var defaultExecutor: any TaskExecutor { PlatformExecutorFactory.defaultExecutor }
    }
#endif

extension GRunLoop {
    /// The main loop as the executor of the main actor. This is an experiment, which may be changed or removed.
    ///
    /// Without this executor, libdispatch runs the jobs of the main actor as blocks of the main dispatch queue.
    /// libdispatch does not start a block inside another block. A job of the main actor may run the loop, for example
    /// in a modal dialog. All other jobs of the main actor then wait until that run returns. With this executor, nested
    /// runs serve the main actor.
    ///
    /// ```swift
    /// // main.swift
    /// import GRunLoop
    /// import GRunLoopMainExecutor
    ///
    /// try GRunLoop.MainExecutor.install()
    /// Task { @MainActor in ... }
    /// GRunLoop.main.run()
    /// ```
    ///
    /// These things change:
    ///
    /// - Jobs of the main actor are not blocks of `DispatchQueue.main` any more. The loop serves both, but each in its
    ///   own order. A nested run inside a job of the main actor also serves `DispatchQueue.main`. Inside a block of
    ///   `DispatchQueue.main`, only the main actor is served.
    /// - The main loop serves the main actor in its common modes, under each driver. If neither a run nor a host drives
    ///   the main loop, no job of the main actor runs.
    /// - `Task.sleep` still uses Swift's own timers.
    public enum MainExecutor {
        /// Makes the main loop the executor of the main actor, until the process ends. Call this function once, in a
        /// synchronous main, before any other code uses the main actor.
        ///
        /// - Throws: `GRunLoop.SystemError.unsupported` if this library was built with a compiler other than Swift 6.3.
        ///   After the error, nothing has changed.
        ///
        /// Threads: the main thread. On another thread the process ends with a message.
        public static func install() throws(SystemError) {
            #if compiler(>=6.3) && compiler(<6.4)
                guard GRunLoop.main.isCalledOnOwnThread(by: "MainExecutor.install") else { return }
                _createExecutors(factory: Factory.self)
            #else
                throw .unsupported(
                    "GRunLoop.MainExecutor needs an interface of Swift 6.3 that later versions change; build the "
                        + "program with Swift 6.3, or leave MainExecutor.install() out")
            #endif
        }
    }
}
