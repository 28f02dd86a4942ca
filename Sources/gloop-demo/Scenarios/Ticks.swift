// SPDX-License-Identifier: Apache-2.0
// Scenario ticks: a timer of the loop drives a for-await loop.

import GRunLoop

/// Each tick is at a date of the timer's grid. Ticks that are due while the task is busy become one tick with the
/// latest date. When the task leaves the for-await loop, the timer is invalidated.
enum Ticks {
    static let scenario = Scenario(
        "ticks", "for await over a timer of the loop: it stays on its grid, and missed ticks are merged.",
        expected: """
            tick 1 | on the grid
            tick 2 | on the grid
            tick 3 | on the grid | busy for more than 3 intervals
            tick 4 | on the grid | at least 3 intervals later
            tick 5 | on the grid
            after  | the loop has no timer
            """, body: run)

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        Task { @MainActor in
            await count(loop, log)
            log.line("after", loop.nextFireDate(forMode: .default) == nil ? "the loop has no timer" : "a timer is left")
            loop.stop()
        }
        loop.run(for: .patience)
    }

    @MainActor private static func count(_ loop: GRunLoop, _ log: Recorder) async {
        let interval = Duration.milliseconds(4)
        var first: GRunLoop.Instant?
        var last: GRunLoop.Instant?
        var number = 0
        for await date in loop.ticks(every: interval) {
            number += 1
            let start = first ?? date
            first = start
            let isOnGrid = start.duration(to: date).nanoseconds % interval.nanoseconds == 0
            var cells = ["tick \(number)", isOnGrid ? "on the grid" : "off the grid"]
            if number == 3 {
                linger(until: GRunLoop.now.advanced(by: interval * 3.5))
                cells.append("busy for more than 3 intervals")
            }
            if number == 4, let last {
                cells.append(last.duration(to: date) >= interval * 3 ? "at least 3 intervals later" : "too early")
            }
            log.line(cells: cells)
            last = date
            if number == 5 { return }
        }
    }
}
