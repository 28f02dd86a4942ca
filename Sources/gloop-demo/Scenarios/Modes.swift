// SPDX-License-Identifier: Apache-2.0
// Scenario modes: a run serves only the items of its mode.

import GRunLoop

/// Outside a run, a loop has no current mode (item 6). A signalled source stays signalled until one of its modes runs
/// (item 94). A block for several modes runs once, in the mode that runs first (item 170). A run ends when its mode has
/// no item left to wait for (item 23). A run does not begin in a mode that does not exist (item 18), or in a mode that
/// has only observers (item 17).
enum Modes {
    static let scenario = Scenario(
        "modes", "Only the items of the current mode are served; other items wait for their modes.",
        expected: """
            outside         | the current mode is nil
            signal a source of drawing
            run in typing   | timer     | the current mode is modes.typing
            run in typing   | block for typing and drawing
            run in typing   | returns   | finished
            the source      | is signalled still
            run in drawing  | source    | the current mode is modes.drawing
            run in drawing  | returns   | handledSource
            run in unknown  | returns   | finished
            the mode        | exists    | no
            run in watched  | returns   | finished
            its observer    | was called 0 times
            outside         | the current mode is nil
            """, body: run)

    private static let typing: GRunLoop.Mode = "modes.typing"
    private static let drawing: GRunLoop.Mode = "modes.drawing"

    private static func run(_ log: Recorder) {
        let loop = GRunLoop.main
        log.line("outside", "the current mode is \(name(loop.currentMode))")
        serveOneModeAtATime(loop, log)
        runWhatIsEmpty(loop, log)
        log.line("outside", "the current mode is \(name(loop.currentMode))")
    }

    private static func serveOneModeAtATime(_ loop: GRunLoop, _ log: Recorder) {
        let source = GRunLoop.Source {
            log.line("run in drawing", "source", "the current mode is \(name(loop.currentMode))")
        }
        loop.add(source, forMode: drawing)
        defer { source.invalidate() }
        let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in
            log.line("run in typing", "timer", "the current mode is \(name(loop.currentMode))")
            loop.perform(inModes: [typing, drawing]) { log.line("run in typing", "block for typing and drawing") }
        }
        loop.add(timer, forMode: typing)

        source.signal()
        log.line("signal a source of drawing")
        // The timer does not repeat, so it is invalid after it has fired. Then the mode has no item left, and the run
        // finishes.
        var result = loop.run(mode: typing, for: .patience)
        log.line("run in typing", "returns", "\(result)")
        log.line("the source", source.isSignalled ? "is signalled still" : "has lost its signal")

        result = loop.run(mode: drawing, for: .patience, returningAfterSourceHandled: true)
        log.line("run in drawing", "returns", "\(result)")
    }

    private static func runWhatIsEmpty(_ loop: GRunLoop, _ log: Recorder) {
        let unknown: GRunLoop.Mode = "modes.unknown"
        log.line("run in unknown", "returns", "\(loop.run(mode: unknown, for: .patience))")
        log.line("the mode", "exists", loop.allModes.contains(unknown) ? "yes" : "no")

        let watched: GRunLoop.Mode = "modes.watched"
        let calls = Shared(0)
        let observer = GRunLoop.Observer(activities: .all) { _, _ in calls.increment() }
        loop.add(observer, forMode: watched)
        defer { observer.invalidate() }
        log.line("run in watched", "returns", "\(loop.run(mode: watched, for: .patience))")
        log.line("its observer", "was called \(calls.value) times")
    }

    private static func name(_ mode: GRunLoop.Mode?) -> String {
        mode.map(\.rawValue) ?? "nil"
    }
}
