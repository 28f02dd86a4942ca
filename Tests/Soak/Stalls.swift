// SPDX-License-Identifier: Apache-2.0
// Times in which the machine stood still. They do not count as starvation.

import Glibc
import TestSupport

/// A thread that only looks at the clock, and notices times in which it could not run.
enum Stalls {
    private static let pause: Int64 = 20_000_000
    private static let seen = Shared((last: Int64(0), stalls: [(start: Int64, end: Int64)]()))

    static func start() {
        seen.update { $0.last = nanoseconds() }
        _ = startThread {
            while true {
                usleep(UInt32(pause / 1000))
                let now = nanoseconds()
                seen.update {
                    if now - $0.last > 10 * pause { $0.stalls.append((start: $0.last, end: now)) }
                    $0.last = now
                }
            }
        }
    }

    /// How long the machine stood still between the two dates.
    static func time(from start: Int64, to end: Int64) -> Int64 {
        // This thread may run again before the watching thread does.
        _ = seen.wait(timeout: Settings.patience) { $0.last >= end }
        return seen.value.stalls.reduce(0) { $0 + max(0, min($1.end, end) - max($1.start, start)) }
    }
}
