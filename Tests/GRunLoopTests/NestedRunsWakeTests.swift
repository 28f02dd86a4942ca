// SPDX-License-Identifier: Apache-2.0
// Nested runs do not lose wake-ups for outer runs.

import GRunLoop
import TestSupport
import Testing

@Suite("Nested runs: wake-ups") struct NestedRunsWakeTests {
    enum Place: CaseIterable, Sendable {
        case block, beforeWaiting
    }

    enum Work: CaseIterable, Sendable {
        case block, source, perform, stop
    }

    @Test(
        "work that is enqueued for the outer run during a nested run is done afterwards",
        arguments: Place.allCases, Work.allCases)
    func handedOver(place: Place, work: Work) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive("Outer")
            loop.keepAlive("Nested")
            let source = loop.source("Outer") {
                record("done")
                loop.stop()
            }
            let nested = { @Sendable in
                let other = LoopThread { _ in
                    _ = waitUntil { loop.isWaiting }
                    switch work {
                    case .block:
                        loop.async(inModes: ["Outer"]) {
                            record("done")
                            loop.stop()
                        }
                    case .source:
                        source.signal()
                        loop.wakeUp()
                    case .perform:
                        try? loop.performOnThread(inModes: ["Outer"]) {
                            record("done")
                            loop.stop()
                        }
                    case .stop: break
                    }
                }
                if work == .stop {
                    record("done")
                    loop.stop()
                }
                let observer = loop.on(.afterWaiting, "Nested") { _ in record("nested run awake") }
                loop.run(mode: "Nested", for: .milliseconds(50))
                observer.invalidate()
                other.join()
                record("returned")
            }
            switch place {
            case .block: loop.perform(inModes: ["Outer"], nested)
            case .beforeWaiting: loop.on(.beforeWaiting, "Outer", repeats: false) { _ in nested() }
            }
            #expect(loop.run(mode: "Outer", for: .seconds(5)) == .stopped)
            let lines = record.lines.filter { $0 != "nested run awake" }
            #expect(lines == (work == .stop ? ["done", "returned"] : ["returned", "done"]))
        }
    }
}
