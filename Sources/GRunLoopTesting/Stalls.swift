// SPDX-License-Identifier: Apache-2.0
// Fails a test if a callout blocks the main loop.

import GRunLoop
import GRunLoopDiagnostics
import Synchronization
public import Testing

/// Fails the test if a callout of the main loop takes longer than a threshold while the closure runs.
///
/// ```swift
/// await expectNoStall(over: .milliseconds(100)) {
///     await model.load()
/// }
/// ```
///
/// Each stall is a separate failure, with the callout and a backtrace of the main thread. Each part of the closure
/// between two `await`s is also a callout of the main loop.
///
/// - Parameters:
///   - threshold: how long a callout may take, in real time. The minimum is a millisecond. On a busy machine, the test
///     may miss a stall that is only slightly longer than the threshold.
///   - sourceLocation: the place that a failure names.
///   - body: the code to watch, which is called once.
/// - Returns: the value of the closure.
/// - Throws: the error of the closure.
///
/// Threads: the main actor. See `GRunLoop.StallMonitor`.
@MainActor public func expectNoStall<Result>(
    over threshold: Duration,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @MainActor () async throws -> Result
) async rethrows -> Result {
    let stalls = Mutex<[GRunLoop.StallReport]>([])
    // A stall is reported when it is noticed, and again when it is over, with its full length.
    let monitor: GRunLoop.StallMonitor?
    do {
        monitor = try GRunLoop.StallMonitor(.main, threshold: threshold) { report in
            // A test that settles reads the states of all threads, which may take long on a busy machine.
            if report.frames.contains(where: { "\($0)".contains("cgrun_testing_other_threads_sleep") }) { return }
            stalls.withLock { stalls in
                if report.isOver, !stalls.isEmpty { stalls.removeLast() }
                stalls.append(report)
            }
        }
    } catch {
        fail(at: sourceLocation, "expectNoStall cannot watch the main loop: \(error)")
        monitor = nil
    }
    defer {
        monitor?.stop()
        for stall in stalls.withLock({ $0 }) {
            // The outer frames belong to the driver, so they are left out.
            let frames = stall.frames.prefix(16).map { "\n    \($0)" }.joined()
            // A test that settles reads the states of all threads, which may take long on a busy machine.
            if frames.contains("cgrun_testing_other_threads_sleep") { continue }
            fail(at: sourceLocation, "the main loop stalled: a callback \(stall.summary)\(frames)")
        }
    }
    let ticker = Ticker()
    defer { ticker.cancel() }
    // The monitor misses a callout that ends before its thread first checks the loop. So wait for the first check.
    let end = ContinuousClock.now.advanced(by: limitForLoop)
    while monitor?.lookCount == 0, ContinuousClock.now < end { await mainLoopWakes() }
    if monitor?.lookCount == 0 {
        fail(at: sourceLocation, "expectNoStall cannot watch the main loop: its thread does not run")
    }
    let result = try await body()
    // Ends the current callout of the closure. If the monitor's thread has noticed a stall, it needs some milliseconds
    // to report the stall and the duration of the callout.
    for _ in 0..<3 { await mainLoopWakes() }
    let late = ContinuousClock.now.advanced(by: .seconds(1))
    while stalls.withLock({ $0.last?.isOver == false }), ContinuousClock.now < late { await mainLoopWakes() }
    return result
}
