// SPDX-License-Identifier: Apache-2.0
// The actor of the operations, on a loop's thread.

import CGRunGIO
import GRunLoop

/// All operations of a storm begin here.
actor Sea {
    nonisolated let thread: GRunLoop.Thread
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ name: String) throws {
        thread = try GRunLoop.Thread(name: name)
        executor = GRunLoop.Executor(thread.loop, label: name)
    }

    func run<Value: Sendable>(_ body: @Sendable (isolated Sea) async throws -> Value) async rethrows -> Value {
        try await body(self)
    }

    /// A thread of libdispatch keeps up to 1,024 jobs that other threads have passed to it. A job has 64 bytes.
    /// Without this, storms would seem to leave them. Each task takes long enough that all threads run some.
    func fillCaches() async {
        for _ in 0..<4 {
            let tasks = (0..<3000).map { _ in Task.detached { spin(microseconds: 10) } }
            for task in tasks { await task.value }
        }
    }

    /// Starts operations. Those of the moment `.beforeTask` and `.beforeLoop` are cancelled here, before the loop runs.
    func begin(_ numbers: Range<Int>, of kind: Kind, _ tally: Tally) -> [(moment: Moment, task: Task<Void, Never>)] {
        numbers.map { number in
            let moment = Moment(of: number)
            let task =
                switch moment {
                case .beforeTask: Task { await attempt(number, of: kind, tally) }
                default: Task.immediate { await attempt(number, of: kind, tally) }
                }
            if moment == .beforeTask || moment == .beforeLoop { task.cancel() }
            return (moment, task)
        }
    }

    private func attempt(_ number: Int, of kind: Kind, _ tally: Tally) async {
        tally.begin()
        do {
            try await kind.run(self, number)
            tally.end(.finished)
        } catch is CancellationError {
            tally.end(.cancelled)
        } catch {
            tally.end(.failed("\(error)"))
        }
    }

    /// Cancels tasks on the loop's own thread, each after the loop has run for a while.
    func cancel(_ tasks: [Task<Void, Never>]) async {
        for task in tasks {
            await Task.yield()
            task.cancel()
        }
    }
}

private func spin(microseconds: gint64) {
    let end = g_get_monotonic_time() + microseconds
    while g_get_monotonic_time() < end {}
}
