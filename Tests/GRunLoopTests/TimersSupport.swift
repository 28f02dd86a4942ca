// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of timers: exact spans, and callouts that take time.

import GRunLoop
import Glibc
import TestSupport

extension Duration {
    /// The number of whole nanoseconds, as the loop counts.
    var inNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

extension GRunLoop.Instant {
    /// The number of nanoseconds from `other` to this instant.
    func nanoseconds(since other: GRunLoop.Instant) -> Int64 {
        other.duration(to: self).inNanoseconds
    }

    /// Returns true if this lies a whole number of intervals after `first`, at least one.
    func isOnGrid(from first: GRunLoop.Instant, _ interval: Duration) -> Bool {
        let distance = nanoseconds(since: first)
        return distance > 0 && distance % interval.inNanoseconds == 0
    }
}

/// A date that is still ahead when timers for it are made and added. A past date would count from then on (item 112).
func soon() -> GRunLoop.Instant {
    GRunLoop.now.advanced(by: .milliseconds(30))
}

/// Keeps the thread busy until `instant` has passed.
func stayBusy(until instant: GRunLoop.Instant) {
    while GRunLoop.now <= instant { usleep(200) }
}

/// One call of a timer's closure: its date, and the time of the call.
struct Fire: Sendable {
    let date: GRunLoop.Instant
    let begin: GRunLoop.Instant
    let end: GRunLoop.Instant
}

/// Records the fires of a timer.
final class FireLog: Sendable {
    private let noted = Shared<[Fire]>([])

    var fires: [Fire] { noted.value }
    var dates: [GRunLoop.Instant] { fires.map(\.date) }

    /// Makes a repeating timer in `mode`. `body` gets the number of the fire, from 1 on.
    func timer(
        _ loop: GRunLoop, _ mode: GRunLoop.Mode = .default, first: GRunLoop.Instant, every interval: Duration,
        _ body: @escaping @Sendable (Int, GRunLoop.Timer) -> Void = { _, _ in }
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(fireAt: first, interval: interval) { [self] timer in
            let (date, begin) = (timer.fireDate, GRunLoop.now)
            body(fires.count + 1, timer)
            noted.update { $0.append(Fire(date: date, begin: begin, end: GRunLoop.now)) }
        }
        loop.add(timer, forMode: mode)
        return timer
    }
}
