// SPDX-License-Identifier: Apache-2.0
// Running a loop as Foundation's RunLoop does: part 1.15, items 203 to 213.

import GRunLoop
import TestSupport
import Testing

private let pass = ["beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting"]

@Suite struct FoundationRunTests {
    @Test("item 203: every method returns immediately for an empty mode, and its limit date is nil")
    func emptyMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            #expect(loop.run(mode: .default, before: GRunLoop.distantFuture) == false)
            #expect(loop.run(mode: "unknown", before: GRunLoop.distantFuture) == false)
            loop.run(until: GRunLoop.distantFuture)
            loop.acceptInput(forMode: .default, before: GRunLoop.distantFuture)
            #expect(loop.limitDate(forMode: .default) == nil)
            #expect(trace.lines == [])
        }
    }

    @Test("item 204: run(mode:before:) returns true after a source, after the time and after a stop")
    func answersTrue() async throws {
        try await onFreshThread { loop in
            let performed = Counter()
            let source = loop.source { performed.increment() }
            source.signal()
            #expect(loop.run(mode: .default, before: GRunLoop.distantFuture))
            #expect(performed.value == 1)
            let limit = GRunLoop.now.advanced(by: .milliseconds(20))
            #expect(loop.run(mode: .default, before: limit))
            #expect(GRunLoop.now >= limit)
            loop.after(.milliseconds(5)) { loop.stop() }
            #expect(loop.run(mode: .default, before: GRunLoop.distantFuture))
        }
    }

    @Test(
        "item 205: with a repeating timer only, run(mode:before:) fires it whenever it is due and returns at the limit"
    )
    func repeatingTimer() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .milliseconds(2)) { _ in fired.increment() }
            loop.add(timer, forMode: .default)
            let limit = GRunLoop.now.advanced(by: .milliseconds(60))
            #expect(loop.run(mode: .default, before: limit))
            #expect(GRunLoop.now >= limit)
            #expect(fired.value > 2)
        }
    }

    @Test("item 206: run(mode:before:) returns true early when the last one-shot timer has fired")
    func lastTimer() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            loop.after(.milliseconds(5)) { fired.increment() }
            let time = elapsed {
                #expect(loop.run(mode: .default, before: GRunLoop.now.advanced(by: .seconds(60))))
            }
            #expect(time < .seconds(30))
            #expect(fired.value == 1)
        }
    }

    @Test("item 207: with a limit that has passed, run(mode:before:) makes one pass, which fires due timers")
    func pastLimit() async throws {
        try await onFreshThread { loop in
            for limit in [GRunLoop.distantPast, GRunLoop.now, GRunLoop.now.advanced(by: .seconds(-1))] {
                let trace = Recorder()
                let observer = trace.observe(loop)
                loop.after(.zero) { trace("timer") }
                loop.after(.seconds(3600)) { trace("later timer") }
                #expect(loop.run(mode: .default, before: limit))
                #expect(trace.lines == ["entry", "beforeTimers", "beforeSources", "timer", "exit"])
                observer.invalidate()
            }
        }
    }

    @Test("item 208: run(until:) runs the default mode until the date: an exit and an entry for every handled source")
    func runUntil() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop, .default, [.entry, .exit])
            let signals = Counter()
            let kept = Shared<GRunLoop.Source?>(nil)
            let source = loop.source {
                trace("source")
                if signals.increment() < 3 { kept.value?.signal() } else { kept.value?.invalidate() }
            }
            kept.value = source
            // The source keeps its closure, and the closure keeps the source.
            defer { kept.value = nil }
            source.signal()
            // The run ends before the date, because the mode is empty then.
            let time = elapsed { loop.run(until: GRunLoop.now.advanced(by: .seconds(60))) }
            #expect(time < .seconds(30))
            #expect(
                trace.take() == ["entry", "source", "exit", "entry", "source", "exit", "entry", "source", "exit"])
            loop.keepAlive()
            loop.keepAlive("private")
            trace.observe(loop, "private")
            let limit = GRunLoop.now.advanced(by: .milliseconds(30))
            loop.run(until: limit)
            #expect(GRunLoop.now >= limit)
            #expect(trace.lines.starts(with: ["entry", "exit"]))
            kept.value = nil
        }
    }

    @Test("item 209: run() ends only when the mode is empty; a stop ends one iteration of it, and of run(until:)")
    func runWithoutEnd() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop, .default, [.entry, .exit])
            let source = loop.source { trace("source") }
            // Each step runs in the iteration that the previous step has begun.
            let steps: [@Sendable () -> Void] = [
                {
                    trace("stop")
                    loop.stop()
                }, { source.signal() },
                {
                    trace("end")
                    source.invalidate()
                },
            ]
            let entries = Counter()
            let observer = loop.on(.entry) { _ in loop.after(.milliseconds(2), .default, steps[entries.increment() - 1])
            }
            loop.run(until: GRunLoop.distantFuture)
            #expect(
                trace.take() == ["entry", "stop", "exit", "entry", "source", "exit", "entry", "end", "exit"])
            observer.invalidate()

            let keeper = loop.keepAlive()
            let more = Counter()
            loop.on(.entry) { _ in
                loop.after(.milliseconds(2)) {
                    if more.increment() == 1 {
                        trace("stop")
                        loop.stop()
                    } else {
                        trace("end")
                        keeper.invalidate()
                    }
                }
            }
            loop.run(until: GRunLoop.now.advanced(by: .seconds(60)))
            #expect(trace.lines == ["entry", "stop", "exit", "entry", "end", "exit"])
        }
    }

    @Test("item 210: a stop makes run(mode:before:) return true immediately")
    func stopped() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            let thread = LoopThread { loop in
                loop.keepAlive()
                trace("\(loop.run(mode: .default, before: GRunLoop.distantFuture))")
            }
            thread.whileAsleep { thread.loop.stop() }
            thread.join()
            #expect(trace.lines == ["true"])
        }
    }

    @Test("item 212: limitDate makes one pass, then returns nil, the distant future, or the next timer's date")
    func limitDate() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            let source = loop.source { trace("source") }
            source.signal()
            loop.after(.zero) { trace("timer") }
            #expect(loop.limitDate(forMode: .default) == GRunLoop.distantFuture)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "source", "timer", "exit"])
            let date = GRunLoop.now.advanced(by: .seconds(100))
            let timer = GRunLoop.Timer(fireAt: date) { _ in }
            let later = GRunLoop.Timer(fireAt: date.advanced(by: .seconds(1))) { _ in }
            loop.add(later, forMode: .default)
            loop.add(timer, forMode: .default)
            #expect(loop.limitDate(forMode: .default) == timer.fireDate)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "exit"])
            timer.invalidate()
            later.invalidate()
            source.invalidate()
            loop.after(.zero) { trace("last timer") }
            #expect(loop.limitDate(forMode: .default) == nil)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "last timer", "exit"])
        }
    }

    @Test("item 213: acceptInput runs the mode once, until a source was handled or the time is up")
    func acceptInput() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            trace.observe(loop)
            loop.acceptInput(forMode: .default, before: GRunLoop.distantFuture)
            #expect(trace.take() == [])
            let source = loop.source { trace("source") }
            source.signal()
            loop.acceptInput(forMode: .default, before: GRunLoop.distantFuture)
            #expect(trace.take() == ["entry", "beforeTimers", "beforeSources", "source", "exit"])
            let limit = GRunLoop.now.advanced(by: .milliseconds(20))
            loop.acceptInput(forMode: .default, before: limit)
            #expect(GRunLoop.now >= limit)
            #expect(trace.take() == ["entry"] + pass + ["exit"])
        }
    }
}
