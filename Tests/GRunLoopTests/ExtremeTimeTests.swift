// SPDX-License-Identifier: Apache-2.0
// Clocks that read any time, and times of any length. Virtual time begins where a test says.

import GRunLoop
import TestSupport
import Testing

/// The times that each test uses: readings of a clock, and lengths of time.
private enum Extreme {
    static let never = Int128(Int64.max)
    /// The last reading of a clock. A later date is never reached.
    static let last = never - 1
    /// 16 years: the longest time that a timer waits.
    static let longest: Int128 = 504_911_232 * 1_000_000_000

    static let readings: [Int128] = [
        0, 1, longest - 1, longest, never / 2, last - longest - 1, last - longest, last - longest + 1,
        never - longest + 1, last - 1_000_000_000, last - 1, last, never,
    ]

    /// Lengths in attoseconds. A nanosecond has 10^9 attoseconds.
    static let spans: [Int128] =
        [-1, 0, 1, 1_000_000, 1_000_000_000, longest - 1, longest, longest + 1, never - 1, never].map(attoseconds)
        + [Int128(Int64.min), Int128(Int64.max)].map { attoseconds($0 * 1_000_000_000) } + [.min, .max]

    private static func attoseconds(_ nanoseconds: Int128) -> Int128 { nanoseconds * 1_000_000_000 }

    /// Calls the body for each reading and each span, with one clock each. A case has the span in nanoseconds too.
    static func each(function: String = #function, _ body: (Case, GRunLoop.VirtualTime) -> Void) {
        // A run has no limit if the limit is past the clock's last reading. The watchdog ends such a run.
        let watchdog = Watchdog(Patience.normal * 3, "\(function) did not end")
        defer { watchdog.disarm() }
        for reading in readings {
            for span in spans {
                let each = Case(
                    start: min(reading, last), span: Duration(attoseconds: span), nanoseconds: span / 1_000_000_000)
                GRunLoop.withVirtualTime(from: instant(reading)) { time in
                    #expect(nanoseconds(time.now) == each.start)
                    body(each, time)
                    #expect(nanoseconds(time.now) <= last, "\(each)")
                }
            }
        }
    }

    static func instant(_ reading: Int128) -> GRunLoop.Instant {
        SuspendingClock().systemEpoch.advanced(by: Duration(attoseconds: reading * 1_000_000_000))
    }

    static func nanoseconds(_ instant: GRunLoop.Instant) -> Int128 {
        SuspendingClock().systemEpoch.duration(to: instant).attoseconds / 1_000_000_000
    }
}

private struct Case {
    let start: Int128
    let span: Duration
    let nanoseconds: Int128

    /// The clock's reading after the span.
    var end: Int128 { min(start + max(0, nanoseconds), Extreme.last) }
    /// The date of a timer for the end of the span, or nil if the clock never reaches it.
    var due: Int128? {
        let date = start + min(max(0, nanoseconds), Extreme.longest)
        return date <= Extreme.last ? date : nil
    }
    /// Whether the span is short enough to limit a run or a sleep.
    var isLimit: Bool { nanoseconds <= Extreme.longest }
    var date: GRunLoop.Instant { Extreme.instant(max(0, min(start + nanoseconds, Extreme.never))) }
}

@Suite("Times near the last clock reading") struct ExtremeTimeTests {
    @Test("a timer fires at its date or after 16 years, if a clock can read that date, however the timer was set")
    func timers() {
        Extreme.each { each, time in
            let fires = Shared<[GRunLoop.Instant]>([])
            let note: @Sendable (GRunLoop.Timer) -> Void = { _ in fires.update { $0.append(GRunLoop.now) } }
            let moved = GRunLoop.Timer(fireAt: GRunLoop.distantFuture, handler: note)
            moved.fireDate = each.date
            let timers = [
                GRunLoop.Timer(interval: each.span, repeats: false, handler: note),
                GRunLoop.Timer(fireAt: each.date, handler: note), moved,
            ]
            for timer in timers {
                time.loop.add(timer, forMode: .default)
                #expect(!timer.description.isEmpty)
            }
            time.loop.perform(after: each.span) { note(moved) }
            #expect(time.loop.nextFireDate(forMode: .default) != nil)
            #expect(!time.loop.description.isEmpty)
            time.advance(by: each.span)
            #expect(Extreme.nanoseconds(time.now) == each.end, "\(each)")
            let expected = each.due.map { [GRunLoop.Instant](repeating: Extreme.instant($0), count: 4) } ?? []
            #expect(fires.value == expected, "\(each)")
        }
    }

