// SPDX-License-Identifier: Apache-2.0
// Extreme times saturate, and never trap.

import GRunLoop
import TestSupport
import Testing

private let endless: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.max) + .seconds(Int64.max),
    Duration(secondsComponent: .max, attosecondsComponent: 0),
]
private let negative: [Duration] = [.nanoseconds(-1), .seconds(-1), .seconds(Int64.min), .seconds(Int64.min) * 2]

@Suite struct BadTimeTests {
    @Test("a timer for a negative time or one long ago is due immediately")
    func negativeTimes() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            var dates = negative.map { GRunLoop.now.advanced(by: $0) }
            dates += [GRunLoop.distantPast, GRunLoop.distantPast.advanced(by: .seconds(-1))]
            for date in dates {
                loop.add(GRunLoop.Timer(fireAt: date) { _ in fired.increment() }, forMode: .default)
            }
            for span in negative + [.zero] {
                loop.add(GRunLoop.Timer(interval: span, repeats: false) { _ in fired.increment() }, forMode: .default)
                loop.perform(after: span) { fired.increment() }
            }
            #expect(loop.run(for: .seconds(60)) == .finished)
            #expect(fired.value == dates.count + 2 * (negative.count + 1))
        }
    }

    @Test("a timer for an endless time waits, and fires after it is moved to an earlier time")
    func endlessTimes() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            var timers = endless.map { span in
                GRunLoop.Timer(interval: span, repeats: false) { _ in fired.increment() }
            }
            timers += endless.map { span in
                GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: span, tolerance: span) { timer in
                    fired.increment()
                    timer.invalidate()
                }
            }
            for timer in timers { loop.add(timer, forMode: .default) }
            for span in endless { loop.perform(after: span) { fired.increment() } }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(fired.value == 0)
            for timer in timers {
                timer.fireDate = GRunLoop.distantFuture
                timer.tolerance = .seconds(Int64.max)
                timer.tolerance = .zero
                timer.fireDate = GRunLoop.distantPast
            }
            for _ in 0..<2 { loop.run(for: .zero) }
            #expect(fired.value == timers.count)
            #expect(loop.nextFireDate(forMode: .default) != nil)
        }
    }

    @Test("an endless interval and an endless tolerance saturate after the first fire, too")
    func endlessIntervals() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            for span in endless {
                let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: span, tolerance: .zero) { _ in
                    fired.increment()
                }
                loop.add(timer, forMode: .default)
            }
            #expect(loop.run(for: .milliseconds(10)) == .timedOut)
            #expect(fired.value == endless.count)
            let next = try #require(loop.nextFireDate(forMode: .default))
            #expect(next > GRunLoop.now.advanced(by: .seconds(365 * 86_400)))
            #expect(GRunLoop.Timer(fireAt: GRunLoop.now, tolerance: .seconds(-1)) { _ in }.tolerance == .zero)
            #expect(GRunLoop.Timer(fireAt: GRunLoop.now, interval: .seconds(Int64.min)) { _ in }.repeats == false)
        }
    }

    @Test("a run with a negative limit makes one pass; a run with an endless limit lasts until it is stopped")
    func limits() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let passes = Counter()
            loop.on(.beforeTimers) { _ in passes.increment() }
            for span in negative { #expect(loop.run(for: span) == .timedOut) }
            #expect(passes.value == negative.count)
            #expect(loop.run(mode: .default, before: GRunLoop.distantPast))
            #expect(loop.run(mode: .default, before: GRunLoop.distantPast.advanced(by: .seconds(Int64.min))))
            #expect(passes.value == negative.count + 2)
            for span in endless {
                loop.after(.milliseconds(5)) { loop.stop() }
                #expect(loop.run(for: span) == .stopped)
                loop.after(.milliseconds(5)) { loop.stop() }
                #expect(loop.run(mode: .default, before: GRunLoop.now.advanced(by: span)))
            }
        }
    }
}
