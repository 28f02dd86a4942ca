// SPDX-License-Identifier: Apache-2.0
// An actor whose isolated code runs on a loop's thread.

extension GRunLoop {
    /// An actor without state whose isolated code runs on a loop's thread. Use this actor to bind objects of a plain
    /// class, which is neither Sendable nor an actor, to the thread:
    ///
    /// ```swift
    /// final class Meter {
    ///     private var count = 0
    ///
    ///     func start(isolation: isolated GRunLoop.Isolation) {
    ///         let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true, isolation: isolation) { _ in
    ///             self.count += 1
    ///         }
    ///         isolation.loop.add(timer, forMode: .default)
    ///     }
    /// }
    ///
    /// let worker = try GRunLoop.Thread(name: "meter") { here in Meter().start(isolation: here) }
    /// ```
    ///
    /// On a thread that is not a ``GRunLoop/Thread``, call `GRunLoop.current.isolation.assumeIsolated { here in ... }`
    /// instead.
    ///
    /// Threads: any; isolated code runs on the loop's thread. There is no corresponding Core Foundation type.
    public actor Isolation {
        /// The loop whose thread runs the actor's code. Threads: any.
        public nonisolated let loop: GRunLoop
        private nonisolated let executor: Executor

        /// The loop's executor. Threads: any.
        public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        fileprivate init(of loop: GRunLoop) {
            self.loop = loop
            executor = loop.executor
        }
    }

    /// A new actor whose isolated code runs on the loop's thread; each access makes another actor. If the loop has no
    /// ``executor`` yet, the access also makes the executor. From then on, the loop's common modes are never finished.
    ///
    /// Threads: any.
    public var isolation: Isolation { Isolation(of: self) }
}
