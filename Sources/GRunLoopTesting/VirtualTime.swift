// SPDX-License-Identifier: Apache-2.0
// Virtual time of the main loop in a test that awaits.

public import GRunLoop
public import Testing

/// The clock of the main loop inside ``withVirtualTime(from:sourceLocation:_:)``.
///
/// The clock stands still until the test moves it. Threads: the main actor.
@MainActor public final class MainVirtualTime {
    /// The time of the test that the current task belongs to.
    @TaskLocal fileprivate static var current: MainVirtualTime?

    private let sourceLocation: SourceLocation
    private let loop = GRunLoop.main
    /// The reason why the clock cannot be moved; nil if it can be moved.
    fileprivate var refusal: String?
    private var isAdvancing = false
    /// How often the test has moved the clock.
    private var moves = 0

    fileprivate init(_ sourceLocation: SourceLocation) { self.sourceLocation = sourceLocation }

    /// The current time on the clock of the main loop. Threads: the main actor.
    public var now: GRunLoop.Instant { loop.clock.now }

    /// Moves the clock forward. Each item that becomes due is served at its own time, in the order of the due times.
    ///
    /// Before the clock moves, and after each step, the main loop serves all ready items. A task that sleeps on the
    /// loop's clock resumes at its own time, on any thread.
    ///
    /// - Parameter span: how far to move the clock. With zero and negative values, the loop only serves the items that
    ///   are ready now.
    ///
    /// Threads: the main actor.
    public func advance(by span: Duration) async {
        await advance(to: now.advanced(by: max(.zero, span)))
    }

    /// Moves the clock to a point in time: see ``advance(by:)``. If that time has passed, the clock does not move.
    ///
    /// Threads: the main actor.
    public func advance(to end: GRunLoop.Instant) async {
        guard beginMove() else { return }
        defer { isAdvancing = false }
        var rest = Duration.seconds(5)
        guard await settle(&rest) else { return }
        while let next = loop.nextDeadline(in: .default), next <= end {
            loop.moveVirtualTime(to: next)
            guard await settle(&rest) else { return }
        }
        loop.moveVirtualTime(to: end)
        _ = await settle(&rest)
    }

    /// Moves the clock to the date of the next timer or delayed perform, and fires this timer or perform.
    ///
    /// - Returns: false if the main loop has no timer and no delayed perform in the default mode.
    ///
    /// Threads: the main actor.
    @discardableResult public func advanceToNextTimer() async -> Bool {
        guard beginMove() else { return false }
        defer { isAdvancing = false }
        var rest = Duration.seconds(5)
        guard await settle(&rest), let next = loop.nextDeadline(in: .default) else { return false }
        loop.moveVirtualTime(to: next)
        return await settle(&rest)
    }

    /// Lets the main loop serve all ready items, and waits for the process's other threads. The wait takes at most 500
    /// ms in one step, and five seconds in all steps of one advance.
    ///
    /// Returns false if the loop stays busy, if the task was cancelled, or if virtual time has ended meanwhile.
    private func settle(_ rest: inout Duration) async -> Bool {
        let now = ContinuousClock.now
        let threads = now.advanced(by: max(.milliseconds(1), min(rest, limitForThreads)))
        let isIdle = await mainLoopSettles(before: now.advanced(by: limitForLoop), threadsBefore: threads)
        rest -= ContinuousClock.now - now
        if !isIdle {
            fail(at: sourceLocation, "the main loop is still busy after \(limitForLoop). \(pendingWorkOfMainLoop()).")
        }
        return isIdle && refusal == nil && !Task.isCancelled
    }

    private func beginMove() -> Bool {
        let busy = isAdvancing ? "the clock is being moved already: await one advance before the next one" : nil
        if let reason = refusal ?? busy {
            fail(at: sourceLocation, reason)
            return false
        }
        isAdvancing = true
        moves += 1
        return true
    }

    /// Reports when the test waits for a long real time, until the task is cancelled.
    fileprivate func noteLongWaits() async {
        var known = -1
        while !Task.isCancelled {
            if known == moves, !isAdvancing {
                let place = "\(sourceLocation.fileID):\(sourceLocation.line)"
                note(
                    "the test at \(place) is in virtual time, but has waited for two seconds of real time. "
                        + "\(pendingWorkOfMainLoop())")
                return
            }
            known = moves
            try? await Task.sleep(for: .seconds(2))
        }
    }
}

/// Runs the closure in virtual time: the clock of the main loop stands still until the test moves the clock.
///
/// ```swift
/// @MainActor @Test func anHour() async {
///     await withVirtualTime { time in
///         let countdown = Countdown(from: 3600)       // uses GRunLoop.main
///         countdown.start()
///         await time.advance(by: .seconds(3599))
///         #expect(countdown.remaining == 1)
///     }
/// }
/// ```
///
/// The timers and delayed performs of `GRunLoop.main`, its `sleep`, its `ticks` and its `clock` use virtual time. So
/// functions that take a clock, such as `debounce` of swift-async-algorithms, can also use virtual time. A run with a
/// limit that is nested in a callout moves the clock itself, instead of sleeping.
///
/// These use real time: `Task.sleep(for:)`, `DispatchQueue.main.asyncAfter`, timers of Foundation, and `g_timeout_add`.
/// A timer that another thread makes gets its date from the real clock.
///
/// If the test waits for more than two seconds while its clock stands still, a note on standard error lists the pending
/// work.
///
/// The process has one main loop. Timers of other tests that run at the same time would also be in virtual time. So
/// give the trait `.mainLoop` to the suites that use the main loop. A second call waits until the first call has
/// returned.
///
/// - Parameters:
///   - start: the first reading of the clock. Nil means the real time.
///   - sourceLocation: the place that a failure names.
///   - body: the closure to call, once.
/// - Returns: the value of the closure.
/// - Throws: the error of the closure.
///
/// Threads: the main actor. At the end, items of the main loop keep their dates, which may be far ahead of real time.
@MainActor public func withVirtualTime<Result>(
    from start: GRunLoop.Instant? = nil,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @MainActor (MainVirtualTime) async throws -> Result
) async rethrows -> Result {
    if let outer = MainVirtualTime.current, outer.refusal == nil {
        fail(at: sourceLocation, "withVirtualTime is called inside of itself; use the time of the outer call")
        return try await body(outer)
    }
    let time = MainVirtualTime(sourceLocation)
    if let reason = reasonAgainstMainThread() {
        fail(at: sourceLocation, "withVirtualTime: \(reason)")
        time.refusal = reason
        return try await body(time)
    }
    await MainLoopTurn.virtualTime.begin()
    defer { MainLoopTurn.virtualTime.end() }
    GRunLoop.main.beginVirtualTime(from: start ?? GRunLoop.now)
    defer {
        time.refusal = "virtual time is over: the clock cannot be moved after withVirtualTime has returned"
        GRunLoop.main.endVirtualTime()
    }
    let watch = Task { await time.noteLongWaits() }
    defer { watch.cancel() }
    return try await MainVirtualTime.$current.withValue(time) { try await body(time) }
}
