// SPDX-License-Identifier: Apache-2.0
// The time of a program: gaps of twenty slots, in which each date has a slot that nothing else uses.

import Glibc

/// Dates are not compared with measured times but lie in slots. A timer owns one of the slots 1 to 8, a deadline one of
/// 9 to 12 (by the depth of its run), the end of a busy stretch slot 13, a stop from outside slot 14. The other slots
/// absorb delays. So two dates of a program are at least one slot apart, and a wake-up that is less than a slot late
/// changes nothing. The runner calls greater delays timing noise.
public struct Grid: Sendable {
    public static let slotsPerGap: UInt64 = 20
    static let firstTimerSlot: UInt64 = 1
    static let timerSlots = 8
    static let firstDeadlineSlot: UInt64 = 9
    static let maximumDepth = 4
    static let busySlot: UInt64 = 13
    static let outsideSlot: UInt64 = 14

    /// CLOCK_MONOTONIC when the program began, in nanoseconds.
    public let origin: UInt64
    /// The length of a slot in nanoseconds.
    public let slot: UInt64

    public init(origin: UInt64 = Grid.now, slot: UInt64) {
        self.origin = origin
        self.slot = slot
    }

    /// CLOCK_MONOTONIC in nanoseconds.
    public static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The gap that is running.
    public var gap: Int { gap(of: Int64(Grid.now)) }

    /// The gap of a date, which may lie before the beginning.
    public func gap(of date: Int64) -> Int {
        let length = Int64(slot * Grid.slotsPerGap)
        let offset = date - Int64(origin)
        return Int(offset >= 0 ? offset / length : (offset - length + 1) / length)
    }

    /// A slot of a gap, as CLOCK_MONOTONIC in nanoseconds.
    public func date(gap: Int, slot index: UInt64) -> UInt64 {
        UInt64(Int64(origin) + Int64(gap) * Int64(slot * Grid.slotsPerGap) + Int64(index * slot))
    }

    /// The length of a gap in nanoseconds.
    public var gapLength: UInt64 { slot * Grid.slotsPerGap }

    /// The date of a timer in a gap; a nil gap is the past.
    public func date(ofTimer index: Int, gap: Int?) -> UInt64 {
        let slot = Grid.firstTimerSlot + UInt64(index % Grid.timerSlots)
        return date(gap: gap ?? self.gap - 5, slot: slot)
    }

    /// Sleeps until a date; the loop's thread does nothing meanwhile.
    public static func sleep(until date: UInt64) {
        var time = timespec(tv_sec: Int(date / 1_000_000_000), tv_nsec: Int(date % 1_000_000_000))
        while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
    }
}
