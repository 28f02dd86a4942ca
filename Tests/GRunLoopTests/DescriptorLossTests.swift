// SPDX-License-Identifier: Apache-2.0
// The new file of a watched number cannot be watched, or the number is one of many that are ready.

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite("Descriptors whose number gets another file unnoticed") struct DescriptorLossTests {
    private typealias Source = GRunLoop.DescriptorSource

    @Test(
        "a number gets a file that cannot be polled: old events stop, the loop does not spin, the log names both",
        arguments: ["/proc/self/exe", "/", "/dev/null"]
    )
    func cannotBePolled(path: String) async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let (old, new) = (Pipe(), Pipe())
            let number = Number(of: old.readEnd)
            let source = Source(descriptor: number.value) { _, _ in trace("performed") }
            source.label = "input"
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
            let text = "descriptor \(number.value) was closed or replaced by dup2() while a DescriptorSource \"input\""
            #expect(messages.map { $0.contains(text) } == [true], "\(messages)")
            // The source gets no events until the number has a file that can be polled.
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
        "a change of conditions that the kernel refuses stops the events of the number's old file",
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
                    // The other source's event is in the batch.
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

    @Test("a source is refused if its number is watched by another source, and now has a file that cannot be polled")
    func addedInVain() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let number = Number(of: pipe.readEnd)
            let first = Source(descriptor: number.value) { _, _ in }
            try loop.add(first, forMode: .default)
            number.become(fileAt: "/dev/null")
            #expect(throws: GRunLoop.SystemError.notPollable(descriptor: number.value)) {
                try loop.add(Source(descriptor: number.value) { _, _ in }, forMode: .default)
            }
            _ = capturingLog { first.invalidate() }
        }
    }

    enum Drive: CaseIterable {
        /// Services sources in a row, without passes between them. The loop queries the kernel between them.
        case row
        case passes
        case runs
    }

    @Test(
        "the loop notices when one of many always-ready numbers gets another file",
        arguments: Drive.allCases, [2, 5, 12, 70])
    func oneOfMany(drive: Drive, count: Int) async throws {
        for lost in [0, count / 2, count - 1] {
            try await onFreshThread { loop in
                let quiet = EventDescriptor()
                let events = (0..<count).map { _ in EventDescriptor() }
                let number = Number(of: events[lost].descriptor)
                // Each number has its turn within eight queries for each descriptor.
                let limit = 8 * count * Swift.min(count, 64)
                let (calls, callsAfterwards) = (Counter(), Counter())
                let sources = events.indices.map { index in
                    Source(descriptor: index == lost ? number.value : events[index].descriptor) { _, _ in
                        if calls.increment() == limit { loop.stop() }
                        if index == lost, calls.value > limit { callsAfterwards.increment() }
                    }
                }
                for source in sources { try loop.add(source, forMode: .default) }
                for event in events { event.makeReady() }
                number.become(quiet.descriptor)
                let messages = capturingLog {
                    switch drive {
                    case .row: loop.run()
                    case .passes: loop.run(for: .seconds(3600))
                    case .runs:
                        while calls.value < limit { loop.run(for: .seconds(3600), returningAfterSourceHandled: true) }
                    }
                }.messages
                #expect(messages.count == 1, "\(lost): \(messages)")
                let message = "descriptor \(number.value) was closed or replaced by dup2() while"
                #expect(messages.allSatisfy { $0.contains(message) }, "\(messages)")
                for _ in 0..<count { loop.run(for: .zero, returningAfterSourceHandled: true) }
                #expect(callsAfterwards.value == 0, "an event of the old file")
                for source in sources { source.invalidate() }
            }
        }
    }

    @Test(
        "in a sandbox that forbids epoll_ctl() events still arrive: its refusal says nothing about a number",
        arguments: ["EPERM", "ENOSYS"])
    func sandbox(error: String) {
        let child = runChild("descriptors-sandboxed-\(error)")
        #expect(child.output == ["performed, performed"] && child.status == 0, "\(child)")
    }
}
