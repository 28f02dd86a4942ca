// SPDX-License-Identifier: Apache-2.0
// Items 179 to 183: every callout may run the loop in every mode, and this does not change the outer run.

import GRunLoop
import TestSupport
import Testing

@Suite("Nested runs") struct NestedRunsTests {
    enum Callout: String, CaseIterable, Sendable {
        case entry, beforeTimers, beforeSources, beforeWaiting, afterWaiting, exit, block, source, timer, descriptor

        var activity: GRunLoop.Activity? {
            switch self {
            case .entry: .entry
            case .beforeTimers: .beforeTimers
            case .beforeSources: .beforeSources
            case .beforeWaiting: .beforeWaiting
            case .afterWaiting: .afterWaiting
            case .exit: .exit
            default: nil
            }
        }

        /// Calls `body` once, from such a callout of a run of the mode.
        func arrange(_ loop: GRunLoop, _ mode: GRunLoop.Mode, _ body: @escaping @Sendable () -> Void) throws {
            if let activity {
                loop.on(activity, mode, repeats: false) { _ in body() }
                return
            }
            switch self {
            case .block: loop.perform(inModes: [mode], body)
            case .source: loop.source(mode, body).signal()
            case .timer: loop.after(.zero, mode, body)
            default:
                let event = EventDescriptor()
                event.makeReady()
                let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { source, _ in
                    event.consume()
                    source.invalidate()
                    body()
                }
                try loop.add(source, forMode: mode)
            }
        }
    }

    @Test(
        "items 179, 180, 181: a run nests in every callout, in another mode, with an entry and an exit",
        arguments: Callout.allCases)
    func inAnotherMode(callout: Callout) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let note = { @Sendable (name: String) in
                record("\(name) \(loop.currentMode.map(\.rawValue) ?? "none")")
            }
            loop.keepAlive("A")
            loop.keepAlive("B")
            record.observe(loop, "B", [.entry, .exit], prefix: "B ")
            loop.on(.exit, "A", order: 1) { _ in note("A exit") }
            try callout.arrange(loop, "A") {
                note("before")
                record("\(loop.run(mode: "B", for: .milliseconds(1)))")
                note("after")
            }
            #expect(loop.currentMode == nil)
            #expect(loop.run(mode: "A", for: .milliseconds(5)) == .timedOut)
            #expect(loop.currentMode == nil)
            #expect(record.lines == ["before A", "B entry", "B exit", "timedOut", "after A", "A exit A"])
        }
    }

    @Test("items 179, 181: a run nests in every callout, in the mode that runs already", arguments: Callout.allCases)
    func inTheSameMode(callout: Callout) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive("A")
            let fired = Counter()
            try callout.arrange(loop, "A") {
                record("callout")
                // The nested run serves its items, of every kind, and ends by itself.
                let source = loop.source("A") { record("source") }
                source.signal()
                loop.after(.milliseconds(1), "A") {
                    fired.increment()
                    loop.stop()
                }
                let observer = record.observe(loop, "A", [.entry, .exit])
                #expect(loop.run(mode: "A", for: .seconds(20)) == .stopped)
                observer.invalidate()
                source.invalidate()
                record("returned")
            }
            #expect(loop.run(mode: "A", for: .milliseconds(5)) == .timedOut)
            #expect(record.lines == ["callout", "entry", "source", "exit", "returned"])
            #expect(fired.value == 1)
        }
    }

    @Test("items 179, 180, 181: runs nest to any depth, also in a mode that is on the stack twice")
    func deep() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let modes: [GRunLoop.Mode] = ["A", "B", "A", "C", "B", "A"]
            for mode in ["A", "B", "C"] as [GRunLoop.Mode] {
                loop.keepAlive(mode)
                record.observe(loop, mode, [.entry, .exit], prefix: "\(mode) ")
            }
            Self.descend(loop, modes[...])
            let expected = modes.map { "\($0) entry" } + modes.reversed().map { "\($0) exit" }
            #expect(record.lines == expected)
            #expect(loop.currentMode == nil)
        }
    }

    private static func descend(_ loop: GRunLoop, _ modes: ArraySlice<GRunLoop.Mode>) {
        guard let mode = modes.first else { return }
        loop.perform(inModes: [mode]) {
            descend(loop, modes.dropFirst())
            #expect(loop.currentMode == mode)
        }
        loop.run(mode: mode, for: .zero)
    }

    @Test("a nested run performs a source that the outer pass has collected for itself")
    func collectedSource() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let first = loop.source(order: 0) {
                record("A")
                record("\(loop.run(for: .seconds(20), returningAfterSourceHandled: true))")
            }
            let second = loop.source(order: 1) { record("B") }
            first.signal()
            second.signal()
            loop.run(for: .zero)
            #expect(record.lines == ["A", "B", "handledSource"])
        }
    }

    @Test("item 182: the outer pass continues after the callout that nested a run")
    func passGoesOn() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default)
            loop.keepAlive("B")
            loop.on(.beforeTimers, order: 1, repeats: false) { _ in loop.run(mode: "B", for: .zero) }
            loop.perform {
                record("block")
                loop.run(mode: "B", for: .milliseconds(1))
            }
            loop.perform { record("next block") }
            loop.source(order: 0) {
                record("source")
                loop.run(mode: "B", for: .zero)
            }.signal()
            loop.source(order: 1) { record("next source") }.signal()
            let date = GRunLoop.now
            for number in 1...2 {
                let timer = GRunLoop.Timer(fireAt: date) { _ in
                    record("timer \(number)")
                    loop.run(mode: "B", for: .zero)
                }
                loop.add(timer, forMode: .default)
            }
            #expect(loop.run(for: .zero) == .timedOut)
            let expected = [
                "entry", "beforeTimers", "beforeSources", "block", "next block", "source", "next source", "timer 1",
                "timer 2",
                "exit",
            ]
            #expect(record.lines == expected)
        }
    }

    @Test(
        "item 182: a nested run does not change whether the outer one returns after a source", arguments: [true, false])
    func returnsAfterSource(outer: Bool) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive("B")
            loop.perform {
                // Tries it the other way round, with a source of the nested run.
                loop.source("B") { record("inner") }.signal()
                record("\(loop.run(mode: "B", for: .milliseconds(1), returningAfterSourceHandled: !outer))")
            }
            loop.source {
                record("outer")
                loop.after(.milliseconds(1)) { loop.stop() }
            }.signal()
            let result = loop.run(for: .seconds(20), returningAfterSourceHandled: outer)
            #expect(result == (outer ? .handledSource : .stopped))
            #expect(record.lines == ["inner", outer ? "timedOut" : "handledSource", "outer"])
        }
    }
}
