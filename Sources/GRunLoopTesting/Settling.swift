// SPDX-License-Identifier: Apache-2.0
// Waits until the work that a test has begun is done.

public import GRunLoop
public import Testing

/// Waits until a condition holds.
///
/// ```swift
/// button.click()
/// await eventually { model.isLoaded }
/// ```
///
/// The condition is evaluated immediately, after each event that wakes the main loop, and every 10 ms. If the condition
/// does not hold within the limit, the test fails. The message lists the work that is pending in the main loop. The
/// limit is in real time, even inside virtual time. If the task is cancelled, the wait ends, and the test fails.
///
/// - Parameters:
///   - limit: how long to wait. Zero and negative values mean that the condition is evaluated once.
///   - sourceLocation: the place that a failure names.
///   - condition: the condition, which is called on the main actor.
/// - Returns: whether the condition holds.
/// - Throws: the error of the condition.
///
/// Threads: the main actor.
@MainActor @discardableResult public func eventually(
    within limit: Duration = .seconds(10),
    sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: @MainActor () async throws -> Bool
) async rethrows -> Bool {
    if let reason = reasonAgainstMainThread() {
        fail(at: sourceLocation, "eventually: \(reason)")
        return false
    }
    let end = ContinuousClock.now.advanced(by: limit)
    let ticker = Ticker()
    defer { ticker.cancel() }
    while true {
        if try await condition() { return true }
        if Task.isCancelled || ContinuousClock.now >= end { break }
        await mainLoopWakes()
    }
    let reason = Task.isCancelled ? "when the test was cancelled" : "within \(limit)"
    fail(at: sourceLocation, "the condition did not hold \(reason). \(pendingWorkOfMainLoop()).")
    return false
}

extension GRunLoop {
    /// Waits until this loop has no more work, and is about to sleep.
    ///
    /// Before the function returns, the loop handles its blocks, signalled sources, due timers, messages and events,
    /// and the main actor's jobs. The function also waits until the process's other threads sleep, because one of them
    /// may enqueue a job of the main actor. This second wait takes at most half a second, because threads of other
    /// tests may run all the time.
    ///
    /// The function does not wait for timers that are due later, nor for other processes. A thread that reads a file,
    /// sleeps or waits for a lock counts as asleep. To wait for a result, use `eventually`.
    ///
    /// - Parameters:
    ///   - limit: how long to wait. If the loop is still busy after this time, the test fails, and the message lists
    ///     the pending work.
    ///   - sourceLocation: the place that a failure names.
    /// - Returns: true if the loop has no more work.
    ///
    /// Threads: the main actor. Call this function for `GRunLoop.main`; for another loop, the test fails.
    @MainActor @discardableResult public func settle(
        within limit: Duration = .seconds(10),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Bool {
        if let reason = isMain ? reasonAgainstMainThread() : "only GRunLoop.main can settle" {
            fail(at: sourceLocation, "settle: \(reason)")
            return false
        }
        let now = ContinuousClock.now
        let threads = now.advanced(by: limitForThreads)
        if await mainLoopSettles(before: now.advanced(by: limit), threadsBefore: threads) { return true }
        fail(at: sourceLocation, "the main loop is still busy after \(limit). \(pendingWorkOfMainLoop()).")
        return false
    }
}

@MainActor func pendingWorkOfMainLoop() -> String {
    let loop = GRunLoop.main
    let work = loop.pendingWork
    var text = work.isEmpty ? "No work of GRunLoop is pending in the main loop" : "Pending in the main loop: "
    text += work.prefix(10).joined(separator: "; ")
    if work.count > 10 { text += "; and \(work.count - 10) more" }
    if loop.isInVirtualTime {
        text +=
            ". The main loop is in virtual time: its timers fire when the test moves the clock, and Task.sleep, "
            + "DispatchQueue.main.asyncAfter and g_timeout_add use real time"
    }
    return text
}
