// SPDX-License-Identifier: Apache-2.0
// Items 119, 120, 123, 131, 132, 135: a repeating timer keeps its grid.

import GRunLoop
import TestSupport
import Testing

@Suite("Timers: the grid") struct TimersGridTests {
    private static let interval = Duration.milliseconds(10)

    @Test("item 119: the next date is the first grid date after the end of the closure; missed dates are skipped")
    func lateClosure() async throws {
        try await onFreshThread { loop in
            let interval = Self.interval
            let log = FireLog()
            let afterwards = Shared<[(next: GRunLoop.Instant, now: GRunLoop.Instant)]>([])
            let first = soon()
            let timer = log.timer(loop, first: first, every: interval) { number, timer in
                // The closure takes 0.5 and 2.5 intervals in turn.
                if number == 6 { loop.stop() }
                stayBusy(until: timer.fireDate.advanced(by: interval * (number % 2 == 0 ? 5 : 1) / 2))
                loop.perform { afterwards.update { $0.append((timer.fireDate, GRunLoop.now)) } }
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(log.fires.count == 6)
            for (fire, (next, now)) in zip(log.fires, afterwards.value) {
                #expect(next.isOnGrid(from: first, interval))
                #expect(next > fire.end)
                #expect(next.advanced(by: .zero - interval) <= now)
            }
            // The timer fires once for each of those dates, and never before it.
            #expect(log.dates == [first] + afterwards.value.map(\.next).prefix(5))
            for fire in log.fires { #expect(fire.begin >= fire.date) }
            #expect(timer.fireDate == afterwards.value.last?.next)
        }
    }

    @Test("item 120: dates that pass while the loop is busy cause one late fire, and the grid continues")
    func busyLoop() async throws {
        try await onFreshThread { loop in
            let interval = Self.interval
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let log = FireLog()
            let first = soon()
            let free = first.advanced(by: interval * 7 / 2)
            let busy = loop.source {
                stayBusy(until: free)
                record("free")
            }
            _ = log.timer(loop, first: first, every: interval) { number, _ in
                record("fire")
                if number == 3 { loop.stop() }
            }
            busy.signal()
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines.prefix(4) == ["beforeTimers", "free", "fire", "beforeTimers"])
            let dates = log.dates
            try #require(dates.count == 3)
            #expect(dates.first == first)
            #expect(dates[1] >= first.advanced(by: interval * 4))
            for date in dates.dropFirst() { #expect(date.isOnGrid(from: first, interval)) }
        }
    }

    @Test("item 120: dates that pass while the loop runs in another mode cause one late fire, and the grid continues")
    func otherMode() async throws {
        try await onFreshThread { loop in
            let interval = Self.interval
            let log = FireLog()
            loop.keepAlive("Other")
            let first = soon()
            _ = log.timer(loop, first: first, every: interval) { number, _ in if number == 2 { loop.stop() } }
            #expect(loop.run(mode: "Other", for: .milliseconds(30) + interval * 9 / 2) == .timedOut)
            #expect(log.fires.isEmpty)
            loop.run(for: .zero)
            #expect(log.dates == [first])
            #expect(loop.run(for: .seconds(20)) == .stopped)
            try #require(log.dates.count == 2)
            #expect(log.dates[1] >= first.advanced(by: interval * 4))
            #expect(log.dates[1].isOnGrid(from: first, interval))
        }
    }

    @Test("item 123: a date that is set in a repeating timer's own closure replaces the next grid date")
    func ownDate() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let later = GRunLoop.now.advanced(by: .seconds(1000))
            let timer = FireLog().timer(loop, first: GRunLoop.now, every: .seconds(3600)) { number, timer in
                record("fire \(number)")
                // The first fire sets a past date, so the timer fires in the next pass.
                timer.fireDate = number == 1 ? GRunLoop.distantPast : later
                if number == 2 { loop.stop() }
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["beforeTimers", "fire 1", "beforeTimers", "fire 2"])
            #expect(timer.fireDate == later)
            #expect(loop.nextFireDate(forMode: .default) == later)
        }
    }

