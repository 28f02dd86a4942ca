// SPDX-License-Identifier: Apache-2.0
// A watched number whose new file cannot be watched: what the loop notices.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Descriptors whose number is lost") struct DescriptorLossTests {
    private typealias Source = GRunLoop.DescriptorSource

    @Test(
        "a number that gets a file that cannot be polled: no event of the old file, no spinning",
        arguments: ["/proc/self/exe", "/", "/dev/null"]
    )
    func cannotBePolled(path: String) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (old, new) = (Pipe(), Pipe())
            let number = Number(of: old.readEnd)
            let source = Source(descriptor: number.value) { _, _ in trace("performed") }
            try loop.add(source, forMode: .default)
            let passes = Counter()
            loop.add(GRunLoop.Observer(activities: .beforeSources) { _, _ in passes.increment() }, forMode: .default)
            number.become(fileAt: path)
            old.send()
            let messages = capturingLog {
                #expect(loop.run(for: .milliseconds(50)) == .timedOut)
            }.messages
            #expect(trace.lines == [])
            #expect(passes.value < 10, "it must not spin")
            #expect(messages.count == 1, "\(messages)")
            // The source waits in vain, until the number has a file that can be polled.
            number.become(new.readEnd)
            let later = Source(descriptor: number.value) { _, _ in
                trace("later")
                new.drain()
            }
            _ = try capturingLog { try loop.add(later, forMode: .default) }
            new.send()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["later"])
            for each in [source, later] { each.invalidate() }
        }
    }

    @Test(
        "a change of conditions that the kernel refuses ends the events of the number's old file",
        arguments: ["/dev/null", nil]
    )
    func changedInVain(path: String?) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let events = [EventDescriptor(), EventDescriptor()]
            let numbers = events.map { Number(of: $0.descriptor) }
            let sources = Shared<[Source]>([])
            sources.value = numbers.indices.map { index in
                Source(descriptor: numbers[index].value) { _, _ in
                    trace("performed")
                    events[index].consume()
                    // The other's event is in the batch.
                    let other = numbers[1 - index]
                    if let path { other.become(fileAt: path) } else { other.close() }
                    sources.value[1 - index].conditions = [.readable, .priority]
                }
            }
            for source in sources.value { try loop.add(source, forMode: .default) }
            for event in events { event.makeReady() }
            let messages = capturingLog {
                #expect(loop.run(for: .milliseconds(20)) == .timedOut)
                for source in sources.value { source.invalidate() }
                sources.value = []
            }.messages
            #expect(trace.lines == ["performed"])
            let first = messages.first ?? "no message"
            #expect(numbers.contains { first.contains("descriptor \($0.value) was closed while") }, "\(messages)")
        }
    }

    @Test("a source is refused whose number another one watches, and has got a file that cannot be polled")
    func addedInVain() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let number = Number(of: pipe.readEnd)
            let first = Source(descriptor: number.value) { _, _ in }
            try loop.add(first, forMode: .default)
            number.become(fileAt: "/dev/null")
            #expect(throws: GRunLoop.DescriptorError.notPollable(descriptor: number.value)) {
                try loop.add(Source(descriptor: number.value) { _, _ in }, forMode: .default)
            }
            _ = capturingLog { first.invalidate() }
        }
    }

    @Test(
        "in a sandbox that forbids epoll_ctl() the events still come: its refusal says nothing about a number",
        arguments: ["EPERM", "ENOSYS"])
    func sandbox(error: String) {
        let child = runChild("descriptors-sandboxed-\(error)")
        #expect(child.output == ["performed, performed"] && child.status == 0, "\(child)")
    }
}
