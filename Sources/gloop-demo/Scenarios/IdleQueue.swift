// SPDX-License-Identifier: Apache-2.0
// Scenario idle-queue: the loop's own queue, for work that can wait.

import GRunLoop

/// An idle queue replaces the observer of the scenario idle-work. Its work runs only when nothing else is ready: due
/// timers and new blocks are called first. While the loop runs in another mode, the work pauses. If a queue has a time
/// per pass, the loop does as much of the queue's work in a pass as fits into that time. With an empty queue the loop
/// sleeps.
enum IdleQueue {
    static let scenario = Scenario(
        "idle-queue", "An idle queue runs its work when nothing else is ready, before the loop sleeps.",
        expected: """
            default   | timer            | was due: it comes first
            default   | measures row 1   | in pass 1 of the work
            default   | measures row 2   | in pass 2 of the work
            default   | layout           | enqueued by row 2: comes before row 3
            default   | returned stopped
            dragging  | timer            | no row is measured meanwhile
            dragging  | returned finished
            default   | measures row 3   | in pass 3 of the work
            default   | measures row 4   | in pass 4 of the work
            default   | draws tile 1     | in pass 5 of the work
            default   | draws tile 2     | in pass 5 of the work
            default   | draws tile 3     | in pass 5 of the work
            default   | another thread's | the loop slept, and was woken
            default   | returned stopped
            """, body: run)

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        let passes = Shared(0)
        let counter = GRunLoop.Observer(activities: .beforeWaiting) { _, _ in passes.increment() }
        let dragging: GRunLoop.Mode = "idle-queue.dragging"
        let rows = GRunLoop.IdleQueue()
        let tiles = GRunLoop.IdleQueue(timePerPass: .seconds(10))
        loop.add(rows, forMode: .default)
        defer { for item in [rows, tiles] { item.invalidate() } }

        // `work` counts only the passes in which a closure of the queue was called.
        let work = Shared((pass: 0, count: 0))
        @Sendable func note(_ what: String) {
            let pass = passes.value
            let count = work.update { work in
                if work.pass != pass { work = (pass, work.count + 1) }
                return work.count
            }
            log.line("default", what, "in pass \(count) of the work")
        }
        for row in 1...4 {
            rows.enqueue {
                note("measures row \(row)")
                guard row == 2 else { return }
                loop.perform {
                    log.line("default", "layout", "enqueued by row 2: comes before row 3")
                    loop.stop()
                }
            }
        }
        loop.add(
            GRunLoop.Timer(fireAt: GRunLoop.now) { _ in log.line("default", "timer", "was due: it comes first") },
            forMode: .default)
        loop.add(counter, forMode: .default)
        defer { counter.invalidate() }
        log.line("default", "returned \(loop.run(for: .patience))")

        let waiting = rows.count
        loop.add(
            GRunLoop.Timer(interval: .milliseconds(2), repeats: false) { _ in
                log.line(
                    "dragging", "timer", rows.count == waiting ? "no row is measured meanwhile" : "a row was measured")
            }, forMode: dragging)
        log.line("dragging", "returned \(loop.run(mode: dragging, for: .patience))")

        // Queues in the same mode take turns. So the queue of tiles is added only after the work of the queue of rows
        // is done.
        rows.enqueue {
            for tile in 1...3 { tiles.enqueue { note("draws tile \(tile)") } }
            loop.add(tiles, forMode: .default)
        }
        let thread = WorkerThread {
            guard wait(until: { tiles.count == 0 && rows.count == 0 && loop.isWaiting }) else { return loop.stop() }
            rows.enqueue {
                log.line("default", "another thread's", "the loop slept, and was woken")
                loop.stop()
            }
        }
        log.line("default", "returned \(loop.run(for: .patience))")
        thread.join()
    }
}
