// SPDX-License-Identifier: Apache-2.0
// The items that one pass services: part 1.3, items 50, 51 and 54 to 56.

import GRunLoop
import TestSupport
import Testing

@Suite struct PassItemTests {
    @Test("item 50: a pass services one item of a wake-up, due timers and ready descriptors, and each has its turn")
    func oneItemAPass() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipes = [Pipe(), Pipe()]
            for (number, pipe) in pipes.enumerated() {
                let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                    trace("descriptor \(number)")
                    pipe.drain()
                }
                try loop.add(source, forMode: .default)
                pipe.send()
            }
            loop.after(.zero) { trace("timer") }
            loop.on(.entry) { _ in loop.wakeUp() }
            let passes = Counter()
            loop.on(.beforeTimers) { _ in
                trace("pass")
                passes.increment()
            }
            // There are four items, so the fifth pass finds none.
            loop.on(.beforeWaiting) { _ in if passes.value == 5 { loop.stop() } }
            #expect(loop.run(mode: .default) == .stopped)
            let serviced = trace.lines.split(separator: "pass", omittingEmptySubsequences: false).dropFirst().map(
                Array.init)
            #expect(serviced.count == 5)
            #expect(serviced.allSatisfy { $0.count <= 1 })
            #expect(serviced.prefix(4).flatMap { $0 }.sorted() == ["descriptor 0", "descriptor 1", "timer"])
            #expect(serviced.last == [])
        }
    }

    @Test(
        "item 51: every due timer fires in the one pass that services the timers, in the order of their dates")
    func allDueTimers() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.on(.beforeTimers) { _ in trace("pass") }
            // Starts far enough ahead that no timer is due when it is made. A due timer would count from then on only.
            let start = GRunLoop.now.advanced(by: .milliseconds(100))
            for milliseconds in [3, 1, 4, 2] {
                let timer = GRunLoop.Timer(fireAt: start.advanced(by: .milliseconds(milliseconds))) { _ in
                    trace("timer \(milliseconds)")
                }
                loop.add(timer, forMode: .default)
            }
            loop.after(.seconds(3600)) { trace("not due") }
            loop.perform { while GRunLoop.now < start.advanced(by: .milliseconds(6)) {} }
            loop.on(.afterWaiting) { _ in loop.stop() }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(trace.lines == ["pass", "timer 1", "timer 2", "timer 3", "timer 4"])
        }
    }

    @Test(
        "item 54: a run that returns after a source performs only the first of two; the other source stays signalled")
    func firstSourceOnly() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let later = loop.source(order: 2) { trace("order 2") }
            let earlier = loop.source(order: -1) { trace("order -1") }
            later.signal()
            earlier.signal()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.take() == ["order -1"])
            #expect(later.isSignalled && !earlier.isSignalled)
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.take() == ["order 2"])
            #expect(!later.isSignalled)
        }
    }

    @Test("item 55: a signalled source and a due timer are both serviced before the run returns handledSource")
    func sourceAndTimer() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.source { trace("source") }.signal()
            loop.after(.zero) { trace("timer") }
            loop.on(.beforeTimers) { _ in trace("pass") }
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["pass", "source", "timer"])
        }
    }

    @Test("item 56: a pass that handled a source is always followed by another pass before the loop sleeps")
    func anotherPassBeforeSleep() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.source { trace("source") }.signal()
            loop.on(.beforeWaiting) { _ in loop.stop() }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "source",
                    "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit",
                ])
        }
    }
}
