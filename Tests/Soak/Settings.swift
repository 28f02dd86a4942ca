// SPDX-License-Identifier: Apache-2.0
// What a run of the soak was asked for, and what it allows.

import GRunLoop
import Glibc

/// Set by the command line before any other thread is there.
enum Settings {
    nonisolated(unsafe) static var seconds = 60
    nonisolated(unsafe) static var seed: UInt64 = 1
    /// Whether `g_main_loop_run` drives the loops.
    nonisolated(unsafe) static var isHosted = false

    static let producers = 8
    /// A sanitizer makes everything several times slower, and keeps a memory of its own.
    static let isSanitized = getenv("GRUN_SANITIZER") != nil
    /// How long is waited for what is owed. What does not come by then was lost.
    static let patience: Duration = .seconds(isSanitized ? 40 : 8)
    /// How long a kind may wait for its turn while it is owed something. A slice is 4 ms, and the longest wait that was
    /// seen was 120 ms, beside builds on two cores. When the machine stood still does not count: see Stalls.
    static let longestGap: Int64 = (isSanitized ? 20 : 2) * 1_000_000_000

    static var title: String { "soak: seed \(seed), \(isHosted ? "host" : "own") driver" }
}

/// The present, on the clock of the loops.
func nanoseconds() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
