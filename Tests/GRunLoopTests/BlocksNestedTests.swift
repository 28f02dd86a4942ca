// SPDX-License-Identifier: Apache-2.0
// Item 173: runs that are nested in a block, and blocks of several modes in such runs.

import GRunLoop
import TestSupport
import Testing

@Suite("Blocks: nested runs") struct BlocksNestedTests {
    @Test("item 173: a run nested in a block does not see the rest of the step, only blocks enqueued meanwhile")
    func nested() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.perform {
                record("1")
                loop.perform { record("3") }
                loop.run(for: .zero)
                record("1 returned")
            }
            loop.perform { record("2") }
            loop.run(for: .zero)
            #expect(record.lines == ["1", "3", "1 returned", "2"])
        }
    }

    @Test("item 173: a nested run also hides blocks of several modes and of common modes, and runs in another mode")
    func nestedInAnotherMode() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            loop.keepAlive("M")
            try loop.addCommonMode("M")
            let enqueue = { @Sendable (name: String, modes: [GRunLoop.Mode]) in
                loop.perform(inModes: modes) { record(name) }
            }
            loop.perform {
                record("first")
                enqueue("new M", ["M"])
                enqueue("new both", [.default, "M"])
                enqueue("new default", [.default])
                loop.run(mode: "M", for: .zero)
                record("returned")
            }
            enqueue("both", [.default, "M"])
            enqueue("M", ["M"])
            enqueue("common", [.common])
            enqueue("default", [.default])
            loop.run(for: .zero)
            #expect(
                record.take() == ["first", "new M", "new both", "returned", "both", "common", "default", "new default"])
            loop.run(mode: "M", for: .zero)
            #expect(record.lines == ["M"])
        }
    }

    @Test(
        "items 168, 173, 190: a step that its time slice ends loses no block of a nested run, and keeps their order",
        arguments: 0..<5, 1..<7)
    func cutSteps(blocksBehind: Int, hiddenBlocks: Int) async throws {
        // Each block uses up the slice, and the source is always ready. So every step ends after one block.
        try await onFreshThread(timeSlice: .zero) { loop in
            let record = Recorder()
            let endSource = try Endless.source.begin(in: loop) { true }
            loop.perform {
                record("a1 begins")
                loop.perform {
                    record("b begins")
                    // The run inside this block takes some of these. It does not see the blocks b in front of them.
                    for index in 0..<blocksBehind { loop.perform { record("c\(index)") } }
                    loop.run(for: .zero)
                    record("b ends")
                }
                for index in 1..<hiddenBlocks { loop.perform { record("b\(index)") } }
                loop.perform(inModes: [.common]) { record("common") }
                loop.run(for: .zero)
                record("a1 ends")
            }
            loop.perform { record("a2") }
            loop.perform { record("a3") }
            for index in 0..<20 {
                loop.run(for: .zero)
                loop.perform { record("later \(index)") }
            }
            for _ in 0..<100 { loop.run(for: .zero) }
            endSource()
            let generations = [
                ["a1 begins", "a1 ends", "a2", "a3"],
                ["b begins", "b ends"] + (1..<hiddenBlocks).map { "b\($0)" } + ["common"],
                (0..<blocksBehind).map { "c\($0)" }, (0..<20).map { "later \($0)" },
            ]
            for expected in generations { #expect(record.lines.filter(expected.contains) == expected) }
            #expect(record.lines.count == generations.joined().count)
        }
    }

    @Test("item 173: each level of nesting sees only the blocks that were enqueued at that level")
    func levels() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            Self.enqueue(loop, record, level: 1)
            loop.run(for: .zero)
            let expected = [
                "begin 1", "begin 2", "begin 3", "end 3", "rest 3", "end 2", "rest 2", "end 1", "rest 1",
            ]
            #expect(record.lines == expected)
        }
    }

    private static func enqueue(_ loop: GRunLoop, _ record: Recorder, level: Int) {
        loop.perform {
            record("begin \(level)")
            if level < 3 {
                enqueue(loop, record, level: level + 1)
                loop.run(for: .zero)
            }
            record("end \(level)")
        }
        loop.perform { record("rest \(level)") }
    }

    @Test("item 173: blocks that are hidden from a nested run do not keep its mode alive")
    func hiddenBlocksDoNotCount() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.perform {
                record("nested: \(loop.run(for: .seconds(20)))")
                loop.perform { record("new") }
                record("nested: \(loop.run(for: .zero))")
            }
            loop.perform { record("rest") }
            loop.run(for: .zero)
            #expect(record.lines == ["nested: finished", "new", "nested: timedOut", "rest"])
        }
    }

    @Test("blocks that never run are released when the loop ends; their deinits may call the loop")
    func endOfLoop() async throws {
        try await onFreshThread { _ in
            let record = Recorder()
            let thread = LoopThread { loop in
                for modes in [[.default], ["M"], [.common], [.default, "M", .common]] as [[GRunLoop.Mode]] {
                    let witness = Witness {
                        record("gone")
                        loop.perform(inModes: modes) { record("ran") }
                        loop.wakeUp()
                    }
                    loop.perform(inModes: modes) { withExtendedLifetime(witness) { record("ran") } }
                }
            }
            thread.join()
            #expect(record.lines == ["gone", "gone", "gone", "gone"])
        }
    }
}
