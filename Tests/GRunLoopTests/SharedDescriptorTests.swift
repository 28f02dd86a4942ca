// SPDX-License-Identifier: Apache-2.0
// Several sources on one descriptor: which source gets which events, and the order of turns.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Several sources on one descriptor") struct SharedDescriptorTests {
    /// The ways to run a loop. Every source must have its turn in each of them.
    enum Way: CaseIterable {
        case once, untilHandled, untilDate, beforeDate, long

        /// Runs the loop until about a hundred events were serviced.
        func run(_ loop: GRunLoop, until isDone: @Sendable () -> Bool) {
            var runs = 0
            while !isDone(), runs < 1000 {
                runs += 1
                switch self {
                case .once: loop.run(for: .zero)
                case .untilHandled: loop.run(for: .seconds(1), returningAfterSourceHandled: true)
                case .untilDate: loop.run(until: GRunLoop.now.advanced(by: .milliseconds(1)))
                case .beforeDate: loop.run(mode: .default, before: GRunLoop.now.advanced(by: .seconds(1)))
                case .long: loop.run(for: .milliseconds(5))
                }
            }
        }
    }

    @Test("a hang-up reaches every source of the descriptor, whatever its conditions are", arguments: Way.allCases)
    func hangUpReachesEverybody(_ way: Way) async throws {
        try await onFreshThread { loop in
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            let trace = Recorder()
            let wanted: [(String, GRunLoop.DescriptorSource.Conditions)] = [
                ("readable", .readable), ("priority", .priority), ("nothing", []),
            ]
            let sources = wanted.map { name, conditions in
                GRunLoop.DescriptorSource(descriptor: ends[0], conditions: conditions) { source, ready in
                    #expect(ready == .hangUp)
                    trace(name)
                    if trace.count(of: name) == 5 { source.invalidate() }
                }
            }
            for source in sources { try loop.add(source, forMode: .default) }
            close(ends[1])
            loop.keepAlive()
            way.run(loop) { trace.lines.count == 15 }
            #expect(trace.lines == (0..<5).flatMap { _ in trace.lines.prefix(3) })
            close(ends[0])
        }
    }

    @Test(
        "item 109: reading and writing on one socket, both always ready, take turns in either order of addition",
        arguments: Way.allCases, [false, true])
    func conditionsTakeTurns(_ way: Way, _ isReaderFirst: Bool) async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            _ = write(pair.other, "x", 1)
            let (reads, writes) = (Counter(), Counter())
            let reader = GRunLoop.DescriptorSource(descriptor: pair.one) { _, _ in reads.increment() }
            let writer = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .writable) { _, _ in
                writes.increment()
            }
            for source in isReaderFirst ? [reader, writer] : [writer, reader] {
                try loop.add(source, forMode: .default)
            }
            way.run(loop) { reads.value + writes.value >= 100 }
            #expect(abs(reads.value - writes.value) <= 1)
            reader.invalidate()
            writer.invalidate()
        }
    }

    @Test("item 109: a source that is removed and added again in each of its calls does not starve the others")
    func readdingIsNoPrecedence() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            _ = write(pair.other, "x", 1)
            let (reads, writes) = (Counter(), Counter())
            let reader = GRunLoop.DescriptorSource(descriptor: pair.one) { _, _ in reads.increment() }
            let writer = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .writable) { source, _ in
                writes.increment()
                GRunLoop.current.remove(source, forMode: .default)
                do { try GRunLoop.current.add(source, forMode: .default) } catch { Issue.record(error) }
            }
            try loop.add(reader, forMode: .default)
            try loop.add(writer, forMode: .default)
            Way.once.run(loop) { reads.value + writes.value >= 100 }
            #expect(abs(reads.value - writes.value) <= 1)
            reader.invalidate()
            writer.invalidate()
        }
    }

    @Test("a source that removes another source and adds it again in each of its calls does not starve it")
    func togglingTheOther() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            _ = write(pair.other, "x", 1)
            let (reads, writes) = (Counter(), Counter())
            let writer = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .writable) { _, _ in
                writes.increment()
            }
            let reader = GRunLoop.DescriptorSource(descriptor: pair.one) { _, _ in
                reads.increment()
                GRunLoop.current.remove(writer, forMode: .default)
                do { try GRunLoop.current.add(writer, forMode: .default) } catch { Issue.record(error) }
            }
            try loop.add(reader, forMode: .default)
            try loop.add(writer, forMode: .default)
            Way.once.run(loop) { reads.value + writes.value >= 100 }
            #expect(abs(reads.value - writes.value) <= 1)
            reader.invalidate()
            writer.invalidate()
        }
    }

    @Test("input that arrives while an always-ready source is served reaches its own source within one turn")
    func inputBesideOutput() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let trace = Recorder()
            let reader = GRunLoop.DescriptorSource(descriptor: pair.one) { _, _ in
                var byte: UInt8 = 0
                _ = read(pair.one, &byte, 1)
                trace("read")
            }
            let writer = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .writable) { _, _ in
                trace("write")
                if trace.lines.count % 4 == 0 {
                    _ = write(pair.other, "x", 1)
                    trace("sent")
                }
            }
            try loop.add(reader, forMode: .default)
            try loop.add(writer, forMode: .default)
            for _ in 0..<100 { loop.run(for: .zero) }
            let lines = trace.lines
            let sent = lines.indices.filter { lines[$0] == "sent" && $0 + 1 < lines.count }
            #expect(sent.count > 10)
            for index in sent { #expect(lines[index + 1] == "read") }
            reader.invalidate()
            writer.invalidate()
        }
    }
}
