// SPDX-License-Identifier: Apache-2.0
// Waiting for a condition, and arithmetic with dates.

import GRunLoop
import Glibc

extension Duration {
    /// The time limit of every run in a scenario. If the loop has a bug, the limit ends the run. Then the scenario gets
    /// a wrong line, but the program does not hang.
    static let patience = Duration.seconds(20)

    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Blocks the calling thread until a condition holds. Returns false if the condition does not hold within the limit.
func wait(within limit: Duration = .patience, until condition: () -> Bool) -> Bool {
    let end = GRunLoop.now.advanced(by: limit)
    while !condition() {
        if GRunLoop.now >= end { return false }
        usleep(50)
    }
    return true
}

/// Blocks the calling thread until a date, but for 20 s at most. Scenarios call this function to simulate long work.
func linger(until date: GRunLoop.Instant) {
    _ = wait(within: .patience) { GRunLoop.now >= date }
}

/// The dates of a repeating timer: the first date, and another date after each interval.
struct Grid: Sendable {
    let first: GRunLoop.Instant
    let interval: Duration

    /// The grid of a timer that has not fired yet, or that is firing for the first time.
    init(of timer: GRunLoop.Timer) {
        first = timer.fireDate
        interval = timer.interval
    }

    /// The number of intervals from the first date of the grid to `date`.
    func index(of date: GRunLoop.Instant) -> Int64 {
        first.duration(to: date).nanoseconds / interval.nanoseconds
    }

    func contains(_ date: GRunLoop.Instant) -> Bool {
        first.duration(to: date).nanoseconds % interval.nanoseconds == 0
    }

    /// Returns whether a date is the first date of the grid after some moment between `start` and `end`.
    func isFirst(_ date: GRunLoop.Instant, afterSomePointFrom start: GRunLoop.Instant, to end: GRunLoop.Instant) -> Bool
    {
        contains(date) && date > start && date - interval <= end
    }
}
