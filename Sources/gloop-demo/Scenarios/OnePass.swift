// SPDX-License-Identifier: Apache-2.0
// Scenario one-pass: the stages of a pass, and the callouts of each stage.

import GRunLoop

/// The run makes two passes. In the first pass nothing is handled before the wait, so the loop calls the observers of
/// beforeWaiting and afterWaiting (item 44). Then it fires the due timers (item 51). A block that the timer's closure
/// enqueues runs in the same pass (item 47). The second pass handles a version-0 source. So the loop polls without
/// waiting and without calling those observers, and then services a ready item (item 43). The run returns at the end of
/// this pass, because it was told to return after a source (item 26). Entry and exit are reported once (item 40).
enum OnePass {
    static let scenario = Scenario(
        "one-pass", "One pass that sleeps and one that only looks, stage by stage.",
        expected: """
             1 entry          | observer   |
             2 beforeTimers   | observer   |
             3 beforeSources  | observer   |
             4 blocks         | block      | enqueued before the run
             5 sources        |            |
             7 beforeWaiting  | observer   |
             8 wait           |            |
             9 afterWaiting   | observer   |
            10 service        | timer      | enqueues a block, signals the source
            11 blocks         | block      | enqueued by the timer
             2 beforeTimers   | observer   |
             3 beforeSources  | observer   |
             4 blocks         |            |
             5 sources        | source     | makes the descriptor readable
             5 blocks         |            |
             8 wait           |            |
            10 service        | descriptor | is readable; reads "x"
            11 blocks         |            |
               exit           | observer   |
            run               | returns    | handledSource
            """, body: run)

    private static func run(_ log: Recorder) throws {
        let loop = GRunLoop.main
        let mode: GRunLoop.Mode = "one-pass"

        // The items, in the order in which the loop will call them.
        let observer = GRunLoop.Observer(activities: .all) { _, _ in }
        loop.add(observer, forMode: mode)
        defer { observer.invalidate() }

        loop.perform(inModes: [mode]) { log.detail("enqueued before the run") }

        let pipe = try Pipe()
        let source = GRunLoop.Source {
            log.detail("makes the descriptor readable")
            pipe.write("x")
        }
        loop.add(source, forMode: mode)
        defer { source.invalidate() }

        let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in
            log.detail("enqueues a block, signals the source")
            loop.perform(inModes: [mode]) { log.detail("enqueued by the timer") }
            source.signal()
        }
        loop.add(timer, forMode: mode)

        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, conditions in
            // The callout must read, because the loop never reads from a descriptor.
            log.detail("is \(conditions); reads \"\(pipe.read())\"")
        }
        try loop.add(descriptor, forMode: mode)
        defer { descriptor.invalidate() }

        let result = log.follow(loop) {
            loop.run(mode: mode, for: .patience, returningAfterSourceHandled: true)
        }
        log.line("run", "returns", "\(result)")
    }
}
