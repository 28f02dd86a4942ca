// SPDX-License-Identifier: Apache-2.0
// Waiting for a condition, and arithmetic with dates.

import GRunLoop
import Glibc

extension Duration {
    /// Every run of a scenario has this limit, so that a loop that misbehaves shows as a line and not as a program that
    /// hangs.
    static let patience = Duration.seconds(20)

    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Waits, on a thread that has nothing else to do, until a condition holds. Returns false if it does not within the
/// limit.
func wait(within limit: Duration = .patience, until condition: () -> Bool) -> Bool {
    let end = GRunLoop.now.advanced(by: limit)
    while !condition() {
        if GRunLoop.now >= end { return false }
        usleep(50)
    }
    return true
}

/// Keeps the calling thread until a date: a callout that takes long.
func linger(until date: GRunLoop.Instant) {
    _ = wait(within: .patience) { GRunLoop.now >= date }
}

/// The dates of a repeating timer: the first one and every interval after it.
struct Grid: Sendable {
    let first: GRunLoop.Instant
    let interval: Duration

    /// The grid of a timer that has not fired yet, or that fires for the first time now.
    init(of timer: GRunLoop.Timer) {
        first = timer.fireDate
        interval = timer.interval
    }

    /// How many intervals a date lies after the first.
    func index(of date: GRunLoop.Instant) -> Int64 {
        first.duration(to: date).nanoseconds / interval.nanoseconds
    }

    func contains(_ date: GRunLoop.Instant) -> Bool {
        first.duration(to: date).nanoseconds % interval.nanoseconds == 0
    }

    /// Whether a date can be the first of the grid after a point that lies between the two given ones.
    func isFirst(_ date: GRunLoop.Instant, afterSomePointFrom start: GRunLoop.Instant, to end: GRunLoop.Instant) -> Bool
    {
        contains(date) && date > start && date - interval <= end
    }
}
