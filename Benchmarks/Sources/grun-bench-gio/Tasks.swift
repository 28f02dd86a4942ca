// SPDX-License-Identifier: Apache-2.0
// An empty GTask: by GIO.call, and with a callback of C.

import CGRunGIO
import GRunLoopGIO

func measureTasks(_ rounds: Int) async throws -> Comparison {
    let worker = try Worker("worker")
    var comparison = Comparison("an empty GTask", unit: "us", goal: 1.5)
    for _ in 0..<100 * rounds {
        comparison.c.append(await worker.run { _ in await tasksInC(1000) })
        comparison.swift.append(try await worker.run { _ in try await tasksInSwift(1000) })
    }
    await worker.thread.stopAndWait()
    return comparison
}

private func tasksInSwift(_ count: Int, isolation: isolated (any Actor)? = #isolation) async throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<count {
        _ = try await GIO.call {
            startTask($0, $1, $2)
        } finish: { _, result, error in
            g_task_propagate_int(result, error)
        }
    }
    return elapsed(since: start) / Double(count) / 1000
}

private func tasksInC(_ count: Int, isolation: isolated (any Actor)? = #isolation) async -> Double {
    let start = ContinuousClock.now
    let chain = Chain(count) { data in
        let cancellable: UnsafeMutablePointer<GCancellable> = g_cancellable_new()
        startTask(
            cancellable,
            { _, result, data in
                _ = g_task_propagate_int(result, nil)
                Chain.next(data)
            }, data)
        g_object_unref(cancellable)
    }
    await chain.run()
    return elapsed(since: start) / Double(count) / 1000
}

/// Starts a task that completes in the next iteration.
private func startTask(
    _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: GAsyncReadyCallback?, _ data: gpointer
) {
    let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
    g_task_return_int(task, 7)
    g_object_unref(UnsafeMutableRawPointer(task))
}
