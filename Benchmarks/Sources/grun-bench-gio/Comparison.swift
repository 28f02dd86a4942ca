// SPDX-License-Identifier: Apache-2.0
// The medians of two ways to do the same, measured alternately.

import GRunLoop

/// The times of the same work with callbacks of C and in Swift.
struct Comparison {
    let name: String
    /// Microseconds, or milliseconds.
    let unit: String
    /// The greatest ratio that we want.
    let goal: Double
    var (c, swift) = ([Double](), [Double]())

    init(_ name: String, unit: String, goal: Double) { (self.name, self.unit, self.goal) = (name, unit, goal) }

    /// A row of the table: the name, both medians, the ratio of the medians, and the goal.
    var row: String {
        let (c, swift) = (median(c), median(swift))
        return padded(name, 18) + padded("\(rounded(c)) \(unit)", 14) + padded("\(rounded(swift)) \(unit)", 14)
            + padded("\(rounded(swift / c))", 7) + "\(goal)"
    }
}

private func median(_ numbers: [Double]) -> Double {
    let sorted = numbers.sorted()
    return (sorted[sorted.count / 2] + sorted[(sorted.count - 1) / 2]) / 2
}

private func rounded(_ number: Double) -> Double { (number * 100).rounded() / 100 }

private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
}

/// An actor on a loop's thread.
actor Worker {
    nonisolated let thread: GRunLoop.Thread
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ name: String) throws {
        thread = try GRunLoop.Thread(name: name)
        executor = GRunLoop.Executor(thread.loop, label: name)
    }

    func run<Value: Sendable>(_ body: @Sendable (isolated Worker) async throws -> Value) async rethrows -> Value {
        try await body(self)
    }
}

/// The time in nanoseconds since a time of the same clock.
func elapsed(since start: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}
