// SPDX-License-Identifier: Apache-2.0
// Items 117, 118, 121, 125 to 130: the timers of one batch, their order, and the end of one-shot timers.

import GRunLoop
import TestSupport
import Testing

@Suite("Timers: firing") struct TimersFiringTests {
    @Test("item 117: a one-shot timer is valid in its closure, and right after it invalid and in no mode")
    func oneShot() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            try loop.addCommonMode("M")
            let state = { @Sendable (timer: GRunLoop.Timer) in
                let modes: [GRunLoop.Mode] = [.default, .common, "M", "N"].filter { loop.contains(timer, forMode: $0) }
                record("\(timer.isValid) \(modes.count)")
            }
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { timer in
                state(timer)
                // The block runs in the last stage of the same pass.
                loop.perform { state(timer) }
            }
            loop.add(timer, forMode: .common)
            loop.add(timer, forMode: "N")
            loop.run(for: .zero)
            #expect(record.lines == ["true 4", "false 0"])
            #expect(loop.run(mode: "N", for: .zero) == .finished)
        }
    }

    @Test("item 118: a one-shot timer cannot be armed again from its own closure")
    func oneShotStaysOneShot() async throws {
        try await onFreshThread { loop in
            let fired = Counter()
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { timer in
                fired.increment()
                timer.fireDate = GRunLoop.now
            }
            loop.add(timer, forMode: .default)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(fired.value == 1)
            #expect(!timer.isValid)
            #expect(!loop.contains(timer, forMode: .default))
        }
    }

    @Test("item 121: a one-shot timer whose date passed while the loop was busy fires late")
    func lateOneShot() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = GRunLoop.now.advanced(by: .milliseconds(5))
            let busy = loop.source {
                stayBusy(until: date.advanced(by: .milliseconds(10)))
                record("free")
            }
            let timer = GRunLoop.Timer(fireAt: date) { _ in record("fired") }
            loop.add(timer, forMode: .default)
            busy.signal()
            loop.run(for: .zero)
            #expect(record.lines == ["free", "fired"])
        }
    }

    @Test("item 125: timers that are due together fire in the order of their dates, in one pass")
    func byDate() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let start = soon()
            for offset in [3, 1, 4, 0, 5, 2] {
                let timer = GRunLoop.Timer(fireAt: start.advanced(by: .milliseconds(offset))) { _ in record("\(offset)")
                }
                loop.add(timer, forMode: .default)
            }
            stayBusy(until: start.advanced(by: .milliseconds(6)))
            loop.run(for: .zero)
            #expect(record.lines == ["beforeTimers", "0", "1", "2", "3", "4", "5"])
        }
    }

    @Test("item 126: timers with the same date fire in the order in which they were added, not made")
    func ties() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = soon()
            let timers = (0..<20).map { number in GRunLoop.Timer(fireAt: date) { _ in record("\(number)") } }
            let order = [7, 3, 19, 0, 12, 5, 18, 1, 9, 14, 2, 16, 8, 11, 4, 17, 6, 13, 10, 15]
            for number in order { loop.add(timers[number], forMode: .default) }
            stayBusy(until: date)
            loop.run(for: .zero)
            #expect(record.lines == order.map(String.init))
        }
    }

    @Test("item 126: a timer that is moved to a date fires after the timers that have the date already")
    func movedTies() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = soon()
            let timers = (0..<4).map { number in GRunLoop.Timer(fireAt: date) { _ in record("\(number)") } }
            for timer in timers { loop.add(timer, forMode: .default) }
            timers[1].fireDate = date.advanced(by: .seconds(3600))
            timers[1].fireDate = date
            stayBusy(until: date)
            loop.run(for: .zero)
            #expect(record.lines == ["0", "2", "3", "1"])
        }
    }

    @Test("item 127: a timer that becomes due in another timer's closure fires in a later pass")
    func dueMeanwhile() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let date = GRunLoop.now.advanced(by: .seconds(1000))
            let second = GRunLoop.Timer(fireAt: date) { _ in
                record("B")
                loop.stop()
            }
            let first = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in
                record("A")
                let soon = GRunLoop.now.advanced(by: .milliseconds(2))
                second.fireDate = soon
                stayBusy(until: soon)
            }
            loop.add(first, forMode: .default)
            loop.add(second, forMode: .default)
            #expect(loop.run(for: .seconds(20)) == .stopped)
            #expect(record.lines == ["beforeTimers", "A", "beforeTimers", "B"])
        }
    }

    @Test("item 127: a batch fires only the timers of one instant, if their dates are ahead")
    func oneInstant() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let start = GRunLoop.now.advanced(by: .milliseconds(20))
            let first = GRunLoop.Timer(fireAt: start) { _ in
                record("A \(GRunLoop.now < start.advanced(by: .milliseconds(200)))")
                stayBusy(until: start.advanced(by: .milliseconds(202)))
            }
            let second = GRunLoop.Timer(fireAt: start.advanced(by: .milliseconds(200))) { _ in record("B") }
            loop.add(first, forMode: .default)
            loop.add(second, forMode: .default)
            #expect(loop.run(for: .seconds(20)) == .finished)
            // If the machine stood still for 180 ms, both timers were due in one batch.
            if record.lines.contains("A true") {
                #expect(record.lines == ["beforeTimers", "A true", "beforeTimers", "B"])
            }
        }
    }

    @Test("item 128: a timer that is added in a timer's closure and is already due fires in the next pass")
    func addedWhileFiring() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            loop.after(.zero) {
                record("A")
                let new = GRunLoop.Timer(fireAt: GRunLoop.now.advanced(by: .seconds(-1))) { _ in record("N") }
                loop.add(new, forMode: .default)
            }
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["beforeTimers", "A", "beforeTimers", "N"])
        }
    }

    @Test("item 129: of two timers that are due, the second does not fire when the first invalidates it")
    func invalidatedInBatch() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = soon()
            let second = GRunLoop.Timer(fireAt: date, interval: .seconds(3600)) { _ in record("B") }
            let first = GRunLoop.Timer(fireAt: date) { _ in
                record("A")
                second.invalidate()
            }
            loop.add(first, forMode: .default)
            loop.add(second, forMode: .default)
            stayBusy(until: date)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["A"])
        }
    }

    @Test(
        "item 130 (our rule): a timer that is removed in the batch does not fire in it, even if it is in another mode")
    func removedInBatch() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            let date = soon()
            let modes = [["M"], ["M", "Other"]] as [[GRunLoop.Mode]]
            let removed = modes.map { modes in
                let timer = GRunLoop.Timer(fireAt: date) { _ in record("in \(modes.count)") }
                return (timer, modes)
            }
            let first = GRunLoop.Timer(fireAt: date) { _ in
                record("A")
                for (timer, _) in removed { loop.remove(timer, forMode: "M") }
            }
            loop.add(first, forMode: "M")
            for (timer, modes) in removed {
                for mode in modes { loop.add(timer, forMode: mode) }
            }
            stayBusy(until: date)
            #expect(loop.run(mode: "M", for: .seconds(20)) == .finished)
            #expect(record.lines == ["A"])
            // The timer was removed, not invalidated: it is still due in its other mode.
            for (timer, _) in removed { #expect(timer.isValid) }
            #expect(loop.run(mode: "Other", for: .seconds(20)) == .finished)
            #expect(record.lines == ["A", "in 2"])
        }
    }

    @Test("a timer that an earlier timer of the batch moves away fires at its new date only")
    func movedInBatch() async throws {
        try await onFreshThread { loop in
            let record = Recorder()
            record.observe(loop, .default, .beforeTimers)
            let date = soon()
            let second = GRunLoop.Timer(fireAt: date) { timer in record("B \(timer.fireDate <= GRunLoop.now)") }
            let first = GRunLoop.Timer(fireAt: date) { _ in
                record("A")
                second.fireDate = soon()
            }
            loop.add(first, forMode: .default)
            loop.add(second, forMode: .default)
            stayBusy(until: date)
            #expect(loop.run(for: .seconds(20)) == .finished)
            #expect(record.lines == ["beforeTimers", "A", "beforeTimers", "B true"])
        }
    }
}
