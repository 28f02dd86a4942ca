// SPDX-License-Identifier: Apache-2.0
// Items 182, 183: the limits of nested runs and of the runs around them.

import GRunLoop
import TestSupport
import Testing

@Suite("Nested runs: limits") struct NestedRunsLimitTests {
    @Test("item 182: the outer limit does not move, however long the nested run lasts")
    func outerLimit() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            loop.keepAlive("B")
            let start = GRunLoop.now
            loop.perform { loop.run(mode: "B", for: .milliseconds(400)) }
            #expect(loop.run(for: .milliseconds(500)) == .timedOut)
            let time = start.duration(to: GRunLoop.now)
            #expect(time >= .milliseconds(500))
            // A limit that restarts would be 900 ms.
            #expect(time < .milliseconds(850))
        }
    }

    @Test("item 182: a nested run with a nearer limit, or without one, does not end the outer run")
    func innerLimit() async throws {
        try await onFreshThread { loop in
            let start = GRunLoop.now
            loop.keepAlive()
            loop.keepAlive("B")
            loop.perform {
                loop.run(mode: "B", for: .zero)
                loop.run(mode: "B", for: .milliseconds(1))
                loop.after(.milliseconds(1), "B") { loop.stop() }
                #expect(loop.run(mode: "B") == .stopped)
            }
            #expect(loop.run(for: .milliseconds(60)) == .timedOut)
            #expect(GRunLoop.now >= start.advanced(by: .milliseconds(60)))
        }
    }

    @Test("item 183: a passed outer limit does not cut the nested run short; the outer run's pass is its last")
    func outerLimitPasses() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.keepAlive("B")
            record.observe(loop, .default, [.beforeTimers, .beforeSources, .exit])
            let outerEnd = GRunLoop.now.advanced(by: .milliseconds(20))
            loop.perform {
                let innerEnd = GRunLoop.now.advanced(by: .milliseconds(80))
                // The nested run still serves its items after the outer limit.
                loop.after(.milliseconds(40), "B") { record("fired, outer limit passed: \(GRunLoop.now >= outerEnd)") }
                let result = loop.run(mode: "B", for: .milliseconds(80))
                record("\(result), whole: \(GRunLoop.now >= innerEnd)")
            }
            loop.perform { record("rest of the pass") }
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            let expected = [
                "beforeTimers", "beforeSources", "fired, outer limit passed: true", "timedOut, whole: true",
                "rest of the pass",
                "exit",
            ]
            #expect(record.lines == expected)
        }
    }

    @Test("item 183: if the limits of several runs pass inside the innermost run, each run ends after its pass")
    func severalLimitsPass() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            for mode in ["A", "B", "C"] as [GRunLoop.Mode] {
                loop.keepAlive(mode)
                record.observe(loop, mode, [.beforeTimers, .exit], prefix: "\(mode) ")
            }
            loop.perform(inModes: ["A"]) {
                loop.perform(inModes: ["B"]) {
                    // Each of the two outer limits wakes C at most once.
                    record("C: \(loop.run(mode: "C", for: .milliseconds(60)))")
                }
                record("B: \(loop.run(mode: "B", for: .milliseconds(20)))")
            }
            #expect(loop.run(mode: "A", for: .milliseconds(10)) == .timedOut)
            let passes = record.count(of: "C beforeTimers")
            #expect((1...3).contains(passes))
            let expected = [
                "A beforeTimers", "B beforeTimers", "C beforeTimers", "C exit", "C: timedOut", "B exit", "B: timedOut",
                "A exit",
            ]
            var lines = record.lines
            lines.removeAll { $0 == "C beforeTimers" }
            #expect(lines == expected.filter { $0 != "C beforeTimers" })
        }
    }

    @Test("items 58, 59: a stop inside or before the nested run affects only the run that it was meant for")
    func stops() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.keepAlive("B")
            loop.perform {
                loop.after(.zero, "B") { loop.stop() }
                record("\(loop.run(mode: "B", for: .seconds(20)))")
            }
            #expect(loop.run(for: .milliseconds(5)) == .timedOut)
            loop.perform {
                loop.stop()
                record("\(loop.run(mode: "B", for: .milliseconds(1)))")
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["stopped", "timedOut"])
        }
    }
}
