// SPDX-License-Identifier: Apache-2.0
// Version-1 sources, which are descriptors: part 1.7, items 101 to 109.

@_spi(Oracle) import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct DescriptorTests {
    @Test("item 101: adding a source adds its descriptor to the mode's wait set, and removing it undoes that")
    func waitSet() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in }
            let other = GRunLoop.DescriptorSource(descriptor: Pipe().readEnd) { _, _ in }
            #expect(source.descriptor == pipe.readEnd)
            try loop.add(source, forMode: .default)
            #expect(watched(by: loop) == [pipe.readEnd])
            #expect(loop.contains(source, forMode: .default) && !loop.contains(other, forMode: .default))
            try loop.add(source, forMode: .default)
            #expect(watched(by: loop) == [pipe.readEnd])
            loop.remove(source, forMode: .default)
            #expect(watched(by: loop) == [])
            #expect(!loop.contains(source, forMode: .default))
            try loop.add(source, forMode: .default)
            source.invalidate()
            #expect(watched(by: loop) == [])
            // The program still owns the descriptor.
            #expect(fcntl(pipe.readEnd, F_GETFD) >= 0)
        }
    }

    @Test("item 102: a descriptor that becomes ready wakes the sleeping loop, and its source is performed once")
    func readiness() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let pipe = Pipe()
            let thread = LoopThread { loop in
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { source, ready in
                    trace("\(ready): \(pipe.drain()) on \(source.descriptor == pipe.readEnd ? "its own" : "another")")
                }
                try? loop.add(source, forMode: .default)
                trace.observe(loop)
                loop.run()
            }
            thread.waitUntilAsleep()
            _ = trace.take()
            pipe.send("hello")
            #expect(trace.wait(for: "readable: hello on its own"))
            thread.waitUntilAsleep()
            #expect(
                trace.take() == [
                    "afterWaiting", "readable: hello on its own", "beforeTimers", "beforeSources", "beforeWaiting",
                ])
            thread.finish()
        }
    }

    @Test("item 103: each pass services one of two ready descriptors, and so does each run that returns after a source")
    func oneAPass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipes = [Pipe(), Pipe()]
            for (number, pipe) in pipes.enumerated() {
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    pipe.drain()
                    trace("descriptor \(number)")
                    if trace.lines.contains("descriptor \(1 - number)") { loop.stop() }
                }
                try loop.add(source, forMode: .default)
            }
            let observer = loop.on(.beforeTimers) { _ in trace("pass") }
            for pipe in pipes { pipe.send() }
            #expect(loop.run(mode: .default) == .stopped)
            let lines = trace.take()
            #expect(lines.count == 4 && lines[0] == "pass" && lines[2] == "pass")
            #expect(Set([lines[1], lines[3]]) == ["descriptor 0", "descriptor 1"])
            observer.invalidate()
            for pipe in pipes { pipe.send() }
            for _ in 0..<2 {
                #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
                #expect(trace.take().count == 1)
            }
        }
    }

    @Test("item 103: a test that makes choices sees a descriptor that became ready while another one was serviced")
    func chosen() async throws {
        try await onFreshThread { loop in
            let (shown, called) = (Shared<[Int]>([]), Counter())
            let pipes = [Pipe(), Pipe(), Pipe()]
            for pipe in pipes {
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    pipe.drain()
                    switch called.increment() {
                    case 1: pipes[2].send()
                    case 3: loop.stop()
                    default: break
                    }
                }
                try loop.add(source, forMode: .default)
            }
            for pipe in pipes[..<2] { pipe.send() }
            loop.setItemChooser { ready in
                shown.update { $0.append(ready.count) }
                return 0
            }
            loop.run()
            loop.setItemChooser(nil)
            #expect(shown.value == [2, 2])
        }
    }

    @Test("item 104: a counter that becomes ready several times before it is serviced causes one call")
    func readySeveralTimes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let event = EventDescriptor()
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                trace("performed for \(event.consume())")
            }
            try loop.add(source, forMode: .default)
            for _ in 0..<3 { event.makeReady() }
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            #expect(trace.lines == ["performed for 3"])
        }
    }

    @Test(
        "item 104 (our rule): the loop does not read from the descriptor, so unread data is ready in the next pass too"
    )
    func loopDoesNotRead() async throws {
        try await onFreshThread { loop in
            let pipe = Pipe()
            let performed = Counter()
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in performed.increment() }
            try loop.add(source, forMode: .default)
            pipe.send("all of it")
            for round in 1...3 {
                #expect(loop.run(for: .zero) == .timedOut)
                #expect(performed.value == round)
            }
            #expect(pipe.drain() == "all of it")
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(performed.value == 3)
        }
    }

    @Test("item 105: a descriptor source cannot be signalled")
    func noSignal() throws {
        let source = "let source = GRunLoop.DescriptorSource(descriptor: 0) { _, _ in }; source."
        #expect(try Snippet(source + "invalidate()").problems() == [])
        #expect(try Snippet(source + "signal()").mentions("has no member 'signal'"))
    }

    @Test("item 106: a descriptor in two modes causes one call, in the mode that runs first")
    func twoModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let event = EventDescriptor()
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                event.consume()
                trace(loop.currentMode?.rawValue ?? "none")
            }
            try loop.add(source, forMode: "one")
            try loop.add(source, forMode: "other")
            event.makeReady()
            #expect(loop.run(mode: "other", for: .milliseconds(10)) == .timedOut)
            #expect(loop.run(mode: "one", for: .milliseconds(10)) == .timedOut)
            #expect(loop.run(mode: "other", for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["other"])
        }
    }

    @Test("item 107: a ready descriptor that is removed before it is serviced is still ready when it is added again")
    func readinessSurvivesRemoval() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let event = EventDescriptor()
            let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                event.consume()
                trace("performed")
            }
            loop.keepAlive()
            try loop.add(source, forMode: .default)
            event.makeReady()
            loop.remove(source, forMode: .default)
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == [])
            try loop.add(source, forMode: .default)
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.lines == ["performed"])
        }
    }

    @Test("item 109: of two sources for one descriptor and condition the later gets the events, until it is removed")
    func sharedDescriptor() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let event = EventDescriptor()
            func source(_ name: String) -> GRunLoop.DescriptorSource {
                GRunLoop.DescriptorSource(descriptor: event.descriptor) { _, _ in
                    event.consume()
                    trace(name)
                }
            }
            let earlier = source("earlier")
            let later = source("later")
            try loop.add(earlier, forMode: .default)
            try loop.add(later, forMode: .default)
            event.makeReady()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.take() == ["later"])
            loop.remove(later, forMode: .default)
            event.makeReady()
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.take() == ["earlier"])
        }
    }

    @Test("sources for different conditions share a descriptor, and each gets its own conditions")
    func sharedByConditions() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pair = SocketPair()
            let reader = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .readable) { _, ready in
                var byte: UInt8 = 0
                _ = read(pair.one, &byte, 1)
                trace("reader: \(ready)")
            }
            let writer = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .writable) { source, ready in
                trace("writer: \(ready)")
                source.invalidate()
            }
            try loop.add(reader, forMode: .default)
            try loop.add(writer, forMode: .default)
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.take() == ["writer: writable"])
            _ = write(pair.other, "x", 1)
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.take() == ["reader: readable"])
            shutdown(pair.other, Int32(SHUT_RDWR))
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["reader: readable+hangUp"])
        }
    }
}

/// The descriptors that the epoll of the loop's only descriptor set watches, read from the kernel.
private func watched(by loop: GRunLoop) -> [Int32] {
    let parts = loop.description.split(separator: "epoll = ")
    guard parts.count > 1, let epoll = Int32(parts[1].prefix { $0.isNumber }) else { return [] }
    guard let file = fopen("/proc/self/fdinfo/\(epoll)", "r") else { return [] }
    defer { fclose(file) }
    var found: [Int32] = []
    var buffer = [CChar](repeating: 0, count: 256)
    while fgets(&buffer, Int32(buffer.count), file) != nil {
        let line = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let fields = line.split(whereSeparator: \.isWhitespace)
        if fields.first == "tfd:", fields.count > 1, let descriptor = Int32(fields[1]) { found.append(descriptor) }
    }
    return found
}
