// SPDX-License-Identifier: Apache-2.0
// Sleeping on a loop's clock.

extension GRunLoop {
    /// A loop's clock, for code that takes a `Clock`.
    ///
    /// It sleeps by delayed performs of the loop, in its common modes, so that in virtual time it sleeps as long as the
    /// test says. There is no corresponding Core Foundation type.
    public struct LoopClock: Clock {
        /// Swift's own.
        public typealias Duration = Swift.Duration
        /// A point on the loop's clock.
        public typealias Instant = GRunLoop.Instant

        let loop: GRunLoop

        /// The present on the loop's clock. Threads: any.
        public var now: Instant { loop.time.instant }
        /// One nanosecond. Threads: any.
        public var minimumResolution: Duration { .nanoseconds(1) }

        /// Suspends the task until a point in time, in the common modes: see
        /// ``GRunLoop/sleep(until:tolerance:inModes:)``.
        ///
        /// - Parameters:
        ///   - deadline: one that has passed: not at all.
        ///   - tolerance: how much longer it may take. Nil and negative mean none.
        /// - Throws: `CancellationError` and ``LoopEndedError``.
        ///
        /// Threads: any.
        nonisolated(nonsending) public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
            try await loop.sleep(until: deadline, tolerance: tolerance ?? .zero)
        }
    }

    /// The loop's clock, for code that takes a `Clock`.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    public var clock: LoopClock { LoopClock(loop: self) }

    /// Suspends the task for a time, by a delayed perform of the loop. The thread goes on.
    ///
    /// - Parameters:
    ///   - span: how long. Zero and less: not at all. 16 years and more: until the task is cancelled.
    ///   - tolerance: how much longer it may take, so that several wake-ups become one. Negative means none.
    ///   - names: the modes in which the sleep is ended: while none of them runs it lasts.
    /// - Throws: `CancellationError` as soon as the task is cancelled, also before it sleeps; ``LoopEndedError`` when
    ///   the loop's thread has ended or ends. Nothing of it stays in the loop then.
    ///
    /// Threads: any. It is resumed as ``ItemSequence/Iterator/next()`` is. There is no corresponding Core Foundation
    /// function; Swift's is `Task.sleep(for:tolerance:clock:)`.
    nonisolated(nonsending) public func sleep(
        for span: Duration, tolerance: Duration = .zero, inModes names: [Mode] = [.common]
    ) async throws {
        try await sleep(
            until: time.addingSaturating(Nanoseconds(saturating: span)).instant, tolerance: tolerance, inModes: names)
    }

    /// Suspends the task until a point in time, by a delayed perform: see ``sleep(for:tolerance:inModes:)``.
    ///
    /// - Parameters:
    ///   - deadline: until when. One that has passed: not at all. 16 years ahead and more: until the task is cancelled.
    ///   - tolerance: how much longer it may take, so that several wake-ups become one. Negative means none.
    ///   - names: the modes in which the sleep is ended: while none of them runs it lasts.
    /// - Throws: `CancellationError` and ``LoopEndedError``.
    ///
    /// Threads: any. There is no corresponding Core Foundation function; Swift's is
    /// `Task.sleep(until:tolerance:clock:)`.
    nonisolated(nonsending) public func sleep(
        until deadline: Instant, tolerance: Duration = .zero, inModes names: [Mode] = [.common]
    ) async throws {
        try Task.checkCancellation()
        if isDead || Fork.refuses("sleep") { throw LoopEndedError() }
        let end = Nanoseconds(saturating: deadline)
        if end <= time { return }
        let mailbox = Mailbox<Void>(of: self) { older, _ in older }
        // Closes the mailbox also if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        // What is further away would be performed after 16 years.
        let isFar = end.subtractingSaturating(time) >= .longest
        let perform = addPerform(at: end, tolerance: tolerance, inModes: isFar ? [] : names) { mailbox.send(()) }
        mailbox.open(for: perform)
        if await mailbox.next(isolation: #isolation) != nil { return }
        throw mailbox.failure
    }
}
