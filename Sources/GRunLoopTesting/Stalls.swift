// SPDX-License-Identifier: Apache-2.0
// A test that fails if a callout blocks the main loop.

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
/// Each stall is a failure of its own, with the callout and a backtrace of the main thread. The closure itself is a
/// callout of the main loop too, from one `await` to the next.
///
/// - Parameters:
///   - threshold: how long a callout may take, in real time. A millisecond at least. On a busy machine, a stall that is
///     hardly longer than the threshold may not be noticed.
///   - sourceLocation: the place that a failure names.
///   - body: the code to watch, which is called once.
/// - Returns: what the closure returns.
/// - Throws: what the closure throws.
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
            // The frames further out are those of the driver.
            let frames = stall.frames.prefix(16).map { "\n    \($0)" }.joined()
            // A test that settles reads the states of all threads, which may take long on a busy machine.
            if frames.contains("cgrun_testing_other_threads_sleep") { continue }
            fail(at: sourceLocation, "the main loop stalled: a callback \(stall.summary)\(frames)")
        }
    }
    let ticker = Ticker()
    defer { ticker.cancel() }
    // A callout that ends before the monitor's thread first looks at the loop is not seen.
    let end = ContinuousClock.now.advanced(by: limitForLoop)
    while monitor?.lookCount == 0, ContinuousClock.now < end { await mainLoopWakes() }
    if monitor?.lookCount == 0 {
        fail(at: sourceLocation, "expectNoStall cannot watch the main loop: its thread does not run")
    }
    let result = try await body()
    // Ends the callout that the closure is in. The monitor's thread may have noticed a stall, and then takes some
    // milliseconds until it reports the stall, and how long the callout has taken.
    for _ in 0..<3 { await mainLoopWakes() }
    let late = ContinuousClock.now.advanced(by: .seconds(1))
    while stalls.withLock({ $0.last?.isOver == false }), ContinuousClock.now < late { await mainLoopWakes() }
    return result
}
