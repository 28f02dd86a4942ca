// SPDX-License-Identifier: Apache-2.0
// Blocks, the current mode and timers as in Foundation: part 1.15, items 214 to 221.

import GRunLoop
import TestSupport
import Testing

@Suite struct FoundationTimerTests {
    @Test("item 214: perform enqueues for the default mode, in order, once, and does not wake the loop")
    func perform() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            loop.keepAlive()
            loop.keepAlive("other")
            for number in 1...3 { loop.perform { trace("block \(number)") } }
            loop.perform(inModes: [.default]) { trace("block 4") }
            loop.run(mode: "other", for: .zero)
            #expect(trace.lines == [])
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(trace.lines == ["block 1", "block 2", "block 3", "block 4"])

            let ran = Flag()
            let thread = LoopThread.running()
            thread.whileAsleep { thread.loop.perform { ran.set() } }
            thread.waitUntilAsleep()
            #expect(!ran.isSet)
            thread.loop.wakeUp()
            #expect(ran.wait())
            thread.finish()
        }
    }

    @Test("item 215: a block for the common modes runs in the common mode that runs first")
    func performInCommonModes() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            try loop.addCommonMode("second")
            for mode: GRunLoop.Mode in [.default, "second", "private"] { loop.keepAlive(mode) }
            loop.perform(inModes: [.common]) { trace(loop.currentMode?.rawValue ?? "none") }
            for mode: GRunLoop.Mode in ["private", "second", .default] { loop.run(mode: mode, for: .zero) }
            #expect(trace.lines == ["second"])
        }
    }

    @Test("item 216: currentMode is nil outside a run, and between two iterations of run()")
    func currentMode() async throws {
        try await onFreshThread { loop in
            #expect(loop.currentMode == nil)
            let isOver = Flag()
            let kept = Shared<GRunLoop.Source?>(nil)
            let thread = LoopThread { loop in
                let source = loop.source {
                    // Every performed source ends an iteration of run().
                    if isOver.isSet { kept.value?.invalidate() } else { kept.value?.signal() }
                }
                kept.value = source
                // The source keeps its closure, and the closure keeps the source.
                defer { kept.value = nil }
                source.signal()
                loop.run(until: GRunLoop.distantFuture)
            }
            let seen = Shared<Set<String>>([])
            let hasSeenBoth = waitUntil {
                for _ in 0..<1000 {
                    let mode = thread.loop.currentMode?.rawValue ?? "none"
                    seen.update { _ = $0.insert(mode) }
                }
                return seen.value.count == 2
            }
            #expect(hasSeenBoth)
            #expect(seen.value == ["none", "kCFRunLoopDefaultMode"])
            #expect(!thread.hasEnded)
            isOver.set()
            thread.join()
            kept.value = nil
        }
    }

    @Test(
        "item 218: fire calls a valid timer's closure directly; a repeating timer keeps its schedule, a one-shot ends"
    )
    func fire() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let date = GRunLoop.now.advanced(by: .seconds(100))
            let repeating = GRunLoop.Timer(fireAt: date, interval: .seconds(10)) { timer in
                trace("repeating, \(timer.isValid ? "valid" : "invalid")")
            }
            loop.add(repeating, forMode: .default)
            repeating.fire()
            repeating.fire()
            #expect(trace.take() == ["repeating, valid", "repeating, valid"])
            #expect(repeating.isValid)
            #expect(repeating.fireDate == date && loop.nextFireDate(forMode: .default) == date)
            let once = loop.after(.seconds(100)) { trace("once") }
            once.fire()
            once.fire()
            #expect(trace.take() == ["once"])
            #expect(!once.isValid && !loop.contains(once, forMode: .default))
            repeating.invalidate()
            repeating.fire()
            #expect(trace.lines == [])
        }
    }

    @Test(
        "item 219: Timer.scheduled adds to the current default mode, Timer(interval:) to none; both wait the interval"
    )
    func scheduled() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let start = GRunLoop.now
            let unscheduled = GRunLoop.Timer(interval: .milliseconds(30), repeats: true) { _ in trace("unscheduled") }
            #expect(unscheduled.fireDate >= start.advanced(by: .milliseconds(30)))
            #expect(!loop.contains(unscheduled, forMode: .default))
            #expect(loop.nextFireDate(forMode: .default) == nil)
            let fired = Shared<GRunLoop.Instant?>(nil)
            let timer = GRunLoop.Timer.scheduled(interval: .milliseconds(30), repeats: false) { _ in
                fired.value = GRunLoop.now
            }
            #expect(loop.contains(timer, forMode: .default))
            #expect(!loop.contains(timer, forMode: .common))
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(fired.value == nil || GRunLoop.now >= start.advanced(by: .milliseconds(30)))
            #expect(loop.run(for: .seconds(60)) == .finished)
            let date = try #require(fired.value)
            #expect(date >= start.advanced(by: .milliseconds(30)))
            #expect(trace.lines == [])
        }
    }

    @Test("item 220: a repeating timer with a zero or negative interval repeats every 0.1 ms")
    func noInterval() async throws {
        try await onFreshThread { loop in
            for interval in [Duration.zero, .seconds(-1)] {
                let fired = Counter()
                let timer = GRunLoop.Timer.scheduled(interval: interval, repeats: true) { timer in
                    if fired.increment() == 5 { timer.invalidate() }
                }
                #expect(timer.interval == .microseconds(100))
                #expect(timer.repeats)
                #expect(loop.run(for: .seconds(60)) == .finished)
                #expect(fired.value == 5)
            }
        }
    }

    @Test("item 221: a timer that does not repeat has no interval")
    func oneShotInterval() {
        let timer = GRunLoop.Timer(interval: .seconds(5), repeats: false) { _ in }
        #expect(timer.interval == .zero)
        #expect(!timer.repeats)
        #expect(GRunLoop.Timer(interval: .seconds(5), repeats: true) { _ in }.interval == .seconds(5))
    }
}
