// SPDX-License-Identifier: Apache-2.0
// Items 139 to 141, 144: a tolerance opens a window in which timers share a wake-up, and saves other wake-ups.

import GRunLoop
import TestSupport
import Testing

@Suite("Timers: tolerance") struct TimersToleranceTests {
    @Test("item 139: a repeating timer takes at most half its interval as tolerance; a negative tolerance means none")
    func clamped() {
        let far = GRunLoop.distantFuture
        let cases: [(interval: Duration, tolerance: Duration, taken: Duration)] = [
            (.milliseconds(100), .milliseconds(80), .milliseconds(50)),
            (.milliseconds(100), .milliseconds(50), .milliseconds(50)),
            (.milliseconds(100), .milliseconds(30), .milliseconds(30)),
            (.milliseconds(100), .milliseconds(-30), .zero),
            (.zero, .milliseconds(-1), .zero),
            (.zero, .seconds(5), .seconds(5)),
        ]
        for (interval, tolerance, taken) in cases {
            let made = GRunLoop.Timer(fireAt: far, interval: interval, tolerance: tolerance) { _ in }
            #expect(made.tolerance == taken)
            let set = GRunLoop.Timer(fireAt: far, interval: interval) { _ in }
            #expect(set.tolerance == .zero)
            set.tolerance = tolerance
            #expect(set.tolerance == taken)
        }
    }

    @Test("item 140: a timer with a tolerance fires in its window, and its next date follows from the scheduled date")
    func window() async throws {
        try await onFreshThread { loop in
            let log = FireLog()
            let interval = Duration.milliseconds(20)
            let first = soon()
            let timer = log.timer(loop, first: first, every: interval) { number, _ in if number == 5 { loop.stop() } }
            timer.tolerance = .milliseconds(10)
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(log.dates.first == first)
            for date in log.dates.dropFirst() { #expect(date.isOnGrid(from: first, interval)) }
            #expect(timer.fireDate.isOnGrid(from: first, interval))
            for fire in log.fires {
                #expect(fire.begin >= fire.date)
                // The delay exceeds the tolerance by far only if the machine stood still.
                #expect(fire.begin < fire.date.advanced(by: .seconds(2)))
            }
        }
    }

    @Test("item 140: a timer with a tolerance does not fire before its date, even if the loop wakes earlier")
    func neverEarly() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = GRunLoop.now.advanced(by: .milliseconds(40))
            let timer = GRunLoop.Timer(fireAt: date, tolerance: .milliseconds(20)) { _ in
                record("early: \(GRunLoop.now < date)")
                loop.stop()
            }
            loop.add(timer, forMode: .default)
            // This timer wakes the loop all the time.
            let ticker = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .milliseconds(1)) { _ in }
            loop.add(ticker, forMode: .default)
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["early: false"])
        }
    }

    @Test("item 141: timers whose windows overlap fire together, with one wake-up, in the order of their dates")
    func coalesced() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let start = soon()
            for (number, offset) in [(2, 15), (1, 0), (3, 30)] {
                let date = start.advanced(by: .milliseconds(offset))
                let timer = GRunLoop.Timer(fireAt: date, tolerance: .milliseconds(40)) { _ in
                    record("\(number), early: \(GRunLoop.now < date)")
                }
                loop.add(timer, forMode: .default)
            }
            record.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["afterWaiting"] + (1...3).map { "\($0), early: false" })
        }
    }

    @Test("items 140, 141: an exact timer ends the window, and timers that are past their dates fire with it")
    func exactTimerEndsWindow() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let start = soon()
            let far = Duration.seconds(3600)
            let timers: [(name: String, offset: Duration, tolerance: Duration)] = [
                ("A", .zero, far), ("B", .milliseconds(10), .milliseconds(500)), ("exact", .milliseconds(20), .zero),
                ("far", far, far),
            ]
            for (name, offset, tolerance) in timers {
                let timer = GRunLoop.Timer(fireAt: start.advanced(by: offset), tolerance: tolerance) { _ in
                    record(name)
                    guard name == "exact" else { return }
                    // The timer starts here, so that a late machine does not shorten the wait.
                    loop.add(
                        GRunLoop.Timer(interval: .milliseconds(60), repeats: false) { _ in loop.stop() },
                        forMode: .default)
                }
                loop.add(timer, forMode: .default)
            }
            record.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: .seconds(20)) == .stopped)
            // The last wake-up is that of the stopping timer.
            #expect(record.lines == ["afterWaiting", "A", "B", "exact", "afterWaiting"])
        }
    }

    @Test("item 141: a tolerance that is set while the timer is in a mode counts immediately")
    func changedTolerance() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let start = soon()
            let relaxed = GRunLoop.Timer(fireAt: start) { _ in record("relaxed") }
            let exact = GRunLoop.Timer(fireAt: start.advanced(by: .milliseconds(20)), tolerance: .seconds(1000)) { _ in
                record("exact")
            }
            for timer in [relaxed, exact] { loop.add(timer, forMode: .default) }
            relaxed.tolerance = .seconds(1000)
            exact.tolerance = .zero
            record.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["afterWaiting", "relaxed", "exact"])
        }
    }

    @Test("item 144: nothing wakes the loop at the date of a timer that was invalidated, removed or moved away")
    func noSpuriousWake() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            loop.keepAlive()
            let date = soon()
            let gone = (0..<3).map { _ in GRunLoop.Timer(fireAt: date) { _ in record("fired") } }
            for timer in gone { loop.add(timer, forMode: .default) }
            loop.after(.zero) {
                gone[0].invalidate()
                loop.remove(gone[1], forMode: .default)
                gone[2].fireDate = date.advanced(by: .seconds(1000))
                record("gone")
            }
            record.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: .milliseconds(70)) == .timedOut)
            #expect(record.lines == ["afterWaiting", "gone", "afterWaiting"])
        }
    }

    @Test("item 144: nothing wakes the loop if another thread invalidates the timer while the loop sleeps for it")
    func noSpuriousWakeFromOutside() async throws {
        try await onFreshThread { _ in
            let record = Recorder()
            let date = GRunLoop.now.advanced(by: .milliseconds(100))
            let timer = GRunLoop.Timer(fireAt: date) { _ in record("fired") }
            let thread = LoopThread { loop in
                loop.keepAlive()
                loop.add(timer, forMode: .default)
                record.observe(loop, .default, .afterWaiting)
                loop.run(for: .milliseconds(150))
            }
            thread.waitUntilAsleep()
            let isInTime = GRunLoop.now < date
            timer.invalidate()
            thread.join()
            if isInTime { #expect(record.lines == ["afterWaiting"]) }
        }
    }
}
