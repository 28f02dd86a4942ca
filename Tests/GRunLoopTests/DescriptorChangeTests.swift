// SPDX-License-Identifier: Apache-2.0
// The conditions of a descriptor source can change on any thread and in any state.

import CGRun
import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Changing the conditions of a descriptor source") struct DescriptorChangeTests {
    typealias Source = GRunLoop.DescriptorSource

    /// The events for which the epoll of a loop's mode watches a descriptor, read from the kernel; nil if it does not.
    private func watched(_ descriptor: Int32, by loop: GRunLoop, _ mode: GRunLoop.Mode = .default) -> UInt32? {
        guard let epoll = epoll(of: mode, of: loop), let file = fopen("/proc/self/fdinfo/\(epoll)", "r") else {
            return nil
        }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 512)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            let line = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let words = line.split(whereSeparator: \.isWhitespace)
            // "tfd: 5 events: 19 data: 500000005 ..."
            if words.count > 3, words[0] == "tfd:", words[1] == "\(descriptor)" { return UInt32(words[3], radix: 16) }
        }
        return nil
    }

    private func epoll(of mode: GRunLoop.Mode, of loop: GRunLoop) -> Int32? {
        let lines = loop.description.split(separator: "\n")
        guard let start = lines.firstIndex(of: "<mode \(mode)>{"),
            let words = lines[start...].first(where: { $0.contains("epoll = ") })?.split(separator: " "),
            let place = words.firstIndex(of: "epoll")
        else { return nil }
        return Int32(words[place + 2].dropLast())
    }

    /// Corrupts the kernel's record of a descriptor. A system call of the library would repair it.
    private func spoil(_ descriptor: Int32, of loop: GRunLoop) {
        guard let epoll = epoll(of: .default, of: loop) else { return }
        var event = epoll_event()
        precondition(epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0)
    }

    // epoll has the same bits as poll.
    private let readable = UInt32(POLLIN)
    private let priority = UInt32(POLLPRI)
    private let writable = UInt32(POLLOUT)
    private let failures = UInt32(POLLERR | POLLHUP)

    @Test("a condition that is added and holds now is reported; a removed condition is not")
    func addingAndTakingAway() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let trace = Recorder()
            let source = Source(descriptor: pair.one) { _, ready in trace(ready.description) }
            try loop.add(source, forMode: .default)
            _ = write(pair.other, "x", 1)
            loop.run(for: .zero)
            source.conditions = [.readable, .writable]
            loop.run(for: .zero)
            source.conditions = .writable
            loop.run(for: .zero)
            source.conditions = []
            loop.run(for: .zero)
            source.conditions = .readable
            loop.run(for: .zero)
            #expect(trace.lines == ["readable", "readable+writable", "writable", "readable"])
            #expect(source.conditions == .readable)
            source.invalidate()
        }
    }

    @Test("a removed condition is not reported any more, even if its event was fetched in a batch already")
    func takenAwayInABatch() async throws {
        try await onFreshThread { loop in
            let pipes = (0..<8).map { _ in Pipe() }
            let calls = Recorder()
            let sources = Shared<[Source]>([])
            sources.value = pipes.enumerated().map { number, pipe in
                Source(descriptor: pipe.readEnd) { source, _ in
                    calls("\(number)")
                    // One query of the kernel returned all eight events.
                    for other in sources.value where other !== source { other.conditions = [] }
                    if calls.lines.count == 20 { loop.stop() }
                }
            }
            for (pipe, source) in zip(pipes, sources.value) {
                pipe.send()
                try loop.add(source, forMode: .default)
            }
            // A second run would drop the batch.
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(Set(calls.lines).count == 1)
            #expect(calls.lines.count == 20)
            // The first source alone had conditions left. Clear them, and give the other sources conditions again.
            let called = Int(calls.lines[0]) ?? 0
            sources.value[called].conditions = []
            let next = sources.value[(called + 1) % 8]
            next.conditions = .readable
            _ = calls.take()
            loop.run(for: .zero)
            #expect(calls.lines == ["\((called + 1) % 8)"])
            for source in sources.value { source.invalidate() }
            sources.value = []
        }
    }

    @Test("if another thread adds a condition that holds now, the sleeping loop reports it")
    func anotherThreadAdds() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let source = Source(descriptor: pair.one) { _, ready in
                #expect(ready == .writable)
                loop.stop()
            }
            try loop.add(source, forMode: .default)
            let (thread, trace) = (threadID, Recorder())
            let worker = startThread {
                precondition(fallsAsleep(loop, thread: thread))
                source.conditions = .writable
            }
            trace.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: Patience.normal) == .stopped)
            #expect(trace.lines == ["afterWaiting"])
            join(worker)
            source.invalidate()
        }
    }

    @Test("a change makes one system call, and only if the watched events change")
    func systemCalls() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let source = Source(descriptor: pair.one) { _, _ in }
            try loop.add(source, forMode: .default)
            #expect(watched(pair.one, by: loop) == readable | failures)
            source.conditions = [.readable, .priority]
            #expect(watched(pair.one, by: loop) == readable | priority | failures)
            spoil(pair.one, of: loop)
            source.conditions = [.readable, .priority]
            // These conditions are always reported, or are not supported.
            source.conditions = [.readable, .priority, .hangUp, .error, .init(rawValue: 1 << 13)]
            #expect(source.conditions == [.readable, .priority, .hangUp, .error])
            #expect(watched(pair.one, by: loop) == failures)
            // The descriptor is already watched for the conditions of another source.
            let other = Source(descriptor: pair.one, conditions: .writable) { _, _ in }
            try loop.add(other, forMode: .default)
            #expect(
                watched(pair.one, by: loop) == readable | priority | writable | failures)
            spoil(pair.one, of: loop)
            source.conditions.insert(.writable)
            source.conditions.remove(.writable)
            #expect(watched(pair.one, by: loop) == failures)
            source.conditions = []
            #expect(watched(pair.one, by: loop) == writable | failures)
            source.invalidate()
            source.conditions = .readable
            #expect(watched(pair.one, by: loop) == writable | failures)
            other.invalidate()
        }
    }

    @Test("a source without conditions still reports that the other side has closed")
    func emptySet() async throws {
        try await onFreshThread { loop in
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            let source = Source(descriptor: ends[0]) { source, ready in
                #expect(ready == .hangUp)
                source.invalidate()
            }
            try loop.add(source, forMode: .default)
            source.conditions = []
            #expect(loop.run(for: .zero) == .timedOut)
            close(ends[1])
            #expect(loop.run(for: Patience.normal) == .finished)
            #expect(!source.isValid)
            close(ends[0])
        }
    }

    @Test("each of several sources on one descriptor reports its current conditions, the later source first")
    func severalSources() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let trace = Recorder()
            let sources = ["one", "two"].map { name in
                Source(descriptor: pair.one, conditions: .readable) { _, ready in trace("\(name) \(ready)") }
            }
            for source in sources { try loop.add(source, forMode: .default) }
            _ = write(pair.other, "x", 1)
            loop.run(for: .zero)
            // The later source clears its conditions, so the earlier source gets the event.
            sources[1].conditions = []
            loop.run(for: .zero)
            sources[1].conditions = .writable
            loop.run(for: .zero)
            loop.run(for: .zero)
            sources[0].conditions = []
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(
                trace.lines == [
                    "two readable", "one readable", "two writable", "one readable", "two writable", "two writable",
                ])
            for source in sources { source.invalidate() }
        }
    }

    @Test("a change applies to every mode of the source, and to modes that it joins later")
    func severalModes() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let modes: [GRunLoop.Mode] = ["one", "two", "three"]
            let trace = Recorder()
            let source = Source(descriptor: pair.one, conditions: []) { _, ready in
                trace("\(loop.currentMode.map(\.rawValue) ?? "none") \(ready)")
            }
            // The source is in no mode yet.
            source.conditions = .priority
            for mode in modes.dropLast() { try loop.add(source, forMode: mode) }
            source.conditions = .writable
            try loop.add(source, forMode: modes[2])
            for mode in modes {
                #expect(watched(pair.one, by: loop, mode) == writable | failures)
                loop.run(mode: mode, for: .zero)
            }
            #expect(trace.lines == ["one writable", "two writable", "three writable"])
            loop.remove(source, forMode: "two")
            source.conditions = []
            for mode in modes { loop.run(mode: mode, for: .zero) }
            #expect(trace.lines.count == 3)
            #expect(watched(pair.one, by: loop, "two") == nil)
            source.invalidate()
        }
    }

    @Test("changing a source whose descriptor was closed is logged, and does no harm")
    func closedDescriptor() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let number = copyWithHighNumber(pipe.readEnd)
            let calls = Counter()
            let source = Source(descriptor: number) { _, _ in calls.increment() }
            try loop.add(source, forMode: .default)
            close(number)
            let messages = capturingLog { source.conditions = [.readable, .priority] }.messages
            #expect(messages.count == 1)
            #expect(messages.allSatisfy { $0.contains("descriptor \(number) was closed") })
            loop.run(for: .zero)
            #expect(calls.value == 0)
            _ = capturingLog { source.invalidate() }
        }
    }

    @Test("conditions that change on another thread while the loop serves the descriptor: the last change applies")
    func concurrentChanges() async throws {
        try await onFreshThread { loop in
            let pair = SocketPair()
            let (calls, isOver) = (Counter(), Flag())
            let source = Source(descriptor: pair.one, conditions: []) { _, ready in
                #expect(ready == .writable)
                calls.increment()
            }
            try loop.add(source, forMode: .default)
            let worker = startThread {
                for _ in 0..<2000 {
                    source.conditions = .writable
                    source.conditions = []
                }
                source.conditions = .writable
                precondition(calls.wait(for: calls.value + 1))
                source.conditions = []
                isOver.set()
                loop.stop()
            }
            while !isOver.isSet { loop.run(for: Patience.normal) }
            join(worker)
            let before = calls.value
            for _ in 0..<5 { loop.run(for: .zero) }
            #expect(calls.value == before)
            source.invalidate()
        }
    }
}
