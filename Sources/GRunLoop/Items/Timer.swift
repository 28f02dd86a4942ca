// SPDX-License-Identifier: Apache-2.0
// Timers: one-shot or repeating on a fixed grid, movable, with a tolerance.

extension GRunLoop {
    /// A closure that is called when a point in time has come.
    ///
    /// A timer never fires before its fire date. One that repeats keeps to its grid: after each fire the next date is
    /// the first one of the grid that lies after the end of the closure; dates that were missed are skipped. With an
    /// interval of 50 ms and a closure that takes 70 ms it fires at 0, 100, 200 ms.
    ///
    /// A timer is in one loop at a time, and in any number of its modes: one due time is one call. While its closure
    /// runs a nested loop, it does not fire there.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopTimer`.
    public final class Timer: @unchecked Sendable {
        let guardian = Guardian()
        // Guarded by the guardian. The order of the fields packs the object into 72 bytes, in malloc's class of 80; one
        // byte more costs 96.
        var handler: Handler?
        // Of TimerPlaces.swift.
        var firstMode: Unmanaged<ModeState>?
        @exclusivity(unchecked) var dates: TimerDates
        var isCommonItem = false
        var isValidLocked = true
        var isFiring = false
        // Of TimerPlaces.swift.
        var firstSlot: Int32 = -1

        /// A struct, because taking a bare closure out of an optional copies and wraps it.
        struct Handler {
            let body: @Sendable (Timer) -> Void
        }

        /// A timer that fires at a date, and then on the grid of its interval. It is in no loop yet, and may be added
        /// to any.
        ///
        /// - Parameters:
        ///   - fireAt: the first fire date. One in the past means now; one that is more than 16 years ahead fires in 16
        ///     years, and is shown as it was given.
        ///   - interval: the grid of the following dates. Zero or negative: the timer fires once, and is then
        ///     invalidated.
        ///   - tolerance: how much later than its date it may fire, so that several wake-ups become one. Negative means
        ///     none; a repeating timer takes at most half its interval.
        ///   - handler: called on the loop's thread. It is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerCreateWithHandler`.
        public convenience init(
            fireAt: Instant, interval: Duration = .zero, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
                at: GRunLoop.owner.timeHere, handler: handler)
        }

        /// - Parameter home: where the closure belongs, if that is an actor.
        init(
            date first: Nanoseconds, period span: Nanoseconds, tolerance: Duration, at now: Nanoseconds,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            dates = TimerDates(first: first, period: span, tolerance: tolerance, at: now, home: home)
            self.handler = Handler(body: handler)
        }

        /// A timer whose first fire is `interval` from now. It is in no loop yet, and may be added to any.
        ///
        /// - Parameters:
        ///   - interval: in a timer that repeats, zero and less mean 0.1 ms; in one that fires once, they mean now.
        ///     More than 16 years mean 16 years.
        ///   - repeats: false makes a timer that fires once.
        ///   - tolerance: how much later than its date it may fire. Negative means none; a repeating timer takes at
        ///     most half its interval.
        ///   - handler: called on the loop's thread. It is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Foundation initializer is `Timer(timeInterval:repeats:block:)`.
        public convenience init(
            interval: Duration, repeats: Bool, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                interval: interval, startingAt: GRunLoop.owner.timeHere, repeats: repeats, tolerance: tolerance,
                handler: handler)
        }

        /// - Parameter start: the present, or a moment ago.
        convenience init(
            interval: Duration, startingAt start: Nanoseconds, repeats: Bool = true, tolerance: Duration,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            let wanted = Nanoseconds(saturating: interval)
            let span = repeats && wanted <= 0 ? 100_000 : wanted
            self.init(
                date: start.addingSaturating(span), period: repeats ? span : 0, tolerance: tolerance, at: start,
                home: home, handler: handler)
        }

        // MARK: Validity

        /// False from the call of ``invalidate()`` on, and after the closure of a one-shot timer has returned.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Takes the timer out of every mode, for good, and releases its closure. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            invalidate(holding: guardian.lock())
        }

        /// With the timer's guardian held, which this releases.
        func invalidate(holding held: Guardian.Held) {
            let released = endLocked(held) ? handler.take() : nil
            guardian.unlock(held)
            Self.release(released)
        }

        /// Releases it where no lock is held: the deinit of what the closure holds is user code.
        @inline(never) private static func release(_ handler: consuming Handler?) {}
    }
}

extension GRunLoop.Timer: CustomStringConvertible {
    /// Whether it is valid and firing, its interval, tolerance and next date, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Timer \(hexAddress(self))>{forked}" }
        let (valid, firing, date, now) = guardian.withLock {
            (isValidLocked, isFiring, dates.requested, nowLocked)
        }
        let ahead = seconds(date.subtractingSaturating(now))
        let state =
            "valid = \(yesNo(valid)), firing = \(yesNo(firing)), interval = \(interval), tolerance = \(tolerance)"
        return
            "<GRunLoop.Timer \(hexAddress(self))>{\(state), next fire date = \(ahead) s from now (@ \(date)), callout "
            + "= closure}"
    }
}
