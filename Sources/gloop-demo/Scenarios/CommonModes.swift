// SPDX-License-Identifier: Apache-2.0
// Scenario common-modes: an item in the common modes stays active while a program tracks a drag.

import GRunLoop

/// While the user drags, a toolkit runs its loop in a tracking mode. During the drag, a timer of the default mode
/// waits. A common timer fires in both modes and stays on its grid (item 167). For a common source, the loop calls the
/// schedule handler with the name of each common mode (item 84). If another mode becomes common later, the loop also
/// calls the handler with its name (items 156 and 157). A block for the common modes runs when the loop first runs one
/// of them (item 165). `contains` with `.common` checks only the set of common items (items 158 to 161).
///
/// A common mode stays common forever. So this scenario uses the loop of a separate thread.
enum CommonModes {
    static let scenario = Scenario(
        "common-modes", "Items in the common modes continue while the program tracks a drag.",
        expected: """
            add to common        | source scheduled in kCFRunLoopDefaultMode
            make tracking common | source scheduled in GRunLoopTrackingMode
            run in tracking      | block for the common modes
            run in tracking      | common timer, on its grid
            run in tracking      | returned stopped
            run in default       | timer of the default mode, late
            run in default       | common timer, on its grid
            run in default       | returned stopped
            timer of default     | is a common item: no
            take from tracking   | source cancelled in GRunLoopTrackingMode
            the source           | is a common item: yes
            take from common     | source cancelled in kCFRunLoopDefaultMode
            the source           | is a common item: no
            """,
        body: { log in
            let errors = Shared<[String]>([])
            LoopThread { loop in
                do {
                    try run(loop, log)
                } catch {
                    errors.value.append("\(error)")
                }
            }.join()
            if let error = errors.value.first { throw ScenarioError(error) }
        })

    private static func run(_ loop: GRunLoop, _ log: Recorder) throws {
        let step = Shared("")
        let source = GRunLoop.Source(
            schedule: { _, mode in log.line(step.value, "source scheduled in \(mode)") },
            cancel: { _, mode in log.line(step.value, "source cancelled in \(mode)") },
            perform: {})
        step.value = "add to common"
        loop.add(source, forMode: .common)
        step.value = "make tracking common"
        try loop.addCommonMode(.tracking)

        runInBoth(loop, step, log)

        step.value = "take from tracking"
        loop.remove(source, forMode: .tracking)
        log.line("the source", "is a common item: \(loop.contains(source, forMode: .common) ? "yes" : "no")")
        step.value = "take from common"
        loop.remove(source, forMode: .common)
        log.line("the source", "is a common item: \(loop.contains(source, forMode: .common) ? "yes" : "no")")
    }

    private static func runInBoth(_ loop: GRunLoop, _ step: Shared<String>, _ log: Recorder) {
        let idle = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in
            log.line(step.value, "timer of the default mode, late")
        }
        loop.add(idle, forMode: .default)

        let grid = Shared<Grid?>(nil)
        let everywhere = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { timer in
            let itsGrid = grid.value ?? Grid(of: timer)
            grid.value = itsGrid
            log.line(step.value, "common timer, \(itsGrid.contains(timer.fireDate) ? "on" : "off") its grid")
            loop.stop()
        }
        loop.add(everywhere, forMode: .common)
        loop.perform(inModes: [.common]) { log.line(step.value, "block for the common modes") }

        step.value = "run in tracking"
        var result = loop.run(mode: .tracking, for: .patience)
        log.line("run in tracking", "returned \(result)")
        step.value = "run in default"
        result = loop.run(mode: .default, for: .patience)
        log.line("run in default", "returned \(result)")
        everywhere.invalidate()

        let other = GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in }
        loop.add(other, forMode: .default)
        log.line("timer of default", "is a common item: \(loop.contains(other, forMode: .common) ? "yes" : "no")")
    }
}
