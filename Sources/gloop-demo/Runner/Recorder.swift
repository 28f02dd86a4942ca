// SPDX-License-Identifier: Apache-2.0
// Records the lines that a scenario writes, and the stages of a loop that the scenario follows.

import GRunLoop
import GRunLoopDiagnostics
import Synchronization

/// The lines of one scenario, in the order of the events. Threads: any.
final class Recorder: Sendable {
    private let state = Mutex(State())
    /// The file for a drawing of measured values; nil if the user wants no drawing.
    let plotPath: String?

    init(plotPath: String? = nil) {
        self.plotPath = plotPath
    }

    var lines: [Line] { state.withLock { $0.lines } }
    var notes: [String] { state.withLock { $0.notes } }

    /// Adds a line, which is compared with the expected line.
    func line(_ cells: String...) {
        line(cells: cells)
    }

    func line(cells: [String]) {
        state.withLock { $0.append(cells) }
    }

    /// Adds a line like ``line(_:)``, and indents it by `depth` further levels.
    func line(depth: Int, _ cells: String...) {
        state.withLock { $0.append(cells, depth: depth) }
    }

    /// Sets the third cell of the current callout's line. Call this function in a callout of a loop that
    /// ``follow(_:_:_:)`` records.
    func detail(_ text: String) {
        state.withLock { $0.setDetail(text) }
    }

    /// Adds a note, such as a measured value. Notes are printed, but not compared with expected lines.
    func note(_ text: String) {
        state.withLock { $0.notes.append(text) }
    }

    func indented<Result>(_ body: () throws -> Result) rethrows -> Result {
        state.withLock { $0.indent += 1 }
        defer { state.withLock { $0.indent -= 1 } }
        return try body()
    }

    /// The choice of the stages that get a line.
    enum Stages {
        case all
        /// Only the stages with a callout.
        case withCallouts
    }

    /// While `body` runs, adds a line for each stage and each callout of a loop: `stage | callout | detail`. Call this
    /// function on the loop's own thread.
    func follow<Result>(_ loop: GRunLoop, _ stages: Stages = .all, _ body: () throws -> Result) rethrows -> Result {
        let trace = GRunLoop.Trace()
        state.withLock { $0.follow(trace, stages) }
        loop.startTracing(trace)
        defer {
            loop.stopTracing()
            state.withLock { $0.endFollowing() }
        }
        return try body()
    }
}

extension Recorder {
    private struct State {
        var lines: [Line] = []
        var notes: [String] = []
        var indent = 0
        private var trace: GRunLoop.Trace?
        private var taken = 0
        private var depth = 0
        private var stages: [Int: GRunLoop.Trace.Stage] = [:]
        private var wanted = Stages.all
        /// True if the last line is the line of a stage that has no callout yet.
        private var isStageOpen = false

        mutating func append(_ cells: [String], depth further: Int = 0) {
            takeEvents()
            closeStage()
            lines.append(Line(depth: indent + depth + further, cells))
        }

        mutating func setDetail(_ text: String) {
            takeEvents()
            guard let last = lines.indices.last else { return append(["", "", text]) }
            lines[last][2] = text
        }

        mutating func follow(_ trace: GRunLoop.Trace, _ stages: Stages) {
            self.trace = trace
            wanted = stages
            taken = 0
            depth = 0
            self.stages = [:]
        }

        mutating func endFollowing() {
            takeEvents()
            closeStage()
            trace = nil
            depth = 0
        }

        /// Ends the last stage. If this stage has no callout, and only stages with callouts are wanted, removes the
        /// stage's line.
        private mutating func closeStage() {
            if isStageOpen, wanted == .withCallouts { lines.removeLast() }
            isStageOpen = false
        }

        /// Adds the lines of the stages and callouts since the last call of this function. Call this function before
        /// each new line, so that all lines are in the order of the events.
        private mutating func takeEvents() {
            guard let trace else { return }
            let events = trace.events
            for event in events.dropFirst(taken) { take(event) }
            taken = events.count
        }

        private mutating func take(_ event: GRunLoop.Trace.Event) {
            let level = event.depth - 1
            switch event.kind {
            case .stage(let stage):
                defer { stages[level] = stage }
                depth = stage == .exit ? max(0, level - 1) : level
                // A loop may start a wait again before it finds a ready item. All these waits count as one wait.
                if stage == .wait, stages[level] == .wait { return }
                closeStage()
                lines.append(Line(depth: indent + level, [stage.label(after: stages[level])]))
                isStageOpen = true
            case .callout(let callout, _):
                // The first callout of a stage shares the stage's line.
                if isStageOpen, let last = lines.indices.last {
                    lines[last][1] = callout.label
                } else {
                    lines.append(Line(depth: indent + level, ["", callout.label]))
                }
                isStageOpen = false
            }
        }
    }
}

extension GRunLoop.Trace.Stage {
    /// Returns the stage's label with its number in the pass. A pass runs blocks in up to three steps: before the
    /// version-0 sources, after these sources if one of them was performed, and after the service of a live item.
    fileprivate func label(after previous: Self?) -> String {
        switch self {
        case .entry: "1 entry"
        case .beforeTimers: "2 beforeTimers"
        case .beforeSources: "3 beforeSources"
        case .blocks: previous == .service ? "11 blocks" : previous == .sources ? "5 blocks" : "4 blocks"
        case .sources: "5 sources"
        case .mainQueueCheck: "6 mainQueueCheck"
        case .beforeWaiting: "7 beforeWaiting"
        case .wait: "8 wait"
        case .afterWaiting: "9 afterWaiting"
        case .service: "10 service"
        case .exit: "exit"
        }
    }
}

extension GRunLoop.Trace.Callout {
    fileprivate var label: String {
        switch self {
        case .observer: "observer"
        case .block: "block"
        case .source: "source"
        case .timer: "timer"
        case .delayedPerform: "delayed perform"
        case .descriptor: "descriptor"
        case .port: "port"
        case .mainQueue: "main queue"
        case .context: "context"
        case .idleWork: "idle work"
        }
    }
}
