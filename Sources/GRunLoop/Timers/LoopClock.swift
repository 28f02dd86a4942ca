// SPDX-License-Identifier: Apache-2.0
// A loop's clock as a Swift `Clock`, and tasks that sleep on it.

extension GRunLoop {
    /// A loop's clock, for code that takes a Swift `Clock`.
    ///
    /// A task that sleeps on this clock is resumed by a delayed perform in the loop's common modes. So in virtual time,
    /// the test decides how long the task sleeps. There is no corresponding Core Foundation type.
    public struct LoopClock: Clock {
        /// Swift's own duration type.
        public typealias Duration = Swift.Duration
        /// A point in time on the loop's clock.
        public typealias Instant = GRunLoop.Instant

        let loop: GRunLoop

        /// The current time on the loop's clock. Threads: any.
        public var now: Instant { loop.time.instant }
        /// One nanosecond. Threads: any.
        public var minimumResolution: Duration { .nanoseconds(1) }

        /// Suspends the task until a point in time, in the common modes: see
        /// ``GRunLoop/sleep(until:tolerance:inModes:)``.
        ///
        /// - Parameters:
        ///   - deadline: when to resume. If it has passed, the call returns without suspending.
        ///   - tolerance: how much longer the sleep may take. Nil and negative values mean no tolerance.
        /// - Throws: `CancellationError` and ``LoopEndedError``.
        ///
        /// Threads: any.
        nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
            try await loop.sleep(until: deadline, tolerance: tolerance ?? .zero)
        }
    }

    /// The loop's clock, for code that takes a Swift `Clock`.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var clock: LoopClock { LoopClock(loop: self) }

    /// Suspends the task for a span of time.
    ///
    /// A delayed perform of the loop resumes the task. The sleep blocks no thread.
    ///
    /// - Parameters:
    ///   - span: how long to sleep. If it is zero or negative, the call returns without suspending. If it is 16 years
    ///     or more, the task sleeps until it is cancelled or the loop's thread ends.
    ///   - tolerance: how much longer the sleep may take, so that several wake-ups become one. Negative values mean no
    ///     tolerance.
    ///   - names: the modes in which the sleep can end. The sleep continues while the loop runs in none of these modes.
    /// - Throws: `CancellationError` as soon as the task is cancelled, even if it was cancelled before the call.
    ///   ``LoopEndedError`` if the loop's thread has ended, or ends during the sleep. In both cases, the delayed
    ///   perform is removed from the loop.
    ///
    /// Threads: any. The task resumes as with ``ItemSequence/Iterator/next()``. There is no corresponding Core
    /// Foundation function. The corresponding Swift function is `Task.sleep(for:tolerance:clock:)`.
    nonisolated(nonsending) public func sleep(
        for span: Duration, tolerance: Duration = .zero, inModes names: [Mode] = [.common]
    ) async throws {
        try await sleep(
            until: time.addingSaturating(Nanoseconds(saturating: span)).instant, tolerance: tolerance, inModes: names)
    }

    /// Suspends the task until a point in time: see ``sleep(for:tolerance:inModes:)``.
    ///
    /// - Parameters:
    ///   - deadline: when to resume. If it has passed, the call returns without suspending. If it is 16 years ahead or
    ///     more, the task sleeps until it is cancelled or the loop's thread ends.
    ///   - tolerance: how much longer the sleep may take, so that several wake-ups become one. Negative values mean no
    ///     tolerance.
    ///   - names: the modes in which the sleep can end. The sleep continues while the loop runs in none of these modes.
    /// - Throws: `CancellationError` and ``LoopEndedError``.
    ///
    /// Threads: any. There is no corresponding Core Foundation function. The corresponding Swift function is
    /// `Task.sleep(until:tolerance:clock:)`.
    nonisolated(nonsending) public func sleep(
        until deadline: Instant, tolerance: Duration = .zero, inModes names: [Mode] = [.common]
    ) async throws {
        try Task.checkCancellation()
        if isDead || Fork.refuses("sleep") { throw LoopEndedError() }
        let end = Nanoseconds(saturating: deadline)
        if end <= time { return }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox even if the task is cancelled before this function suspends it.
        defer { mailbox.close(.done) }
        // A sleep of 16 years or more does not end by itself, so its perform is added to no mode.
        let isFar = end.subtractingSaturating(time) >= .longest
        let perform = addPerform(at: end, tolerance: tolerance, inModes: isFar ? [] : names) { mailbox.send(()) }
        mailbox.open(for: perform)
        if await mailbox.next(isolation: #isolation) != nil { return }
        throw mailbox.failure
    }
}
