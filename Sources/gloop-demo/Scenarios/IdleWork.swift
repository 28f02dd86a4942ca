// SPDX-License-Identifier: Apache-2.0
// Scenario idle-work: long work is done in small pieces, when the loop has nothing else to do.

import GRunLoop

/// A table view measures its rows ahead of time in this way (item 271). An observer is called when the loop is about to
/// sleep. The observer enqueues a perform of one piece of work in the default mode. The perform wakes the loop, so the
/// loop does not sleep while work is left. But each piece of work is done in a separate pass, so the loop also handles
/// all other items. While the loop runs in another mode, the work waits. When no work is left, the observer invalidates
/// itself and the loop sleeps.
enum IdleWork {
    static let scenario = Scenario(
        "idle-work", "Idle work runs one item per pass when the loop would sleep, and waits in other modes.",
        expected: """
            default   | measures row 1   |
            default   | measures row 2   | in a pass of its own
            default   | returned stopped
            dragging  | timer            | no row is measured meanwhile
            dragging  | returned finished
            default   | measures row 3   | in a pass of its own
            default   | measures row 4   | in a pass of its own
            default   | nothing is left, the observer goes
            default   | the loop could sleep now
            default   | returned stopped
            """, body: run)

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let passes = Shared(0)
        let counter = GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() }
        loop.add(counter, forMode: .default)
        defer { counter.invalidate() }

        let work = Work(loop, passes, log)
        work.start()
        log.line("default", "returned \(loop.run(for: .patience))")

        let dragging: GRunLoop.Mode = "idle-work.dragging"
        let rows = work.rowsDone
        let timer = GRunLoop.Timer(interval: .milliseconds(2), repeats: false) { _ in
            log.line("dragging", "timer", work.rowsDone == rows ? "no row is measured meanwhile" : "a row was measured")
        }
        loop.add(timer, forMode: dragging)
        log.line("dragging", "returned \(loop.run(mode: dragging, for: .patience))")

        let sleeper = GRunLoop.Observer(activities: .beforeWaiting, order: 1) { observer, _ in
            guard !work.isGoingOn else { return }
            log.line("default", "the loop could sleep now")
            observer.invalidate()
            loop.stop()
        }
        loop.add(sleeper, forMode: .default)
        log.line("default", "returned \(loop.run(for: .patience))")
    }

    private final class Work: Sendable {
        private let loop: GRunLoop
        private let passes: Shared<Int>
        private let log: Recorder
        private let rows = Shared((done: 0, lastPass: 0))

        init(_ loop: GRunLoop, _ passes: Shared<Int>, _ log: Recorder) {
            self.loop = loop
            self.passes = passes
            self.log = log
        }

        var rowsDone: Int { rows.value.done }
        var isGoingOn: Bool { rowsDone < 4 }

        func start() {
            let observer = GRunLoop.Observer(activities: .beforeWaiting) { [self] observer, _ in
                guard isGoingOn else {
                    log.line("default", "nothing is left, the observer goes")
                    return observer.invalidate()
                }
                // The perform also wakes the loop. So the coming wait returns immediately, and the next pass performs
                // the work.
                try? loop.performOnThread(inModes: [.default]) { self.measureNext() }
            }
            loop.add(observer, forMode: .default)
        }

        private func measureNext() {
            let pass = passes.value
            let (row, last) = rows.update { rows in
                defer { rows.lastPass = pass }
                rows.done += 1
                return (rows.done, rows.lastPass)
            }
            log.line(
                "default", "measures row \(row)",
                row == 1 ? "" : pass > last ? "in a pass of its own" : "in the same pass")
            if row == 2 { loop.stop() }
        }
    }
}
