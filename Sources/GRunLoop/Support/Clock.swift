// SPDX-License-Identifier: Apache-2.0
// Time inside the loop: nanoseconds of CLOCK_MONOTONIC in an Int64, with saturating arithmetic.

import CGRun

/// A point or a span of time on `CLOCK_MONOTONIC`, in nanoseconds. `never` is later than every other point.
package typealias Nanoseconds = Int64

extension Nanoseconds {
    package static let never = Nanoseconds.max
    /// The latest time that a clock can show; `never` is later.
    static var last: Nanoseconds { .max - 1 }

    /// 16 years. A longer time limit means no limit. A timer with a more distant date fires after 16 years (items 34
    /// and 116).
    package static let longest: Nanoseconds = 504_911_232 * 1_000_000_000

    package static func now() -> Nanoseconds {
        cgrun_now()
    }

    /// Rounds a duration to the nearest nanosecond, halves upwards. A positive duration becomes at least 1. A duration
    /// that does not fit becomes the largest or the smallest Int64.
    package init(saturating duration: Duration) {
        let attoseconds = duration.attoseconds
        // For the greatest durations the sum overflows to a negative number, so the code below divides instead.
        let rounded = attoseconds &+ 500_000_000
        let high = UInt64(truncatingIfNeeded: rounded >> 64)
        // The usual case uses multiplications instead of a 128-bit division: 2^64 = 18,446,744,073 * 10^9 +
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

    /// For negative durations, and for durations of more than 150 years.
    private init(dividing attoseconds: Int128) {
        let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(clamping: quotient + (remainder >= 500_000_000 ? 1 : remainder < -500_000_000 ? -1 : 0))
    }

    /// Converts a delay to nanoseconds. A negative delay becomes 0, and a delay of more than 16 years becomes 16 years.
    init(ahead delay: Duration) {
        self = Swift.min(Swift.max(0, Nanoseconds(saturating: delay)), .longest)
    }

    init(saturating instant: GRunLoop.Instant) {
        self.init(saturating: GRunLoop.epoch.duration(to: instant))
    }

    // A virtual clock may show any time, and a span may have any length, so all arithmetic with times saturates.

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
    /// A point in time on the loop's clock, which is `CLOCK_MONOTONIC`, the clock of `g_get_monotonic_time`.
    ///
    /// `GRunLoop.now + .seconds(2)` is two seconds from now. The first and last instants that a loop distinguishes are
    /// ``distantPast`` and ``distantFuture``. A loop rounds an instant to the nearest nanosecond, and a positive span
    /// to at least one nanosecond. Changing the calendar clock does not affect instants.
    ///
    /// The corresponding Core Foundation type is `CFAbsoluteTime`. The Foundation type is `Date`.
    public typealias Instant = SuspendingClock.Instant

    static let epoch = SuspendingClock().systemEpoch

    /// An instant that is never reached. As a limit, it means no limit.
    ///
    /// Threads: any. The corresponding Foundation property is `Date.distantFuture`.
    public static let distantFuture = Nanoseconds.never.instant

    /// An instant that has always passed. As a limit, it means one pass without sleeping.
    ///
    /// Threads: any. The corresponding Foundation property is `Date.distantPast`.
    public static let distantPast = Nanoseconds.min.instant
}
