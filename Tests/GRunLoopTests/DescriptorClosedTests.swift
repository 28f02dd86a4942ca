// SPDX-License-Identifier: Apache-2.0
// Descriptors that are closed while they are watched (item 108), and the messages about them.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct DescriptorClosedTests {
    @Test(
        "item 108: an event without a source is logged; the loop continues, sleeps, and serves the other sources"
    )
    func orphanedEvent() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let orphan = Pipe()
            let pipe = Pipe()
            let number = Shared<Int32>(-1)
            let thread = LoopThread { loop in
                loop.keepAlive()
                let performed = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    pipe.drain()
                    trace("performed")
                }
                try? loop.add(performed, forMode: .default)
                // The kernel watches the open file. The first descriptor keeps the file open after the copy is closed.
                number.value = copyWithHighNumber(orphan.readEnd)
                let source = GRunLoop.DescriptorSource(descriptor: number.value) { _, _ in trace("orphan") }
                let messages = capturingLog {
                    try? loop.add(source, forMode: .default)
                    close(number.value)
                    loop.remove(source, forMode: .default)
                    loop.run()
                }.messages
                trace(messages.joined(separator: " "))
            }
            thread.waitUntilAsleep()
            orphan.send()
            pipe.send()
            #expect(trace.wait(for: "performed"))
            #expect(thread.fallsAsleep(within: .seconds(5)), "it must not spin")
            thread.finish()
            #expect(trace.lines.count == 2 && trace.lines[0] == "performed")
            #expect(trace.lines[1].contains("descriptor \(number.value) was closed while"), "\(trace.lines)")
        }
    }

    @Test("a descriptor that is closed while it is watched causes no call, and its number can be watched again")
    func closedAndReused() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let number = {
                let first = Pipe()
                return withExtendedLifetime(first) { copyWithHighNumber(first.readEnd) }
            }()
            let old = GRunLoop.DescriptorSource(descriptor: number) { _, _ in trace("old") }
            loop.keepAlive()
            try loop.add(old, forMode: .default)
            close(number)
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == [])
            let pipe = Pipe()
            #expect(dup2(pipe.readEnd, number) == number)
            defer { close(number) }
            let new = GRunLoop.DescriptorSource(descriptor: number) { _, _ in
                trace("new")
                pipe.drain()
            }
            let messages = try capturingLog {
                try loop.add(new, forMode: .default)
                pipe.send()
                #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
                old.invalidate()
                pipe.send()
                #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            }.messages
            #expect(trace.lines == ["new", "new"])
            #expect(messages.contains { $0.contains("was closed while a DescriptorSource watched it") }, "\(messages)")
        }
    }

    @Test("a source that another source's callout removes is not performed, even if its event was fetched already")
    func removedAfterFetch() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let events = [EventDescriptor(), EventDescriptor()]
            let sources = Shared<[GRunLoop.DescriptorSource]>([])
            sources.value = events.enumerated().map { number, event in
                GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                    event.consume()
                    trace("performed")
                    loop.remove(sources.value[1 - number], forMode: .default)
                }
            }
            for source in sources.value { try loop.add(source, forMode: .default) }
            for event in events { event.makeReady() }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["performed"])
            sources.value = []
        }
    }

    @Test(
        "item 107: a fetched event is not given to another descriptor that got the number before the turn of the event"
    )
    func numberReusedAfterFetch() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let events = [EventDescriptor(), EventDescriptor()]
            let quiet = EventDescriptor()
            let numbers = events.map { copyWithHighNumber($0.descriptor) }
            defer { for number in numbers { close(number) } }
            let sources = Shared<[GRunLoop.DescriptorSource]>([])
            let later = numbers.map {
                GRunLoop.DescriptorSource(descriptor: $0) { _, _ in trace("another descriptor's event") }
            }
            sources.value = numbers.enumerated().map { index, number in
                GRunLoop.DescriptorSource(descriptor: number) { _, _ in
                    events[index].consume()
                    trace("performed")
                    let other = 1 - index
                    loop.remove(sources.value[other], forMode: .default)
                    _ = dup2(quiet.descriptor, numbers[other])
                    try? loop.add(later[other], forMode: .default)
                }
            }
            for source in sources.value { try loop.add(source, forMode: .default) }
            for event in events { event.makeReady() }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["performed"])
            sources.value = []
        }
    }
}