    @Test("a grid continues as far as a clock can read, and a tolerance does not lead beyond that")
    func grids() {
        Extreme.each { each, time in
            let count = Counter()
            let repeating = GRunLoop.Timer(fireAt: time.now, interval: each.span, tolerance: each.span) { _ in
                count.increment()
            }
            time.loop.add(repeating, forMode: .default)
            time.advance(by: .zero)
            #expect(count.value == 1, "\(each)")
            if each.nanoseconds > 0 {
                let next = each.due.map { Extreme.instant($0) } ?? GRunLoop.distantFuture
                #expect(repeating.validFireDate == next, "\(each)")
                repeating.tolerance = each.span
                #expect(time.advanceToNextTimer() == (each.due != nil), "\(each)")
                #expect(count.value == (each.due == nil ? 1 : 2), "\(each)")
                #expect(Extreme.nanoseconds(time.now) == each.due ?? each.start, "\(each)")
            }
            repeating.invalidate()
            let late = GRunLoop.Timer(interval: each.span, repeats: true, tolerance: each.span) {
                $0.fireDate = each.date
            }
            time.loop.add(late, forMode: .default)
            late.fire()
            time.advanceToNextTimer()
        }
    }

    @Test(
        "the clock advances to the first timer, even if it fires before its date; without a reachable one it fails")
    func firstTimer() {
        GRunLoop.withVirtualTime(from: Extreme.instant(0)) { time in
            let count = Counter()
            time.loop.add(GRunLoop.Timer(fireAt: GRunLoop.distantFuture) { _ in count.increment() }, forMode: .default)
            #expect(time.advanceToNextTimer())
            #expect(count.value == 1)
            #expect(Extreme.nanoseconds(time.now) == Extreme.longest)
            time.advance(to: GRunLoop.distantFuture)
            time.loop.add(
                GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in count.increment() }, forMode: .default)
            #expect(!time.advanceToNextTimer())
            #expect(count.value == 1)
        }
    }

    @Test("a run lasts until its limit, or until the last reading of the clock")
    func runs() {
        Extreme.each { each, time in
            let loop = time.loop
            loop.keepAlive()
            if each.isLimit {
                #expect(loop.run(for: each.span) == .timedOut, "\(each)")
                #expect(Extreme.nanoseconds(time.now) == each.end, "\(each)")
                loop.run(until: time.now)
                #expect(loop.run(mode: .default, before: each.date.advanced(by: .nanoseconds(-1))))
                #expect(loop.limitDate(forMode: .default) == GRunLoop.distantFuture)
            } else {
                loop.after(.zero) { GRunLoop.current.stop() }
                #expect(loop.run(for: each.span) == .stopped, "\(each)")
            }
            #expect(Extreme.nanoseconds(time.now) == (each.isLimit ? each.end : each.start), "\(each)")
            // The run is inside another run, and its limit can be earlier or later.
            loop.after(.zero) {
                if each.isLimit { GRunLoop.current.run(for: each.span) }
                GRunLoop.current.stop()
            }
            loop.run(for: each.span)
        }
    }

    @Test("a task sleeps until the clock reads its date; ticks do likewise")
    func sleeps() async {
        let tasks = Shared<[Task<Void, any Error>]>([])
        Extreme.each { each, time in
            let loop = time.loop
            let woken = Counter()
            let waiters = [
                Task(executorPreference: loop.executor) {
                    try await loop.sleep(for: each.span, tolerance: each.span)
                    woken.increment()
                },
                Task(executorPreference: loop.executor) {
                    try await loop.clock.sleep(until: each.date)
                    woken.increment()
                },
            ]
            tasks.update { $0 += waiters }
            time.advance(by: .zero)
            let ticks = loop.ticks(every: each.span, tolerance: each.span).makeAsyncIterator()
            let first = min(each.nanoseconds > 0 ? each.nanoseconds : 100_000, Extreme.longest) + each.start
            #expect(time.advanceToNextTimer() == (first <= Extreme.last), "\(each)")
            // A sleep of 16 years or longer has no timer.
            let comes = each.nanoseconds <= 0 || each.due != nil && each.nanoseconds < Extreme.longest
            #expect(woken.value == (comes ? 2 : 0), "\(each)")
            withExtendedLifetime(ticks) {}
        }
        for task in tasks.value { task.cancel() }
        for task in tasks.value { _ = await task.result }
    }

    @Test("spans that are only stored saturate")
    func kept() {
        Extreme.each { each, time in
            time.loop.timeSlice = each.span
            let kept = min(max(0, each.nanoseconds), Extreme.never)
            #expect(time.loop.timeSlice.attoseconds == kept * 1_000_000_000)
            let timer = GRunLoop.Timer(fireAt: time.now, tolerance: each.span) { _ in }
            #expect(timer.tolerance.attoseconds == kept * 1_000_000_000)
            time.loop.add(timer, forMode: .default)
            time.advance(by: .zero)
            #expect(!timer.isValid)
        }
    }
}
