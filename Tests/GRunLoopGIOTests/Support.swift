// SPDX-License-Identifier: Apache-2.0
// An actor on a loop's thread, whose functions call GIO.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport

/// Lives on a thread of its own until the test ends.
actor Worker {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated let thread: GRunLoop.Thread
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(function: String = #function) throws {
        thread = try GRunLoop.Thread(name: function)
        executor = GRunLoop.Executor(thread.loop, label: "Worker")
    }

    /// Calls a closure on the worker's thread.
    func run<Value: Sendable>(_ body: @Sendable (isolated Worker) async throws -> Value) async rethrows -> Value {
        try await body(self)
    }
}

/// Runs a test's body on a worker, and then ends the worker's thread.
func onWorker(function: String = #function, _ body: @Sendable (isolated Worker) async throws -> Void) async throws {
    let worker = try Worker(function: function)
    let watchdog = Watchdog(Patience.normal * 3, "\(function) did not end")
    defer { watchdog.disarm() }
    do { try await worker.run(body) } catch {
        await worker.thread.stopAndWait()
        throw error
    }
    await worker.thread.stopAndWait()
}

/// Starts a GTask that completes with a number in the next iteration of the context.
func startTask(
    _ number: Int, _ cancellable: UnsafeMutablePointer<GCancellable>?, _ done: GAsyncReadyCallback?, _ data: gpointer?
) {
    let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
    g_task_return_int(task, number)
    g_object_unref(UnsafeMutableRawPointer(task))
}
