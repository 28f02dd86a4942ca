// SPDX-License-Identifier: Apache-2.0
// Items 122, 124, 133, 134, 136, 137: timers are moved, invalidated, added and removed.

import GRunLoop
import TestSupport
import Testing

@Suite("Timers: changes") struct TimersChangeTests {
    @Test("item 122: a date set outside the closure moves the timer in all its modes; a past date means immediately")
    func moved() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let now = GRunLoop.now
            let modes: [GRunLoop.Mode] = ["M", "N"]
            let timers = (1...3).map { number in
                let date = now.advanced(by: .seconds(1000 * number))
                let timer = GRunLoop.Timer(fireAt: date) { _ in record("\(number)") }
                for mode in modes { loop.add(timer, forMode: mode) }
                return timer
            }
            // Makes the last timer the first, and the first timer the last.
            let (early, late) = (now.advanced(by: .seconds(500)), now.advanced(by: .seconds(5000)))
            timers[2].fireDate = early
            timers[0].fireDate = late
            #expect(timers[2].fireDate == early)
            #expect(timers[0].validFireDate == late)
            for mode in modes { #expect(loop.nextFireDate(forMode: mode) == early) }

            timers[1].fireDate = now.advanced(by: .seconds(-1))
            timers[0].fireDate = GRunLoop.distantPast
            loop.run(mode: "N", for: .zero)
            #expect(record.lines == ["2", "1"])
            for mode in modes { #expect(loop.nextFireDate(forMode: mode) == early) }
        }
    }

