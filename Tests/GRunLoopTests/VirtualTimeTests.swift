// SPDX-License-Identifier: Apache-2.0
// Virtual time: hours pass in no time, and each event happens at its date and in its order.

import GRunLoop
import TestSupport
import Testing

@Suite("Virtual time") struct VirtualTimeTests {
    @Test("the order of the calls in virtual time does not depend on their length in real time")
    func orderWithoutAClock() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            GRunLoop.withVirtualTime { time in
                let date = time.now.advanced(by: .seconds(1))
                time.loop.add(
                    GRunLoop.Timer(fireAt: date) { _ in
                        trace("first timer")
                        GRunLoop.current.perform { trace("block") }
                        let end = SuspendingClock().now.advanced(by: .milliseconds(6))
                        while SuspendingClock().now < end {}
                    }, forMode: .default)
                time.loop.add(GRunLoop.Timer(fireAt: date) { _ in trace("second timer") }, forMode: .default)
                time.advance(by: .seconds(2))
            }
            #expect(trace.lines == ["first timer", "second timer", "block"])
        }
    }

    @Test("a timer that is created and moved by time spans follows the clock of its loop")
    func spans() async throws {
        try await onFreshThread { _ in
            let trace = Recorder()
            GRunLoop.withVirtualTime { time in
                let begin = time.now
                let noted: @Sendable (GRunLoop.Timer) -> Void = { _ in
                    trace("\(begin.duration(to: GRunLoop.now).components.seconds)")
                }
                let timer = GRunLoop.Timer(interval: .seconds(100), repeats: true, after: .seconds(1), handler: noted)
                time.loop.add(timer, forMode: .default)
                time.advance(by: .seconds(250))
                #expect(trace.take() == ["1", "101", "201"])
                timer.schedule(after: .seconds(7))
                #expect(timer.fireDate == begin.advanced(by: .seconds(257)))
                time.advance(by: .seconds(100))
                #expect(trace.take() == ["257"])
                timer.schedule(after: .seconds(-1))
                time.advance(by: .zero)
                #expect(trace.take() == ["350"])
                timer.schedule(after: .seconds(1_000_000_000_000))
                time.advance(by: .seconds(3600))
                #expect(trace.take() == [])
                timer.invalidate()
                let last = timer.fireDate
                timer.schedule(after: .zero)
                #expect(timer.fireDate == last)

                let once = GRunLoop.Timer(interval: .seconds(100), repeats: false, after: .zero, handler: noted)
                time.loop.add(once, forMode: .default)
                time.advance(by: .zero)
                #expect(trace.take() == ["3950"] && !once.isValid)
            }
        }
    }

    @Test("advancing time in a callout, in a finished mode, leaves a pending wake-up to the outer run")
    func finishedWithAWakeUp() async throws {
        try await onFreshThread { _ in
            let passed = Counter()
            GRunLoop.withVirtualTime { time in
                let start = time.now
                // Only this thread calls the closure.
                nonisolated(unsafe) let time = time
                time.loop.perform {
                    time.loop.wakeUp()
                    time.advance(by: .seconds(1))
                    passed.increment()
                }
                time.advance(by: .zero)
                #expect(time.now == start.advanced(by: .seconds(1)))
            }
            #expect(passed.value == 1)
        }
    }

    @Test("advancing time delivers every waiting message, also messages that arrive at its end")
    func messages() {
        GRunLoop.withVirtualTime { time in
            let ids = Shared<[UInt32]>([])
            let port = GRunLoop.Port { message in ids.update { $0.append(message.id) } }
            time.loop.add(port, forMode: .default)
            for id: UInt32 in 1...3 { _ = port.trySend(GRunLoop.PortMessage(id: id)) }
            time.advance(by: .zero)
            #expect(ids.value == [1, 2, 3])
            time.loop.after(.seconds(1)) { for id: UInt32 in 4...6 { _ = port.trySend(GRunLoop.PortMessage(id: id)) } }
            time.advance(by: .seconds(1))
            #expect(ids.value == [1, 2, 3, 4, 5, 6])
        }
    }

    @Test("a timer an hour away fires when the test advances to its date")
    func anHour() {
        let real = GRunLoop.now
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let dates = Shared<[GRunLoop.Instant]>([])
            let timer = GRunLoop.Timer(interval: .seconds(3600), repeats: false) { _ in
                dates.update { $0.append(GRunLoop.now) }
            }
            time.loop.add(timer, forMode: .default)
            time.advance(by: .seconds(3599))
            #expect(dates.value.isEmpty)
            #expect(time.now == start.advanced(by: .seconds(3599)))
            time.advance(by: .seconds(1))
            #expect(dates.value == [start.advanced(by: .seconds(3600))])
            #expect(!timer.isValid)
        }
        #expect(real.duration(to: GRunLoop.now) < .seconds(60))
    }

    @Test("timers on the way fire in the order of their dates, and the work that they cause happens in between")
    func order() {
        GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let record = Recorder()
            let start = time.now
            @Sendable func seconds() -> String { "\(start.duration(to: GRunLoop.now) / .seconds(1))" }
            for delay in [30, 10, 20] {
                let timer = GRunLoop.Timer(interval: .seconds(delay), repeats: false) { _ in
                    record("timer \(delay) at \(seconds())")
                    loop.async { record("block of \(delay) at \(seconds())") }
                }
                loop.add(timer, forMode: .default)
            }
            let repeating = GRunLoop.Timer(interval: .seconds(12), repeats: true) { _ in
                record("every 12 at \(seconds())")
            }
            loop.add(repeating, forMode: .default)
            time.advance(by: .seconds(30))
            #expect(
                record.lines == [
                    "timer 10 at 10.0", "block of 10 at 10.0", "every 12 at 12.0", "timer 20 at 20.0",
                    "block of 20 at 20.0",
                    "every 12 at 24.0", "timer 30 at 30.0", "block of 30 at 30.0",
                ])
        }
    }

    @Test("a run takes its full limit in virtual time and no real time; a nested run also moves the clock")
    func runs() {
        GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let start = time.now
            loop.keepAlive()
            #expect(GRunLoop.current.run(for: .seconds(100)) == .timedOut)
            #expect(start.duration(to: time.now) == .seconds(100))
            loop.after(.seconds(1)) { loop.run(for: .seconds(10)) }
            time.advance(by: .seconds(2))
            #expect(start.duration(to: time.now) == .seconds(111))
            loop.run(until: start.advanced(by: .seconds(200)))
            #expect(start.duration(to: time.now) == .seconds(200))
        }
    }

    @Test("zero and negative spans serve ready items without moving the clock; a past date does too")
    func still() {
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let count = Counter()
            for span in [Duration.zero, .seconds(-5), .seconds(Int64.min)] {
                time.loop.async { count.increment() }
                time.advance(by: span)
            }
            time.loop.async { count.increment() }
            time.advance(to: GRunLoop.distantPast)
            #expect(count.value == 4)
            #expect(time.now == start)
        }
    }

    @Test("an empty mode lets the clock pass; another mode waits for its turn")
    func modes() {
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let count = Counter()
            time.loop.after(.seconds(1), "other") { count.increment() }
            time.advance(by: .seconds(5))
            #expect(start.duration(to: time.now) == .seconds(5))
            #expect(count.value == 0)
            time.advance(by: .zero, mode: "other")
            #expect(count.value == 1)
        }
    }

    @Test("stopping a run does not stop the clock")
    func stop() {
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let count = Counter()
            let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { _ in
                count.increment()
                GRunLoop.current.stop()
            }
            time.loop.add(timer, forMode: .default)
            time.advance(by: .seconds(10))
            #expect(count.value == 10)
            #expect(start.duration(to: time.now) == .seconds(10))
        }
    }

    @Test("advanceToNextTimer moves the clock from timer to timer")
    func nextTimer() {
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let count = Counter()
            time.loop.after(.seconds(7)) { count.increment() }
            time.loop.after(.seconds(9)) { count.increment() }
            #expect(time.advanceToNextTimer())
            #expect(start.duration(to: time.now) == .seconds(7))
            #expect(time.advanceToNextTimer())
            #expect(count.value == 2)
            #expect(!time.advanceToNextTimer())
        }
    }

    @Test("advancing by an endless span ends, after every event that becomes due")
    func endless() {
        GRunLoop.withVirtualTime { time in
            let count = Counter()
            time.loop.after(.seconds(400_000_000)) { count.increment() }
            time.advance(by: .seconds(Int64.max))
            #expect(count.value == 1)
            #expect(time.now.duration(to: GRunLoop.distantFuture) == .nanoseconds(1))
        }
    }

    @Test("a fraction of a second is the nearest nanosecond in every interface; the shortest positive time is one")
    func fractions() {
        GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let start = time.now
            let count = Counter()
            loop.after(.milliseconds(1900)) { count.increment() }
            time.advance(by: .seconds(1.9))
            #expect(count.value == 1)
            #expect(start.duration(to: time.now) == .milliseconds(1900))

            let shortest = Duration(attoseconds: 1)
            let repeating = GRunLoop.Timer(fireAt: time.now, interval: shortest, tolerance: .seconds(1.9)) { _ in }
            #expect(repeating.interval == .nanoseconds(1))
            #expect(GRunLoop.Timer(fireAt: time.now, interval: .seconds(0.3)) { _ in }.interval == .milliseconds(300))
            for (tolerance, whole) in [(.seconds(1.9), .milliseconds(1900)), (shortest, Duration.nanoseconds(1))] {
                #expect(GRunLoop.Timer(fireAt: time.now, tolerance: tolerance) { _ in }.tolerance == whole)
            }
            loop.timeSlice = shortest
            #expect(loop.timeSlice == .nanoseconds(1))

            // The timers are not due before a nanosecond has passed.
            loop.after(shortest) { count.increment() }
            loop.perform(after: shortest) { count.increment() }
            time.advance(by: .zero)
            #expect(count.value == 1)
            time.advance(by: shortest)
            #expect(count.value == 3)
            loop.keepAlive()
            loop.run(for: .seconds(1.9))
            loop.run(for: shortest)
            #expect(start.duration(to: time.now) == .milliseconds(3800) + .nanoseconds(2))
        }
    }

    @Test("item 123: a present or past date that is set in the timer's own closure fires in the next pass")
    func dateThatHasCome() {
        for past: Duration in [.zero, .milliseconds(1), .seconds(3600)] {
            GRunLoop.withVirtualTime { time in
                let fires = Shared<[GRunLoop.Instant]>([])
                let begin = time.now
                let timer = GRunLoop.Timer(interval: .seconds(1), repeats: true) { timer in
                    let now = GRunLoop.current.clock.now
                    fires.update { $0.append(now) }
                    if fires.value.count == 1 { timer.fireDate = now.advanced(by: .zero - past) }
                }
                time.loop.add(timer, forMode: .default)
                time.advance(by: .milliseconds(1500))
                #expect(fires.value.count == 2, "\(past)")
                #expect(fires.value.map { begin.duration(to: $0) / .seconds(1) }.allSatisfy { $0 < 1.1 }, "\(past)")
                timer.invalidate()
            }
        }
    }

    @Test("a late callback skips the missed dates, by the loop's clock")
    func grid() {
        GRunLoop.withVirtualTime { time in
            let start = time.now
            let fires = Recorder()
            let timer = GRunLoop.Timer(interval: .milliseconds(50), repeats: true) { _ in
                fires("\(start.duration(to: GRunLoop.now) / .milliseconds(1))")
                // Nests a run of 70 ms, in which the timer does not fire.
                GRunLoop.current.run(for: .milliseconds(70))
            }
            time.loop.add(timer, forMode: .default)
            time.advance(by: .milliseconds(260))
            #expect(fires.lines == ["50.0", "150.0", "250.0"])
        }
    }

    @Test("tasks on the loop, and their sleeps on its clock, resume in the order of their dates")
    func tasks() async {
        let record = Recorder()
        let tasks = GRunLoop.withVirtualTime { time in
            let loop = time.loop
            let start = time.now
            let tasks = [3, 1, 2].map { hours in
                Task(executorPreference: loop.executor) {
                    try await loop.sleep(for: .seconds(3600 * hours))
                    record("\(hours) h at \(start.duration(to: loop.clock.now) / .seconds(3600))")
                    try await loop.clock.sleep(for: .seconds(1800))
                    record("\(hours).5 h at \(start.duration(to: loop.clock.now) / .seconds(3600))")
                }
            }
            time.advance(by: .seconds(3600 * 4))
            return tasks
        }
        for task in tasks { #expect(await task.result.isSuccess) }
        #expect(
            record.lines == [
                "1 h at 1.0", "1.5 h at 1.5", "2 h at 2.0", "2.5 h at 2.5", "3 h at 3.0", "3.5 h at 3.5",
            ])
    }

    @Test("a task on another thread sleeps by the loop's clock, even if real time has long passed the date")
    func sleepFromElsewhere() async throws {
        try await onFreshThread { _ in
            // The clock begins at the machine's start.
            GRunLoop.withVirtualTime(from: GRunLoop.distantPast) { time in
                let loop = time.loop
                let isAwake = Flag()
                Task {
                    try await loop.sleep(for: .seconds(1))
                    isAwake.set()
                }
                let date = time.now.advanced(by: .seconds(1))
                #expect(waitUntil { loop.nextFireDate(forMode: .default) == date })
                time.advance(to: date)
                #expect(isAwake.wait())
                #expect(time.now == date)
            }
        }
    }

    @Test("the thread's own loop and clock are back afterwards, also after a throw; the virtual loop has ended")
    func afterwards() async throws {
        try await onFreshThread { loop in
            struct Thrown: Error {}
            let other = Shared<GRunLoop?>(nil)
            #expect(throws: Thrown.self) {
                try GRunLoop.withVirtualTime(from: GRunLoop.now.advanced(by: .seconds(86_400))) { time throws(Thrown) in
                    other.value = time.loop
                    #expect(GRunLoop.current === time.loop)
                    #expect(GRunLoop.now == time.now)
                    throw Thrown()
                }
            }
            #expect(GRunLoop.current === loop)
            #expect(GRunLoop.now < GRunLoop.now.advanced(by: .seconds(43_200)))
            let ended = try #require(other.value)
            ended.async { Issue.record("a block ran after the end") }
            #expect(ended !== loop)
        }
    }

    @Test("nested virtual times each have their own clock")
    func nested() {
        GRunLoop.withVirtualTime { outer in
            let before = outer.now
            GRunLoop.withVirtualTime { inner in
                inner.advance(by: .seconds(60))
                #expect(outer.now == before)
                #expect(GRunLoop.current === inner.loop)
            }
            #expect(GRunLoop.current === outer.loop)
            #expect(GRunLoop.now == before)
        }
    }

    @Test("in a callout of a loop, virtual time does not serve that loop", arguments: [false, true])
    func insideCallout(isNested: Bool) async throws {
        try await onFreshThread { real in
            let trace = Recorder()
            let check: @Sendable (GRunLoop) -> Void = { loop in
                loop.perform(after: .zero) {
                    loop.perform(after: .zero) { trace(GRunLoop.current === loop ? "outer" : "outer in virtual time") }
                    loop.perform { trace("block") }
                    GRunLoop.withVirtualTime { time in
                        time.loop.perform(after: .seconds(5)) { trace("inner") }
                        time.advance(by: .seconds(10))
                    }
                    trace("end of virtual time")
                }
                for _ in 0..<3 { loop.run(for: .zero) }
            }
            if isNested { GRunLoop.withVirtualTime { check($0.loop) } } else { check(real) }
            #expect(trace.take() == ["inner", "end of virtual time", "block", "outer"])
        }
    }

    @Test("another thread wakes a run without further timers")
    func otherThreads() {
        GRunLoop.withVirtualTime { time in
            let loop = time.loop
            loop.keepAlive()
            let helper = startThread {
                _ = waitUntil { loop.isWaiting }
                loop.stop()
            }
            #expect(loop.run(mode: .default) == .stopped)
            join(helper)
        }
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
