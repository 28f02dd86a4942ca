// SPDX-License-Identifier: Apache-2.0
// An actor that shows the compiler that code runs on a loop's thread.

extension GRunLoop {
    /// An actor without state that lives on a loop: code that is isolated to it runs on the loop's thread. By this
    /// actor a plain class, which is neither Sendable nor an actor, can belong to the thread:
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
    /// On a thread that is not a ``Thread``, `GRunLoop.current.isolation.assumeIsolated { here in ... }` does the same.
    ///
    /// Threads: any; its isolated code runs on the loop's. There is no corresponding Core Foundation type.
    public actor Isolation {
        /// The loop on whose thread the actor lives. Threads: any.
        public nonisolated let loop: GRunLoop
        private nonisolated let executor: Executor

        /// The loop's executor. Threads: any.
        public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        fileprivate init(of loop: GRunLoop) {
            self.loop = loop
            executor = loop.executor
        }
    }

    /// A new actor on the loop's thread; each access makes another one. If the loop has no ``executor`` yet, the access
    /// makes it. From then on, the loop has something to wait for in its common modes.
    ///
    /// Threads: any.
    public var isolation: Isolation { Isolation(of: self) }
}
