// SPDX-License-Identifier: Apache-2.0
// The number of a closed descriptor gets another file. What happens to the sources that watch the number.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Descriptors whose number gets another file") struct DescriptorIdentityTests {
    private static let message =
        "watched it, and a copy keeps the old file open"

    @Test(
        "item 107: if a number gets a new file and source in its source's callout, the old file's events are dropped",
        arguments: [true, false]
    )
    func reconnected(isCopied: Bool) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            var (old, new): (SocketPair?, SocketPair) = (SocketPair(), SocketPair())
            let number = Number(of: try #require(old).one)
            // A child process that was started meanwhile would have such a copy.
            let copy = isCopied ? dup(number.value) : -1
            let latest = GRunLoop.DescriptorSource(descriptor: number.value) { _, conditions in
                trace(number.isReadable ? "new" : "nothing to read, \(conditions)")
                var byte: UInt8 = 0
                _ = read(number.value, &byte, 1)
            }
            let first = GRunLoop.DescriptorSource(descriptor: number.value) { [new] source, _ in
                trace("end")
                number.become(new.one)
                try? loop.add(latest, forMode: .default)
                source.invalidate()
            }
            try loop.add(first, forMode: .default)
            // The peer ends the connection.
            shutdown(try #require(old).other, Int32(SHUT_RDWR))
            old = nil
            let messages = capturingLog {
                loop.run(for: .milliseconds(20))
                #expect(trace.lines == ["end"])
                #expect(write(new.other, "x", 1) == 1)
                loop.run(for: .milliseconds(20))
            }.messages
            #expect(trace.lines == ["end", "new"])
            #expect(messages.contains { $0.contains("was closed while") }, "\(messages)")
            latest.invalidate()
            if isCopied { close(copy) }
            withExtendedLifetime((old, new)) { new = SocketPair() }
        }
    }

    @Test("item 107: an event of the old file that was fetched already does not go to a source for the new file")
    func foundAlready() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let events = [EventDescriptor(), EventDescriptor()]
            let quiet = EventDescriptor()
            let numbers = events.map { Number(of: $0.descriptor) }
            let later = numbers.map { GRunLoop.DescriptorSource(descriptor: $0.value) { _, _ in trace("false call") } }
            let sources = numbers.indices.map { index in
                GRunLoop.DescriptorSource(descriptor: numbers[index].value) { _, _ in
                    trace("performed")
                    events[index].consume()
                    // The other source stays in the mode, and its event is in the batch.
                    numbers[1 - index].become(quiet.descriptor)
                    try? loop.add(later[1 - index], forMode: .default)
                }
            }
            for source in sources { try loop.add(source, forMode: .default) }
            for event in events { event.makeReady() }
            _ = capturingLog { loop.run(for: .milliseconds(20)) }
            #expect(trace.lines == ["performed"])
            for source in sources + later { source.invalidate() }
        }
    }

    @Test("after dup2() a copy of the old file is not reported; the number's new file is")
    func replacedWithCopy() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (old, new) = (Pipe(), Pipe())
            let number = Number(of: old.readEnd)
            let source = GRunLoop.DescriptorSource(descriptor: number.value) { _, _ in
                trace(number.isReadable ? "performed" : "a blocking read would block")
                new.drain()
            }
            try loop.add(source, forMode: .default)
            number.become(new.readEnd)
            old.send()
            let messages = capturingLog {
                loop.run(for: .milliseconds(20))
                #expect(trace.lines == [])
                new.send()
                #expect(loop.run(for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            }.messages
            #expect(trace.lines == ["performed"])
            #expect(messages.count == 1 && messages[0].contains(Self.message), "\(messages)")
            source.invalidate()
        }
    }

    @Test("a file that stays open in a copy after its number was closed is not reported, and the loop does not spin")
    func closedWithCopy() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            let number = copyWithHighNumber(pipe.readEnd)
            let source = GRunLoop.DescriptorSource(descriptor: number) { _, _ in trace("performed") }
            try loop.add(source, forMode: .default)
            close(number)
            pipe.send()
            let messages = capturingLog {
                #expect(loop.run(for: .milliseconds(50)) == .timedOut)
                source.invalidate()
            }.messages
            #expect(trace.lines == [])
            #expect(messages.first?.contains(Self.message) == true, "\(messages)")
        }
    }

    @Test("after dup2() onto a number whose file is closed, an added source works, and the log gives the reason")
    func replacedAndAdded() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (quiet, new) = (Pipe(), Pipe())
            var old: Pipe? = Pipe()
            let number = Number(of: try #require(old).readEnd)
            let first = GRunLoop.DescriptorSource(descriptor: number.value) { _, _ in trace("first") }
            let other = GRunLoop.DescriptorSource(descriptor: quiet.readEnd) { _, _ in trace("quiet") }
            for source in [first, other] { try loop.add(source, forMode: .default) }
            old = nil
            number.become(new.readEnd)
            let second = GRunLoop.DescriptorSource(descriptor: number.value) { _, _ in
                trace("second")
                new.drain()
            }
            let messages = try capturingLog {
                try loop.add(second, forMode: .default)
                new.send()
                #expect(loop.run(for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            }.messages
            #expect(trace.lines == ["second"])
            #expect(messages.count == 1 && messages[0].contains("descriptor \(number.value) was closed"), "\(messages)")
            for source in [first, second, other] { source.invalidate() }
        }
    }

    @Test("after dup2() a change of a source's conditions, or of the set of sources, finds the new file")
    func replacedAndChanged() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (old, new) = (Pipe(), Pipe())
            let quiet = EventDescriptor()
            let number = Number(of: old.readEnd)
            let sources = ["first", "second"].map { name in
                GRunLoop.DescriptorSource(descriptor: number.value, conditions: []) { _, _ in
                    trace(name)
                    new.drain()
                }
            }
            for source in sources { try loop.add(source, forMode: .default) }
            new.send()
            number.become(new.readEnd)
            let messages = capturingLog {
                sources[0].conditions = .readable
                #expect(loop.run(for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
                number.become(quiet.descriptor)
                quiet.makeReady()
                sources[1].invalidate()
                #expect(loop.run(for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            }.messages
            #expect(trace.lines == ["first", "first"])
            #expect(messages.contains { $0.contains("descriptor \(number.value) was closed") }, "\(messages)")
            sources[0].invalidate()
        }
    }

    @Test("a file that gets its number back, after the number was closed and its source removed, is watched again")
    func cameBack() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            let number = copyWithHighNumber(pipe.readEnd)
            let first = GRunLoop.DescriptorSource(descriptor: number) { _, _ in trace("first") }
            try loop.add(first, forMode: .default)
            close(number)
            _ = capturingLog { first.invalidate() }
            #expect(dup2(pipe.readEnd, number) == number)
            defer { close(number) }
            let second = GRunLoop.DescriptorSource(descriptor: number) { _, _ in
                trace("second")
                pipe.drain()
            }
            let messages = try capturingLog {
                try loop.add(second, forMode: .default)
                pipe.send()
                #expect(loop.run(for: .seconds(5), returningAfterSourceHandled: true) == .handledSource)
            }.messages
            #expect(trace.lines == ["second"])
            #expect(messages == [])
            second.invalidate()
        }
    }

    @Test("item 109: turns are not remembered by number: a new file with a known number has its turn by list position")
    func turnOfAnother() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let events = [EventDescriptor(), EventDescriptor(), EventDescriptor()]
            let number = Number(of: events[0].descriptor)
            func source(_ name: String, _ descriptor: Int32) -> GRunLoop.DescriptorSource {
                GRunLoop.DescriptorSource(descriptor: descriptor) { source, _ in
                    trace(name)
                    source.invalidate()
                }
            }
            try loop.add(source("before", number.value), forMode: .default)
            events[0].makeReady()
            loop.run(for: .seconds(5), returningAfterSourceHandled: true)
            number.become(events[1].descriptor)
            try loop.add(source("first", number.value), forMode: .default)
            try loop.add(source("second", events[2].descriptor), forMode: .default)
            for event in events[1...] { event.makeReady() }
            for _ in 0..<2 { loop.run(for: .seconds(5), returningAfterSourceHandled: true) }
            #expect(trace.lines == ["before", "first", "second"])
        }
    }
}

extension Number {
    fileprivate var isReadable: Bool {
        var record = pollfd(fd: value, events: Int16(POLLIN), revents: 0)
        return poll(&record, 1, 0) == 1
    }
}
