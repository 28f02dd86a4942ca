// SPDX-License-Identifier: Apache-2.0
// Time inside the loop: nanoseconds of CLOCK_MONOTONIC in an Int64, saturating. Never milliseconds.

import CGRun

/// A point of `CLOCK_MONOTONIC` or a span of it, in nanoseconds. `never` is later than every other point.
package typealias Nanoseconds = Int64

extension Nanoseconds {
    package static let never = Nanoseconds.max
    /// The last instant of a clock; `never` is later.
    static var last: Nanoseconds { .max - 1 }

    /// 16 years. A longer limit means no limit, and a timer that is further ahead fires after 16 years (items 34 and
    /// 116).
    package static let longest: Nanoseconds = 504_911_232 * 1_000_000_000

    package static func now() -> Nanoseconds {
        cgrun_now()
    }

    /// Rounds a duration to the nearest nanosecond, halves upwards. A positive duration becomes at least 1. A duration
    /// that is too large or too small to represent becomes the greatest or the least value.
    package init(saturating duration: Duration) {
        let attoseconds = duration.attoseconds
        // Overflows to a negative number for the greatest durations: those take the division below.
        let rounded = attoseconds &+ 500_000_000
        let high = UInt64(truncatingIfNeeded: rounded >> 64)
        // The usual case: three multiplications in place of a 128-bit division. 2^64 = 18,446,744,073 * 10^9 +
        // 709,551,616.
        guard high < 1 << 28 else {
            self.init(dividing: attoseconds)
            return
        }
        let low = UInt64(truncatingIfNeeded: rounded).quotientAndRemainder(dividingBy: 1_000_000_000)
        let rest = (high &* 709_551_616 &+ low.remainder) / 1_000_000_000
        let nearest = Nanoseconds(truncatingIfNeeded: high &* 18_446_744_073 &+ low.quotient &+ rest)
        self = nearest == 0 && attoseconds > 0 ? 1 : nearest
    }

    /// For negative durations, and those of more than 150 years.
    private init(dividing attoseconds: Int128) {
        let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(clamping: quotient + (remainder >= 500_000_000 ? 1 : remainder < -500_000_000 ? -1 : 0))
    }

    /// A delay from now: 0 if it is negative, 16 years at most.
    init(ahead delay: Duration) {
        self = Swift.min(Swift.max(0, Nanoseconds(saturating: delay)), .longest)
    }

    init(saturating instant: GRunLoop.Instant) {
        self.init(saturating: GRunLoop.epoch.duration(to: instant))
    }

    // A clock of virtual time may be at any instant, and a span may have any length, so times are computed with these
    // saturating functions.

    package func addingSaturating(_ other: Nanoseconds) -> Nanoseconds {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    package func subtractingSaturating(_ other: Nanoseconds) -> Nanoseconds {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    func multipliedSaturating(by other: Nanoseconds) -> Nanoseconds {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }

    var duration: Duration { .nanoseconds(self) }
    var instant: GRunLoop.Instant { GRunLoop.epoch.advanced(by: .nanoseconds(self)) }
}

extension GRunLoop {
    /// A point on the loop's clock: `CLOCK_MONOTONIC`, which is also what `g_get_monotonic_time` counts.
    ///
    /// `GRunLoop.now + .seconds(2)` is a point in two seconds. The two ends of the clock are ``distantFuture`` and
    /// ``distantPast``. A loop counts whole nanoseconds: it rounds an instant to the nearest one, and a positive span
    /// to at least one. Setting the calendar's clock moves no instant.
    ///
    /// The corresponding Core Foundation type is `CFAbsoluteTime`, Foundation's is `Date`.
    public typealias Instant = SuspendingClock.Instant

    static let epoch = SuspendingClock().systemEpoch

    /// A point that is never reached. As a limit it means that there is no limit.
    ///
    /// Threads: any. The corresponding Foundation property is `Date.distantFuture`.
    public static let distantFuture = Nanoseconds.never.instant

    /// A point that has always passed. As a limit it means one pass without sleeping.
    ///
    /// Threads: any. The corresponding Foundation property is `Date.distantPast`.
    public static let distantPast = Nanoseconds.min.instant
}
