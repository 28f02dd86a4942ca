// SPDX-License-Identifier: Apache-2.0
// Scenario timer-grid: late callouts, skipped dates, and tolerance.

import GRunLoop

/// A repeating timer stays on its grid. If a callout takes longer than the interval, the next date is the first date of
/// the grid after the callout's end. Missed dates are skipped and never replayed (item 119). If dates pass while the
/// loop runs in another mode, the timer fires once late, and then continues on its grid (item 120). A timer never fires
/// early (item 113).
///
/// A tolerance lets the loop save wake-ups: a timer with a tolerance fires together with a later timer without a
/// tolerance (items 140 and 141). A repeating timer's tolerance is at most half its interval (item 139).
enum TimerGrid {
    static let scenario = Scenario(
        "timer-grid", "A late callout, skipped dates, and the effect of a tolerance.",
        expected: """
            fire 1   | on the grid, not early   | takes 2.5 intervals
            next     | the first date after the callout's end | at least 2 dates are skipped
            fire 2   | on the grid, not early   |
            next     | the first date after the callout's end |
            3.5 intervals in another mode       | returned timedOut
            fire 3   | on the grid, not early   | at least 2 intervals late
            next     | the first date after the callout's end |
            fire 4   | on the grid, not early   |
            next     | the first date after the callout's end |
            tolerance of 1 s on 20 ms           | 0.01 seconds
            wake-up 1 | timer due at 60 ms, may be 60 ms late | not early
            wake-up 1 | timer due at 80 ms                    | not early
            """, body: run)

    private static let mode: GRunLoop.Mode = "timer-grid"

    private static func run(_ log: Recorder) {
        fireOnGrid(GRunLoop.main, log)
        fireTogether(GRunLoop.main, log)
    }

    // MARK: The grid

    private static func fireOnGrid(_ loop: GRunLoop, _ log: Recorder) {
        let known = Shared<Grid?>(nil)
        let fires = Shared(0)
        let timer = GRunLoop.Timer(interval: .milliseconds(20), repeats: true) { timer in
            let grid = known.value ?? Grid(of: timer)
            known.value = grid
            let fire = fires.increment()
            report(fire, timer.fireDate, grid, log)
            if fire == 1 { linger(until: timer.fireDate.advanced(by: .milliseconds(50))) }
            checkNextDate(of: timer, after: fire, timer.fireDate, grid, loop, log)
            if fire == 2 || fire == 4 { loop.stop() }
        }
        loop.add(timer, forMode: mode)
        defer { timer.invalidate() }
        loop.run(mode: mode, for: .patience)

        let elsewhere: GRunLoop.Mode = "timer-grid.elsewhere"
        let idle = GRunLoop.Source {}
        loop.add(idle, forMode: elsewhere)
        defer { idle.invalidate() }
        let result = loop.run(mode: elsewhere, for: .milliseconds(70))
        log.line("3.5 intervals in another mode", "returned \(result)")
        loop.run(mode: mode, for: .patience)
    }

    private static func report(_ fire: Int, _ date: GRunLoop.Instant, _ grid: Grid, _ log: Recorder) {
        let late = date.duration(to: GRunLoop.now)
        let place = grid.contains(date) ? "on the grid" : "off the grid"
        let time = late >= .zero ? "not early" : "early"
        let isVeryLate = fire == 3 && late >= grid.interval * 2
        log.line(
            "fire \(fire)", "\(place), \(time)",
            fire == 1 ? "takes 2.5 intervals" : isVeryLate ? "at least 2 intervals late" : "")
        log.note("fire \(fire): date \(grid.index(of: date)) of the grid, \(milliseconds(late)) late")
    }

    /// Checks the timer's next date. The loop computes this date after the timer's closure has returned. So the check
    /// is in a block, which the loop runs at the end of the same pass (item 47).
    private static func checkNextDate(
        of timer: GRunLoop.Timer, after fire: Int, _ date: GRunLoop.Instant, _ grid: Grid, _ loop: GRunLoop,
        _ log: Recorder
    ) {
        let end = GRunLoop.now
        loop.perform(inModes: [mode]) {
            let next = timer.fireDate
            let isRight = grid.isFirst(next, afterSomePointFrom: end, to: GRunLoop.now)
            let skipped = grid.index(of: next) - grid.index(of: date) - 1
            log.line(
                "next", isRight ? "the first date after the callout's end" : "date \(grid.index(of: next)) of the grid",
                fire == 1 && skipped >= 2 ? "at least 2 dates are skipped" : "")
        }
    }

    // MARK: Tolerance

    private static func fireTogether(_ loop: GRunLoop, _ log: Recorder) {
        let repeating = GRunLoop.Timer(interval: .milliseconds(20), repeats: true, tolerance: .seconds(1)) { _ in }
        log.line("tolerance of 1 s on 20 ms", "\(repeating.tolerance)")

        let wakeUps = Shared(0)
        let observer = GRunLoop.Observer(activities: .afterWaiting) { _, _ in wakeUps.increment() }
        loop.add(observer, forMode: mode)
        defer { observer.invalidate() }
        let start = GRunLoop.now
        add(to: loop, due: start.advanced(by: .milliseconds(60)), tolerance: .milliseconds(60)) { time in
            log.line("wake-up \(wakeUps.value)", "timer due at 60 ms, may be 60 ms late", time)
        }
        add(to: loop, due: start.advanced(by: .milliseconds(80)), tolerance: .zero) { time in
            log.line("wake-up \(wakeUps.value)", "timer due at 80 ms", time)
        }
        loop.run(mode: mode, for: .patience)
    }

    private static func add(
        to loop: GRunLoop, due date: GRunLoop.Instant, tolerance: Duration,
        _ report: @escaping @Sendable (String) -> Void
    ) {
        let timer = GRunLoop.Timer(fireAt: date, tolerance: tolerance) { _ in
            report(GRunLoop.now >= date ? "not early" : "early")
        }
        loop.add(timer, forMode: mode)
    }
}
