// SPDX-License-Identifier: Apache-2.0
// Items 112 to 116, 142, 143: the dates of a timer and of a mode.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

@Suite("Timers: dates") struct TimersDateTests {
    @Test("item 112: a date in the past means now, and stays readable until the timer has fired")
    func pastDate() async throws {
        try await onFreshThread { loop in
            let inside = Shared<[GRunLoop.Instant?]>([])
            let before = GRunLoop.now
            let past = before.advanced(by: .seconds(-10))
            let timer = GRunLoop.Timer(fireAt: past, interval: .seconds(3600)) { timer in
                inside.update { $0.append(timer.validFireDate) }
            }
            let after = GRunLoop.now
            loop.add(timer, forMode: .default)
            #expect(timer.fireDate == past)
            #expect(timer.validFireDate == past)
            #expect(loop.nextFireDate(forMode: .default) == past)

            loop.run(for: .zero)
            #expect(inside.value == [past])
            // The grid begins when the timer is made, not at the past date.
            let next = timer.fireDate
            #expect(next >= before.advanced(by: .seconds(3600)))
            #expect(next <= after.advanced(by: .seconds(3600)))
        }
    }

    @Test("item 113: a timer never fires before its date, however often the loop checks")
    func neverEarly() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let early = Counter()
            let start = GRunLoop.now
            for index in 0..<40 {
                let date = start.advanced(by: .microseconds(1000 + 733 * index))
                let timer = GRunLoop.Timer(fireAt: date) { _ in
                    if GRunLoop.now < date { early.increment() }
                    if fired.increment() == 40 { loop.stop() }
                }
                loop.add(timer, forMode: .default)
            }
            // A source that signals itself makes the loop check all the time.
            let again = Shared<GRunLoop.Source?>(nil)
            let source = loop.source { again.value?.signal() }
            again.value = source
            // The source keeps its closure, and the closure keeps the source.
            defer { again.value = nil }
            source.signal()
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(early.value == 0)
            #expect(fired.value == 40)
            source.invalidate()
        }
    }

    @Test("item 113: the clock is CLOCK_MONOTONIC, which cannot be set")
    func clock() {
        func monotonic() -> GRunLoop.Instant {
            var time = timespec()
            clock_gettime(CLOCK_MONOTONIC, &time)
            return GRunLoop.epoch.advanced(by: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
        }
        let before = monotonic()
        let now = GRunLoop.now
        #expect(before <= now)
        #expect(now <= monotonic())
    }

    @Test("item 114: an interval of zero or less makes a timer that fires once", arguments: [0, -1, Int64.min / 1000])
    func oneShot(seconds: Int64) async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .seconds(seconds)) { _ in fired.increment() }
            #expect(!timer.repeats)
            #expect(timer.interval == .zero)
            loop.add(timer, forMode: .default)
            loop.run(for: .zero)
            loop.run(for: .zero)
            #expect(fired.value == 1)
            #expect(!timer.isValid)
        }
    }

    @Test(
        "item 115 (our rule): an interval of less than a nanosecond does no harm: the timer fires, the loop continues")
    func tinyInterval() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let interval = Duration.nanoseconds(1) / 2
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: interval) { _ in fired.increment() }
            #expect(timer.repeats == (timer.interval > .zero))
            loop.add(timer, forMode: .default)
            #expect(loop.run(for: .zero) == .timedOut)
            #expect(fired.value == 1)
            timer.invalidate()
        }
    }

    @Test("item 116: a date beyond 16 years means in 16 years, whatever the calendar", arguments: [true, false])
    func farDate(isMoved: Bool) async throws {
        try await onFreshThread { loop in
            let before = Nanoseconds.now()
            let timer = GRunLoop.Timer(fireAt: isMoved ? GRunLoop.now : GRunLoop.distantFuture) { _ in }
            loop.add(timer, forMode: .default)
            if isMoved { timer.fireDate = GRunLoop.distantFuture }
            #expect(timer.dates.deadline >= before + .longest)
            #expect(timer.dates.deadline <= Nanoseconds.now() + .longest)
            // The timer is a usual timer: it keeps its mode alive, and it does not fire.
            #expect(loop.run(for: .milliseconds(5)) == .timedOut)
            #expect(timer.isValid)
        }
    }

    @Test("an endless interval saturates, and so does the next date")
    func endlessInterval() async throws {
        try await onFreshThread { loop in
            let date = soon()
            let timer = GRunLoop.Timer(fireAt: date, interval: .seconds(Int64.max)) { _ in }
            #expect(timer.repeats)
            #expect(timer.interval == Nanoseconds.longest.duration)
            loop.add(timer, forMode: .default)
            stayBusy(until: date)
            loop.run(for: .zero)
            #expect(timer.fireDate == date.advanced(by: timer.interval))
            #expect(loop.nextFireDate(forMode: .default) == timer.fireDate)
        }
    }

    @Test("item 142: while a timer's closure runs, its own date may be the mode's next one")
    func dateWhileFiring() async throws {
        try await onFreshThread { loop in
            let seen = Shared<GRunLoop.Instant?>(nil)
            let date = GRunLoop.now
            let timer = GRunLoop.Timer(fireAt: date, interval: .seconds(3600)) { _ in
                seen.value = loop.nextFireDate(forMode: .default)
            }
            loop.add(timer, forMode: .default)
            loop.after(.seconds(7200)) {}
            loop.run(for: .zero)
            #expect(seen.value == date)
            #expect(loop.nextFireDate(forMode: .default) == timer.fireDate)
        }
    }

    @Test("item 143: a mode's next date is that of its first timer, without tolerance; without timers it is nil")
    func modeDate() async throws {
        try await onFreshThread { loop in
            #expect(loop.nextFireDate(forMode: .default) == nil)
            #expect(loop.nextFireDate(forMode: "Unknown") == nil)
            #expect(!loop.allModes.contains("Unknown"))
            let now = GRunLoop.now
            let late = GRunLoop.Timer(fireAt: now.advanced(by: .seconds(60))) { _ in }
            let early = GRunLoop.Timer(fireAt: now.advanced(by: .seconds(50)), tolerance: .seconds(30)) { _ in }
            loop.add(late, forMode: .default)
            loop.add(early, forMode: .default)
            #expect(loop.nextFireDate(forMode: .default) == early.fireDate)
            early.invalidate()
            #expect(loop.nextFireDate(forMode: .default) == late.fireDate)
            late.invalidate()
            #expect(loop.nextFireDate(forMode: .default) == nil)
        }
    }
}
