// SPDX-License-Identifier: Apache-2.0
// Precedence of the results, and limits of time: part 1.2, items 29 to 38.

import GRunLoop
import TestSupport
import Testing

@Suite struct RunLimitTests {
    @Test("item 29: of several results in one pass the first counts: handledSource, timedOut, stopped, finished")
    func precedence() async throws {
        try await onFreshThread { loop in
            // The source is performed after the blocks. So the block that empties the mode runs in stage 11 of the same
            // pass.
            func emptied(_ body: @escaping @Sendable () -> Void, handled: Bool, limit: Duration) -> GRunLoop.RunResult {
                let kept = Shared<GRunLoop.Source?>(nil)
                let source = loop.source {
                    body()
                    loop.perform { kept.value?.invalidate() }
                }
                kept.value = source
                // The source keeps its closure, and the closure keeps the source.
                defer { kept.value = nil }
                source.signal()
                return loop.run(for: limit, returningAfterSourceHandled: handled)
            }
            let everything: @Sendable () -> Void = {
                spin(for: .milliseconds(15))
                loop.stop()
            }
            #expect(emptied(everything, handled: true, limit: .milliseconds(10)) == .handledSource)
            #expect(emptied(everything, handled: false, limit: .milliseconds(10)) == .timedOut)
            #expect(emptied({ loop.stop() }, handled: false, limit: .seconds(60)) == .stopped)
            #expect(emptied({}, handled: false, limit: .seconds(60)) == .finished)
        }
    }

