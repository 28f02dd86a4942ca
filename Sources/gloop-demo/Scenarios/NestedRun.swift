// SPDX-License-Identifier: Apache-2.0
// Scenario nested-run: a callout runs the loop again, in another mode.

import GRunLoop

/// Every callout may run the loop again (item 179). The nested run has its own mode, entry and exit. A stop ends only
/// the innermost run (items 58, 180 and 181), and then the outer pass continues (item 182). A timer whose closure is
/// being called does not fire in the nested run, even if it repeats and is in that run's mode. Other timers of this
/// mode do fire (item 131).
enum NestedRun {
    static let scenario = Scenario(
        "nested-run", "A timer's closure runs the loop in another mode; a stop ends only that run.",
        expected: """
                1 entry          |
                2 beforeTimers   |
                3 beforeSources  |
                4 blocks         |
                5 sources        |
                7 beforeWaiting  |
                8 wait           |
                9 afterWaiting   |
               10 service        | timer  | in nested-run.outer: runs inner
            >   1 entry          |
            >   2 beforeTimers   |
            >   3 beforeSources  |
            >   4 blocks         |
            >   5 sources        |
            >   7 beforeWaiting  |
            >   8 wait           |
            >   9 afterWaiting   |
            >  10 service        | timer  | another one, in nested-run.inner: signals the source
            >  11 blocks         |
            >   2 beforeTimers   |
            >   3 beforeSources  |
            >   4 blocks         |
            >   5 sources        | source | in nested-run.inner: stops the run
            >   5 blocks         |
            >   8 wait           |
            >  10 service        |
            >  11 blocks         |
            >     exit           |
                                 |        | inner returned stopped; in nested-run.outer again
               11 blocks         | block  | in nested-run.outer: the same pass goes on
                2 beforeTimers   |
                3 beforeSources  |
                4 blocks         |
                5 sources        |
                7 beforeWaiting  |
                8 wait           |
                9 afterWaiting   |
               10 service        | timer  | in nested-run.outer: on its grid again; stops the run
               11 blocks         |
                  exit           |
            run                  | returns | stopped
            """, body: run)

    private static let outer: GRunLoop.Mode = "nested-run.outer"
    private static let inner: GRunLoop.Mode = "nested-run.inner"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let source = GRunLoop.Source {
            log.detail("in \(loop.currentMode ?? "none"): stops the run")
            loop.stop()
        }
        loop.add(source, forMode: inner)
        defer { source.invalidate() }

        let another = GRunLoop.Timer(fireAt: GRunLoop.now.advanced(by: .milliseconds(10))) { _ in
            log.detail("another one, in \(loop.currentMode ?? "none"): signals the source")
            source.signal()
        }
        loop.add(another, forMode: inner)

        let grid = Shared<Grid?>(nil)
        let timer = GRunLoop.Timer(interval: .milliseconds(1), repeats: true) { timer in
            if let grid = grid.value {
                let place = grid.contains(timer.fireDate) ? "on its grid" : "off its grid"
                log.detail("in \(loop.currentMode ?? "none"): \(place) again; stops the run")
                loop.stop()
            } else {
                grid.value = Grid(of: timer)
                runInner(loop, log)
            }
        }
        loop.add(timer, forMode: outer)
        loop.add(timer, forMode: inner)
        defer { timer.invalidate() }

        let result = log.follow(loop) { loop.run(mode: outer, for: .patience) }
        log.line("run", "returns", "\(result)")
    }

    private static func runInner(_ loop: GRunLoop, _ log: Recorder) {
        log.detail("in \(loop.currentMode ?? "none"): runs inner")
        loop.perform(inModes: [outer]) { log.detail("in \(loop.currentMode ?? "none"): the same pass goes on") }
        let result = loop.run(mode: inner, for: .patience)
        log.line("", "", "inner returned \(result); in \(loop.currentMode ?? "none") again")
    }
}
