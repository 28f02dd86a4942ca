// SPDX-License-Identifier: Apache-2.0
// The order of one pass: part 1.3, items 40 to 49.

import GRunLoop
import TestSupport
import Testing

@Suite struct PassTests {
    @Test("item 40: entry is sent once before the first pass and exit once after the last pass, for every result")
    func entryAndExit() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop, .default, [.entry, .beforeTimers, .exit])
            func passes(_ result: GRunLoop.RunResult, _ run: () -> GRunLoop.RunResult) -> Int {
                #expect(run() == result)
                let lines = trace.take()
                #expect(lines.first == "entry" && lines.last == "exit", "\(lines)")
                #expect(lines.dropFirst().dropLast().allSatisfy { $0 == "beforeTimers" }, "\(lines)")
                return lines.count - 2
            }
            // Finishes after three passes.
            for delay in 1...3 { loop.after(.milliseconds(5 * delay)) {} }
            #expect(passes(.finished) { loop.run(mode: .default) } >= 1)
            let source = loop.keepAlive()
            // Stops after three passes.
            for delay in 1...3 {
                loop.after(.milliseconds(5 * delay)) { if delay == 3 { loop.stop() } }
            }
            #expect(passes(.stopped) { loop.run(mode: .default) } >= 1)
            #expect(passes(.timedOut) { loop.run(for: .zero) } == 1)
            loop.after(.milliseconds(1)) {}
            #expect(passes(.timedOut) { loop.run(for: .milliseconds(20)) } >= 1)
            loop.after(.milliseconds(1)) { source.signal() }
            #expect(passes(.handledSource) { loop.run(for: .seconds(60), returningAfterSourceHandled: true) } >= 1)
            // Stops before the first pass.
            loop.on(.entry, repeats: false) { _ in loop.stop() }
            #expect(passes(.stopped) { loop.run(mode: .default) } == 0)
        }
    }

    @Test("item 41: the stages of a pass in which no version-0 source is performed")
    func orderWithoutSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            trace.observe(loop)
            loop.perform {
                trace("block")
                // Blocks do not run again before the wait, because no source was handled.
                loop.perform { trace("block of block") }
            }
            loop.after(.milliseconds(10)) {
                trace("timer")
                loop.perform { trace("block of timer") }
                loop.stop()
            }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "block", "beforeWaiting", "afterWaiting", "timer",
                    "block of block", "block of timer", "exit",
                ])
        }
    }

    @Test(
        "items 41, 43: after a source was performed, blocks run again, and the pass polls and services ready items")
    func orderWithSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.perform {
                trace("block")
                loop.perform { trace("block of block") }
            }
            loop.source {
                trace("source")
                loop.perform { trace("block of source") }
            }.signal()
            loop.after(.zero) {
                trace("timer")
                loop.perform { trace("block of timer") }
                loop.stop()
            }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "block", "source", "block of block", "block of source",
                    "timer", "block of timer", "exit",
                ])
        }
    }

    @Test("item 43: after a source was performed, the pass also services a ready descriptor, and does not wait")
    func pollAfterSource() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            trace.observe(loop)
            let source = loop.source { trace("source") }
            source.signal()
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                trace("descriptor")
                loop.stop()
            }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            #expect(loop.run(mode: .default) == .stopped)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "source", "descriptor", "exit"])
            pipe.drain()
            source.signal()
            loop.on(.beforeWaiting, repeats: false) { _ in loop.stop() }
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "source",
                    "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit",
                ])
        }
    }

    @Test("item 42: a due timer fires after the wait, never between beforeTimers and beforeSources")
    func timersFireAfterTheWait() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.after(.zero) { trace("timer") }
            spin(for: .milliseconds(1))
            #expect(loop.run(mode: .default) == .finished)
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "timer", "exit",
                ])
        }
    }

    @Test("item 44: beforeWaiting and afterWaiting are sent as a pair, also when the wait ends immediately")
    func waitingIsAPair() async throws {
        try await onFreshThread { loop in
            let pass = ["beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting"]
            let trace = Recorder()
            let pipe = Pipe()
            trace.observe(loop)
            loop.after(.zero) { trace("timer") }
            #expect(loop.run(for: .seconds(60)) == .finished)
            #expect(trace.take() == ["entry"] + pass + ["timer", "exit"])
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in trace("descriptor") }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.take() == ["entry"] + pass + ["descriptor", "exit"])
            pipe.drain()
            loop.on(.entry, repeats: false) { _ in loop.wakeUp() }
            #expect(loop.runUntilAsleep() == .stopped)
            #expect(trace.take() == ["entry"] + pass + pass + ["exit"])
            descriptor.invalidate()
        }
    }

    @Test("item 45: a source that a beforeSources observer or a block signals is performed in the same pass")
    func signalledBeforeSources() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let byObserver = loop.source { trace("by observer") }
            let byBlock = loop.source { trace("by block") }
            loop.on(.beforeSources, order: 1, repeats: false) { _ in byObserver.signal() }
            loop.perform { byBlock.signal() }
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "by observer", "by block", "exit"])
        }
    }

    @Test(
        "items 46, 49: work that a beforeWaiting observer adds without a wake-up waits until the sleep ends"
    )
    func signalledBeforeWaiting() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let source = loop.source {
                trace("source")
                loop.stop()
            }
            loop.on(.beforeWaiting, order: 1, repeats: false) { _ in
                source.signal()
                loop.perform { trace("block") }
            }
            let timer = loop.after(.milliseconds(30)) { trace("timer") }
            loop.keepAlive()
            #expect(loop.run(mode: .default) == .stopped)
            #expect(
                trace.take() == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "timer", "block",
                    "beforeTimers", "beforeSources", "source", "exit",
                ])
            withExtendedLifetime(timer) {}
            // Here the sleep ends with the time limit. The block still runs, but the source waits for another run.
            loop.on(.beforeWaiting, order: 1, repeats: false) { _ in
                source.signal()
                loop.perform { trace("block") }
            }
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            #expect(
                trace.take() == [
                    "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "block", "exit",
                ])
            #expect(source.isSignalled)
        }
    }

    @Test("item 47: a block from a source, timer, descriptor source or afterWaiting observer runs in the same pass")
    func blocksOfCallouts() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipe = Pipe()
            loop.on(.beforeTimers) { _ in trace("pass") }
            @Sendable func block(_ name: String) {
                trace(name)
                loop.perform { trace("block of \(name)") }
            }
            loop.keepAlive()
            loop.source { block("source") }.signal()
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["pass", "source", "block of source"])
            loop.after(.zero) { block("timer") }
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["pass", "timer", "block of timer"])
            let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in block("descriptor") }
            try loop.add(descriptor, forMode: .default)
            pipe.send()
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["pass", "descriptor", "block of descriptor"])
            pipe.drain()
            loop.on(.afterWaiting, repeats: false) { _ in block("observer") }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(trace.take() == ["pass", "observer", "block of observer"])
        }
    }

    @Test("item 48: a block that a block of the first step enqueues waits during the sleep if no source was handled")
    func blockOfBlock() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.keepAlive()
            loop.perform {
                trace("block")
                loop.perform { trace("block of block") }
            }
            let time = elapsed { #expect(loop.run(for: .milliseconds(40)) == .timedOut) }
            #expect(time >= .milliseconds(40))
            #expect(
                trace.lines == [
                    "entry", "beforeTimers", "beforeSources", "block", "beforeWaiting", "afterWaiting",
                    "block of block",
                    "exit",
                ])
        }
    }
}