    @Test("item 122: a timer that is moved ahead fires at its new date, neither at the old date nor early")
    func movedAhead() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let (old, new) = (soon(), GRunLoop.now.advanced(by: .milliseconds(60)))
            let timer = GRunLoop.Timer(fireAt: old) { _ in record("fired, early: \(GRunLoop.now < new)") }
            loop.add(timer, forMode: .default)
            timer.fireDate = new
            record.observe(loop, .default, .afterWaiting)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["afterWaiting", "fired, early: false"])
        }
    }

    @Test("item 122: a timer that another timer's closure moves or invalidates changes before the next sleep")
    func movedByAnother() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let far = GRunLoop.now.advanced(by: .seconds(1000))
            let moved = GRunLoop.Timer(fireAt: far) { _ in
                record("moved")
                loop.stop()
            }
            let invalidated = GRunLoop.Timer(fireAt: soon()) { _ in record("invalidated") }
            for timer in [moved, invalidated] { loop.add(timer, forMode: .default) }
            loop.after(.zero) {
                invalidated.invalidate()
                moved.fireDate = GRunLoop.now.advanced(by: .milliseconds(60))
            }
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["moved"])
        }
    }

    @Test("item 124: a date that is set on an invalid timer is ignored")
    func invalidIsNotMoved() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let date = GRunLoop.now.advanced(by: .seconds(1000))
            let timer = GRunLoop.Timer(fireAt: date, interval: .seconds(1)) { _ in fired.increment() }
            loop.add(timer, forMode: .default)
            timer.invalidate()
            timer.fireDate = GRunLoop.distantPast
            #expect(timer.fireDate == date)
            #expect(timer.validFireDate == nil)
            #expect(!timer.isValid)
            loop.keepAlive()
            loop.run(for: .zero)
            #expect(fired.value == 0)
        }
    }

    @Test("item 133: a timer that invalidates itself does not fire again, and has no next date")
    func invalidatesItself() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let interval = Duration.milliseconds(2)
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: interval) { timer in
                timer.invalidate()
                record("\(timer.isValid) \(timer.validFireDate == nil)")
            }
            loop.add(timer, forMode: .default)
            loop.add(timer, forMode: "M")
            // The timer was the only item of the mode.
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["false true"])
            #expect(!timer.isValid)
            #expect(timer.validFireDate == nil)
            #expect(loop.nextFireDate(forMode: .default) == nil)
            #expect(loop.run(mode: "M", for: .zero) == .finished)
        }
    }

    @Test("item 134: another loop refuses a timer, with a message, until it is in no mode of its first loop")
    func twoLoops() async throws {
        try await onFreshThread { loop in
            let thread = LoopThread.running()
            let other = thread.loop
            let fired = Flag()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now.advanced(by: .seconds(1000))) { _ in fired.set() }
            loop.add(timer, forMode: .default)
            loop.add(timer, forMode: "M")
            let messages = capturingLog {
                other.add(timer, forMode: .default)
                other.add(timer, forMode: .common)
                loop.remove(timer, forMode: .default)
                other.add(timer, forMode: .default)
            }.messages
            #expect(messages.count == 3)
            for message in messages { #expect(message.contains("critical") && message.contains("another run loop")) }
            #expect(!other.contains(timer, forMode: .default))
            #expect(!other.contains(timer, forMode: .common))
            #expect(loop.contains(timer, forMode: "M"))

            loop.remove(timer, forMode: "M")
            #expect(capturingLog { other.add(timer, forMode: .default) }.messages.isEmpty)
            #expect(other.contains(timer, forMode: .default))
            timer.fireDate = GRunLoop.now
            #expect(fired.wait())
            thread.finish()
        }
    }

    @Test("items 132, 134: a timer that its own closure moves to another loop repeats there, on its grid")
    func goesToAnotherLoop() async throws {
        try await onFreshThread { loop in
            let thread = LoopThread.running()
            let other = thread.loop
            let log = FireLog()
            let first = soon()
            let interval = Duration.milliseconds(10)
            let timer = log.timer(loop, first: first, every: interval) { number, timer in
                if number == 1 {
                    loop.remove(timer, forMode: .default)
                    other.add(timer, forMode: .default)
                } else if number == 3 {
                    timer.invalidate()
                }
            }
            // The loop here computes the date when the closure has returned.
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(waitUntil { !timer.isValid })
            thread.finish()
            #expect(log.fires.count == 3)
            for date in log.dates.dropFirst() { #expect(date.isOnGrid(from: first, interval)) }
        }
    }

    @Test("item 136: a timer that is added twice to a mode is in it once")
    func addedTwice() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now, interval: .seconds(3600)) { _ in fired.increment() }
            loop.add(timer, forMode: "M")
            loop.add(timer, forMode: "M")
            loop.run(mode: "M", for: .zero)
            loop.run(mode: "M", for: .zero)
            #expect(fired.value == 1)
            loop.remove(timer, forMode: "M")
            #expect(!loop.contains(timer, forMode: "M"))
            #expect(loop.run(mode: "M", for: .zero) == .finished)
        }
    }

    @Test("item 136: a timer that its own closure adds to another mode is there once, and a removal is final")
    func addedInItsClosure() async throws {
        try await onFreshThread { loop in
            let log = FireLog()
            let (first, far) = (soon(), GRunLoop.now.advanced(by: .seconds(1000)))
            let timer = log.timer(loop, first: first, every: .seconds(3600)) { number, timer in
                guard number == 1 else { return }
                for _ in 0..<2 { loop.add(timer, forMode: "M") }
                // The timer fires again neither while it is firing nor in its new mode.
                loop.run(mode: "M", for: .zero)
                timer.fireDate = far
                loop.run(mode: "M", for: .zero)
            }
            stayBusy(until: first)
            loop.run(for: .zero)
            for mode in [.default, "M"] as [GRunLoop.Mode] { #expect(loop.nextFireDate(forMode: mode) == far) }
            timer.fireDate = GRunLoop.now
            loop.run(mode: "M", for: .zero)
            loop.run(mode: "M", for: .zero)
            #expect(log.fires.count == 2)
            loop.remove(timer, forMode: "M")
            #expect(loop.nextFireDate(forMode: "M") == nil)
            #expect(loop.run(mode: "M", for: .zero) == .finished)
            timer.invalidate()
            #expect(loop.nextFireDate(forMode: .default) == nil)
            #expect(loop.run(for: .zero) == .finished)
        }
    }

    @Test("item 137: an invalid timer is refused")
    func addedInvalid() async throws {
        try await onFreshThread { loop in
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in Issue.record("fired") }
            timer.invalidate()
            loop.add(timer, forMode: .default)
            loop.add(timer, forMode: .common)
            #expect(!loop.contains(timer, forMode: .default))
            #expect(!loop.contains(timer, forMode: .common))
            #expect(loop.nextFireDate(forMode: .default) == nil)
            #expect(loop.run(for: .zero) == .finished)
        }
    }
}
