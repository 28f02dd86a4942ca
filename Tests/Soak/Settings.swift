// SPDX-License-Identifier: Apache-2.0
// The options and the limits of the soak.

import GRunLoop
import Glibc

/// The command line sets these before any other thread exists.
enum Settings {
    nonisolated(unsafe) static var seconds = 60
    nonisolated(unsafe) static var seed: UInt64 = 1
    /// Whether `g_main_loop_run` drives the loops.
    nonisolated(unsafe) static var isHosted = false

    static let producers = 8
    /// A sanitizer makes everything several times slower, and keeps its own memory.
    static let isSanitized = getenv("GRUN_SANITIZER") != nil
    /// How long the soak waits for an event. An event that does not come by then is lost.
    static let patience: Duration = .seconds(isSanitized ? 40 : 8)
    /// How long a kind with pending events may wait for its turn. A slice is 4 ms, and the longest observed wait was
    /// 120 ms, beside builds on two cores. Times in which the machine stood still do not count: see Stalls.
    static let longestGap: Int64 = (isSanitized ? 20 : 2) * 1_000_000_000

    static var title: String { "soak: seed \(seed), \(isHosted ? "host" : "own") driver" }
}

/// The current time, on the clock of the loops.
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