    @Test("item 123: a date that is set in the timer's own closure may lie before the next grid date")
    func ownEarlierDate() async throws {
        try await onFreshThread { loop in
            let log = FireLog()
            let set = Shared<GRunLoop.Instant?>(nil)
            _ = log.timer(loop, first: GRunLoop.now, every: .seconds(3600)) { number, timer in
                if number == 2 { return loop.stop() }
                timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(5))
                set.value = timer.fireDate
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(log.dates.last == set.value)
            // The grid continues from the new date.
            #expect(loop.nextFireDate(forMode: .default) == set.value?.advanced(by: .seconds(3600)))
        }
    }

    @Test("item 131: a timer does not fire in a run that is nested in its own closure; other timers do")
    func nested() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let start = GRunLoop.now
            let interval = Self.interval
            let others = Counter()
            let timer = FireLog().timer(loop, first: start, every: interval) { number, timer in
                guard number == 1 else { return loop.stop() }
                record("nested")
                // The timer would be due several times, and becomes due once more when it is moved.
                timer.fireDate = GRunLoop.now
                #expect(loop.run(for: .seconds(20)) == .stopped)
                record("returned")
            }
            _ = FireLog().timer(loop, first: start.advanced(by: interval), every: interval) { _, _ in
                if others.increment() == 3 {
                    record("other")
                    loop.stop()
                }
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["nested", "other", "returned"])
            #expect(timer.isValid)
        }
    }

    @Test(
        "item 132: a timer that removes itself stays valid on its grid, and fires directly if added again when overdue")
    func removesItself() async throws {
        try await onFreshThread { loop in
            let interval = Self.interval
            let log = FireLog()
            loop.keepAlive()
            let first = soon()
            let timer = log.timer(loop, first: first, every: interval) { number, timer in
                if number == 1 { loop.remove(timer, forMode: .default) }
            }
            stayBusy(until: first)
            loop.run(for: .zero)
            #expect(timer.isValid)
            #expect(!loop.contains(timer, forMode: .default))
            let next = timer.fireDate
            #expect(next.isOnGrid(from: first, interval))
            #expect(next > log.fires[0].end)

            stayBusy(until: next.advanced(by: interval * 3 / 2))
            loop.run(for: .zero)
            #expect(log.fires.count == 1)
            loop.add(timer, forMode: .default)
            loop.run(for: .zero)
            #expect(log.dates == [first, next])
            #expect(timer.fireDate.isOnGrid(from: first, interval))
            #expect(timer.fireDate > log.fires[1].end)
        }
    }

    @Test("item 135: a timer in several modes fires once for each date, and its next date counts in all modes")
    func severalModes() async throws {
        try await onFreshThread { loop in
            let log = FireLog()
            let first = soon()
            let timer = log.timer(loop, first: first, every: .seconds(3600))
            for mode in ["M", "N", "O"] as [GRunLoop.Mode] { loop.add(timer, forMode: mode) }
            stayBusy(until: first)
            loop.run(mode: "N", for: .zero)
            for mode in [.default, "M", "N", "O"] as [GRunLoop.Mode] {
                loop.run(mode: mode, for: .zero)
                #expect(loop.nextFireDate(forMode: mode) == first.advanced(by: .seconds(3600)))
            }
            #expect(log.dates == [first])

            timer.fireDate = GRunLoop.distantPast
            for mode in ["O", .default, "M", "N"] as [GRunLoop.Mode] { loop.run(mode: mode, for: .zero) }
            #expect(log.dates.count == 2)
        }
    }

    @Test("items 119, 135: a timer in a common mode and a private mode keeps one grid in both")
    func gridThroughModes() async throws {
        try await onFreshThread { loop in
            let interval = Self.interval
            let log = FireLog()
            let first = soon()
            let timer = log.timer(loop, first: first, every: interval) { _, _ in loop.stop() }
            loop.add(timer, forMode: "M")
            for number in 0..<8 {
                #expect(loop.run(mode: number % 2 == 0 ? .default : "M", for: .seconds(20)) == .stopped)
            }
            #expect(log.fires.count == 8)
            #expect(Set(log.dates).count == 8)
            for date in log.dates.dropFirst() { #expect(date.isOnGrid(from: first, interval)) }
        }
    }
}