    @Test("item 30: a stop in a source that ends the run is lost")
    func stopIsLostBehindSource() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            loop.source { loop.stop() }.signal()
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(loop.run(for: .milliseconds(20)) == .timedOut)
        }
    }

    @Test("item 31: a stop in a run with a zero limit is lost behind timedOut")
    func stopIsLostBehindPoll() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            for limit in [Duration.zero, .seconds(-1)] {
                loop.perform { loop.stop() }
                #expect(loop.run(for: limit) == .timedOut)
                #expect(loop.run(for: .milliseconds(20)) == .timedOut)
            }
        }
    }

    @Test("items 32, 33: a zero limit means one pass that does not sleep, without beforeWaiting and afterWaiting")
    func onePass() async throws {
        try await onFreshThread { loop in
            for limit in [Duration.zero, .seconds(-5)] {
                let trace = Recorder()
                let observer = trace.observe(loop)
                let pipe = Pipe()
                let source = loop.source {
                    trace("source")
                    loop.perform { trace("block after source") }
                }
                let timer = loop.after(.zero) {
                    trace("timer")
                    loop.perform { trace("block after timer") }
                }
                let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in trace("descriptor") }
                try loop.add(descriptor, forMode: .default)
                source.signal()
                loop.perform { trace("block") }
                #expect(loop.run(for: limit) == .timedOut)
                // If no other item is ready, the timer is the one ready item.
                #expect(
                    trace.take() == [
                        "entry", "beforeTimers", "beforeSources", "block", "source", "block after source", "timer",
                        "block after timer", "exit",
                    ])
                timer.invalidate()
                pipe.send()
                #expect(loop.run(for: limit) == .timedOut)
                #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "descriptor", "exit"])
                #expect(loop.run(for: limit, returningAfterSourceHandled: true) == .handledSource)
                #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "descriptor", "exit"])
                pipe.drain()
                let time = elapsed { #expect(loop.run(for: limit) == .timedOut) }
                #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "exit"])
                #expect(time < .seconds(10))
                observer.invalidate()
                descriptor.invalidate()
                source.invalidate()
            }
        }
    }

    @Test("item 32: such a pass services one of two ready items")
    func onePassOneItem() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pipes = [Pipe(), Pipe()]
            for pipe in pipes {
                try loop.add(
                    GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                        trace("descriptor")
                        pipe.drain()
                    }, forMode: .default)
                pipe.send()
            }
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["descriptor"])
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(trace.take() == ["descriptor"])
        }
    }

    @Test("item 32: a run with a zero limit is never finished once its pass has begun")
    func pollIsNotFinished() async throws {
        try await onFreshThread { loop in
            loop.after(.zero) {}
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(loop.run(for: .zero) == .finished)
            let source = GRunLoop.Source {}
            loop.add(source, forMode: .default)
            loop.perform { source.invalidate() }
            #expect(loop.run(for: .seconds(-1)) == .timedOut)
            #expect(loop.run(for: .seconds(-1)) == .finished)
        }
    }

    @Test("item 34: a limit of more than 16 years is no limit: the thread waits without a timeout")
    func noLimit() async throws {
        try await onFreshThread { _ in
            func waitsForEver(_ limit: Duration?) -> Bool {
                let thread = LoopThread { loop in
                    loop.keepAlive()
                    loop.run(mode: .default, for: limit)
                }
                thread.waitUntilAsleep()
                let call = systemCall(of: thread.kernelID)
                thread.finish()
                return isEndlessPoll(call)
            }
            let limit = Duration.seconds(504_911_232)
            #expect(waitsForEver(nil))
            #expect(waitsForEver(limit + .seconds(1)))
            #expect(waitsForEver(.seconds(Int64.max)))
            #expect(!waitsForEver(limit - .seconds(86_400)))
        }
    }

    @Test("item 35: wake-ups do not move the limit")
    func wakeUpsDoNotMoveLimit() async throws {
        try await onFreshThread { _ in
            let passes = Counter()
            let result = Shared<(GRunLoop.RunResult, Duration)?>(nil)
            let thread = LoopThread { loop in
                loop.keepAlive()
                loop.on(.beforeTimers) { _ in passes.increment() }
                let start = GRunLoop.now
                let answer = loop.run(for: .milliseconds(200))
                result.value = (answer, start.duration(to: GRunLoop.now))
            }
            while !thread.hasEnded { thread.loop.wakeUp() }
            thread.join()
            let (answer, time) = try #require(result.value)
            #expect(answer == .timedOut)
            #expect(time >= .milliseconds(200) && time < .seconds(10))
            #expect(passes.value > 2)
        }
    }

    @Test("item 36: a source that always signals itself does not prevent the run from timing out")
    func endlessSource() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let kept = Shared<GRunLoop.Source?>(nil)
            let source = loop.source {
                performed.increment()
                kept.value?.signal()
            }
            kept.value = source
            // The source keeps its closure, and the closure keeps the source.
            defer { kept.value = nil }
            source.signal()
            let time = elapsed { #expect(loop.run(for: .milliseconds(100)) == .timedOut) }
            #expect(time >= .milliseconds(100) && time < .seconds(10))
            #expect(performed.value > 1)
            source.invalidate()
            kept.value = nil
        }
    }

    @Test("item 37: run() runs the default mode, not returning after sources, with one entry and one exit")
    func run() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop, .default, [.entry, .exit])
            let keeper = loop.keepAlive()
            let source = loop.source { trace("source") }
            loop.after(.milliseconds(5)) {
                source.signal()
                loop.after(.milliseconds(5)) {
                    loop.perform { trace("block") }
                    loop.after(.milliseconds(5)) {
                        trace("stop in \(loop.currentMode?.rawValue ?? "none")")
                        loop.stop()
                    }
                }
            }
            loop.run()
            #expect(trace.take() == ["entry", "source", "block", "stop in kCFRunLoopDefaultMode", "exit"])
            // The run also ends when the mode is empty.
            loop.after(.milliseconds(5)) {
                keeper.invalidate()
                source.invalidate()
            }
            loop.run()
            #expect(trace.lines == ["entry", "exit"])
        }
    }

    @Test("item 38: run() returns immediately when the default mode is empty")
    func runOfNothing() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.keepAlive("another")
            loop.run()
            #expect(trace.lines == [])
        }
    }

    @Test("a limit that passes at any moment while the loop prepares its sleep ends the sleep")
    func passesWhileTheSleepIsPrepared() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            for round in 0..<40_000 {
                // Adds a few nanoseconds each time, so that the limit passes between two clock readings in some round.
                #expect(loop.run(for: .nanoseconds(round % 4000 * 2)) == .timedOut)
            }
        }
    }
}
