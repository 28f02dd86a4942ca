// SPDX-License-Identifier: Apache-2.0
// Items 168 to 172, 174 to 178: when blocks run, in which order and modes, and which objects they keep.

import GRunLoop
import TestSupport
import Testing

@Suite("Blocks") struct BlocksTests {
    @Test("item 168: blocks that were enqueued before a step run in that step, in order, on the loop's thread")
    func inOrder() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            record.observe(loop, .default, [.beforeTimers, .beforeSources, .beforeWaiting])
            // Enqueues from several threads, one after the other.
            for number in 0..<100 {
                let enqueue = { @Sendable in
                    loop.perform { record("\(number) \(GRunLoop.current === loop)") }
                }
                if number % 10 == 0 { onPlainThread(enqueue) } else { enqueue() }
            }
            loop.run(for: .milliseconds(1))
            let expected = ["beforeTimers", "beforeSources"] + (0..<100).map { "\($0) true" } + ["beforeWaiting"]
            #expect(Array(record.lines.prefix(expected.count)) == expected)
        }
    }

    @Test("item 169: a block does not wake a sleeping loop, which runs it after its next wake-up")
    func doesNotWake() async throws {
        try await onFreshThread { _ in
            let record = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                record.observe(loop, .default, [.beforeWaiting, .afterWaiting])
                loop.run(mode: .default)
            }
            let loop = thread.loop
            thread.whileAsleep {
                loop.perform { record("block") }
                loop.perform(inModes: [.default, .common]) { record("common block") }
                record("enqueued")
            }
            // The loop has gone back to sleep without running the block.
            thread.waitUntilAsleep()
            record("wake-up")
            loop.wakeUp()
            #expect(record.wait(for: "common block"))
            let expected = ["beforeWaiting", "enqueued", "wake-up", "afterWaiting", "block", "common block"]
            #expect(Array(record.lines.prefix(6)) == expected)
            thread.finish()
        }
    }

    @Test("item 169: a block runs at the end of the time limit if nobody wakes the loop for it")
    func runsAtLimit() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let end = GRunLoop.now.advanced(by: .milliseconds(60))
            record.observe(loop, .default, [.beforeWaiting, .afterWaiting])
            loop.on(.beforeWaiting, order: 1) { _ in
                loop.perform { record("in time: \(GRunLoop.now < end)") }
            }
            #expect(loop.run(for: .milliseconds(61)) == .timedOut)
            #expect(record.lines == ["beforeWaiting", "afterWaiting", "in time: false"])
        }
    }

    @Test("item 170: a block for several modes runs once, in the first of them that runs", arguments: ["A", "B", "C"])
    func severalModes(first: String) async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let modes: [GRunLoop.Mode] = ["A", "B", "C"]
            for mode in modes + ["D"] { loop.keepAlive(mode) }
            loop.perform(inModes: modes + modes) { record("\(loop.currentMode.map(\.rawValue) ?? "none")") }
            // In each mode another block follows.
            for mode in modes { loop.perform(inModes: [mode]) { record("\(mode) alone") } }
            loop.run(mode: "D", for: .zero)
            loop.run(mode: .init(first), for: .zero)
            #expect(record.take() == [first, "\(first) alone"])
            for mode in modes where mode.rawValue != first { loop.run(mode: mode, for: .zero) }
            #expect(record.lines == modes.filter { $0.rawValue != first }.map { "\($0) alone" })
        }
    }

    @Test("item 171: a step runs the blocks of its mode; other blocks stay in order, ahead of later ones")
    func interleaved() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            for mode in ["A", "B"] as [GRunLoop.Mode] { loop.keepAlive(mode) }
            for number in 0..<9 {
                let modes: [[GRunLoop.Mode]] = [["A"], ["B"], ["A", "B"]]
                loop.perform(inModes: modes[number % 3]) {
                    record("\(number)")
                    if number % 3 != 1 { loop.perform(inModes: ["B"]) { record("new \(number)") } }
                }
            }
            loop.run(mode: "A", for: .zero)
            #expect(record.take() == ["0", "2", "3", "5", "6", "8"])
            loop.run(mode: "B", for: .zero)
            #expect(record.lines == ["1", "4", "7"] + [0, 2, 3, 5, 6, 8].map { "new \($0)" })
        }
    }

    @Test("item 172: a block that is enqueued in a step runs in the next step")
    func enqueuedInStep() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            record.observe(loop, .default, [.beforeWaiting, .afterWaiting])
            loop.perform {
                record("1")
                loop.perform { record("2") }
                loop.perform(inModes: [.default, .common, "M"]) { record("3") }
            }
            loop.perform { record("4") }
            loop.run(for: .milliseconds(1))
            #expect(record.lines == ["1", "4", "beforeWaiting", "afterWaiting", "2", "3"])
        }
    }

    @Test("item 174: a mode that holds only a block runs the block, and then lasts until the time limit")
    func onlyBlock() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop)
            let limit = Duration.milliseconds(60)
            let start = GRunLoop.now
            loop.perform { record("block") }
            #expect(loop.run(for: limit) == .timedOut)
            #expect(GRunLoop.now >= start.advanced(by: limit))
            let expected = ["entry", "beforeTimers", "beforeSources", "block", "beforeWaiting", "afterWaiting", "exit"]
            #expect(record.lines == expected)
            // Without the block the mode is empty.
            #expect(loop.run(for: limit) == .finished)
        }
    }

    @Test("a block for an empty list of modes never runs, and is released")
    func noMode() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            do {
                let witness = Witness { record("gone") }
                loop.perform(inModes: []) { withExtendedLifetime(witness) { record("ran") } }
                loop.async(inModes: []) { withExtendedLifetime(witness) { record("ran") } }
            }
            #expect(loop.run(for: .zero) == .finished)
            #expect(record.lines == ["gone"])
        }
    }

    @Test("item 176: a block for an unknown mode creates that mode; a block for the common modes creates no such mode")
    func makesMode() async throws {
        try await onFreshThread { loop in
            #expect(loop.run(mode: "New", for: .zero) == .finished)
            let ran = Counter()
            loop.perform(inModes: ["New"]) { ran.increment() }
            #expect(Set(loop.allModes) == [.default, "New"])
            loop.perform(inModes: [.common]) { ran.increment() }
            #expect(Set(loop.allModes) == [.default, "New"])
            #expect(loop.run(mode: "New", for: .zero) == .timedOut)
            #expect(ran.value == 1)
        }
    }

    @Test("item 177: a block is released right after it has run, while no lock is held: its deinit may use the loop")
    func released() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let enqueue = { @Sendable (name: String, modes: [GRunLoop.Mode]) in
                let witness = Witness {
                    record("\(name) gone")
                    loop.perform { record("from deinit of \(name)") }
                    loop.wakeUp()
                    _ = loop.description
                    let source = loop.keepAlive("Nested")
                    loop.run(mode: "Nested", for: .zero)
                    source.invalidate()
                }
                loop.perform(inModes: modes) { withExtendedLifetime(witness) { record(name) } }
            }
            enqueue("one", [.default])
            enqueue("several", [.default, "M", .common])
            enqueue("common", [.common])
            loop.run(for: .zero)
            let names = ["one", "several", "common"]
            let expected = names.flatMap { [$0, "\($0) gone"] } + names.map { "from deinit of \($0)" }
            #expect(record.lines == expected)
        }
    }

    @Test("item 178: a block is not a handled source")
    func notASource() async throws {
        try await onFreshThread { loop in
            let ran = Counter()
            loop.keepAlive()
            loop.perform { ran.increment() }
            #expect(loop.run(for: .milliseconds(5), returningAfterSourceHandled: true) == .timedOut)
            loop.async { ran.increment() }
            #expect(loop.run(for: .zero, returningAfterSourceHandled: true) == .timedOut)
            #expect(ran.value == 2)
        }
    }

    @Test(
        "item 175: a block for no mode at all is ignored, and creates no mode (a mode of another type does not compile)"
    )
    func noModes() async throws {
        try await onFreshThread { loop in
            let ran = Counter()
            loop.keepAlive()
            loop.perform(inModes: []) { ran.increment() }
            loop.async(inModes: []) { ran.increment() }
            #expect(loop.allModes == [.default])
            #expect(loop.run(for: .milliseconds(5)) == .timedOut)
            #expect(ran.value == 0)
        }
    }
}
