// SPDX-License-Identifier: Apache-2.0
// A loop's clock works where a `Clock` is needed: debounce, throttle and timers of swift-async-algorithms, and
// Task.sleep, in real and in virtual time. The main thread drives; Swift's runtime places the tasks.

import AsyncAlgorithms
import GRunLoop
import Glibc

// MARK: Virtual time: each element arrives at its exact time

/// Checks that the loop's first timer is due at `milliseconds`, moves the clock there, and fires the timer.
func fire(_ time: GRunLoop.VirtualTime, _ start: GRunLoop.Instant, at milliseconds: Int, line: UInt = #line) {
    let date = start.advanced(by: .milliseconds(milliseconds))
    wait("a timer at \(milliseconds) ms", line: line) { time.loop.nextFireDate(forMode: .default) == date }
    time.advance(to: date)
}

func debounceInVirtualTime() {
    GRunLoop.withVirtualTime { time in
        let (loop, start) = (time.loop, time.now)
        let (feed, arrivals) = (Feed(), Arrivals(loop.clock))
        let task = Task {
            for await element in feed.debounce(for: .seconds(1), clock: loop.clock) { arrivals.add(element) }
            arrivals.add("end")
        }
        // In a burst, an element comes each half second. Only the last one arrives, a second later.
        feed.send("a")
        wait("a timer") { loop.nextFireDate(forMode: .default) == start.advanced(by: .seconds(1)) }
        time.advance(by: .milliseconds(500))
        feed.send("b")
        fire(time, start, at: 1000)
        fire(time, start, at: 1500)
        wait("b") { arrivals.all.count == 1 }
        time.advance(to: start.advanced(by: .seconds(3600)))
        feed.send("c")
        fire(time, start, at: 3_601_000)
        wait("c") { arrivals.all.count == 2 }
        feed.finish()
        wait("the end") { arrivals.all.count == 3 }
        check(arrivals.all, is: ["b at 1500", "c at 3601000", "end at 3601000"])
        task.cancel()
    }
}

func throttleInVirtualTime() {
    GRunLoop.withVirtualTime { time in
        let (feed, arrivals) = (Feed(), Arrivals(time.loop.clock))
        let loop = time.loop
        let task = Task {
            for await element in feed._throttle(for: .seconds(1), clock: loop.clock) { arrivals.add(element) }
            arrivals.add("end")
        }
        // Five elements come in a second, and the throttle passes the latest one.
        for number in 0..<15 {
            feed.send("\(number)")
            time.advance(by: .milliseconds(200))
        }
        feed.finish()
        wait("the end") { arrivals.all.last?.hasPrefix("end") == true }
        check(arrivals.all, is: ["0 at 0", "5 at 1000", "10 at 2000", "14 at 3000", "end at 3000"])
        task.cancel()
    }
}

func timerInVirtualTime() {
    GRunLoop.withVirtualTime { time in
        let (loop, start) = (time.loop, time.now)
        let arrivals = Arrivals(loop.clock)
        let task = Task {
            for await date in AsyncTimerSequence(interval: .seconds(60), clock: loop.clock) {
                arrivals.add("tick \(start.duration(to: date))")
            }
            arrivals.add("end")
        }
        for minute in 1...3 {
            fire(time, start, at: minute * 60_000)
            wait("tick \(minute)") { arrivals.all.count == minute }
        }
        task.cancel()
        wait("the end") { arrivals.all.count == 4 }
        check(
            arrivals.all,
            is: [
                "tick 60.0 seconds at 60000", "tick 120.0 seconds at 120000", "tick 180.0 seconds at 180000",
                "end at 180000",
            ])
        check(loop.nextFireDate(forMode: .default) == nil, "the timer is left in the loop")
    }
}

func sleepInVirtualTime() {
    GRunLoop.withVirtualTime { time in
        let (loop, start) = (time.loop, time.now)
        let arrivals = Arrivals(loop.clock)
        Task {
            try await Task.sleep(for: .seconds(86_400), tolerance: .seconds(1), clock: loop.clock)
            arrivals.add("a day")
            try await Task.sleep(until: start.advanced(by: .seconds(86_401)), clock: loop.clock)
            arrivals.add("a second")
        }
        wait("a timer") { loop.nextFireDate(forMode: .default) != nil }
        // The timer may be late by its tolerance of one second.
        time.advance(to: start.advanced(by: .milliseconds(86_400_999)))
        wait("the first") { arrivals.all.count == 1 }
        fire(time, start, at: 86_401_000)
        wait("the second") { arrivals.all.count == 2 }
        check(arrivals.all.last, is: "a second at 86401000")
    }
}

// MARK: Real time: each element arrives, and not early

func inRealTime(_ body: @escaping @Sendable (GRunLoop.LoopClock) async throws -> Void) {
    let loop = GRunLoop.main
    Task {
        do { try await body(loop.clock) } catch { check(false, "\(error)") }
        loop.async { loop.stop() }
    }
    check(loop.run(for: .seconds(20)), is: .stopped)
}

debounceInVirtualTime()
throttleInVirtualTime()
timerInVirtualTime()
sleepInVirtualTime()

inRealTime { clock in
    let span = Duration.milliseconds(20)
    let start = clock.now
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    for number in 1...10 { continuation.yield(number) }
    for await number in stream.debounce(for: span, clock: clock) {
        check(number, is: 10)
        break
    }
    check(start.duration(to: clock.now) >= span, "debounced too early")
}

inRealTime { clock in
    let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
    let feeding = Task {
        for number in 0..<50 {
            continuation.yield(number)
            try await Task.sleep(for: .milliseconds(2), clock: clock)
        }
        continuation.finish()
    }
    var count = 0
    for await _ in stream._throttle(for: .milliseconds(20), clock: clock) { count += 1 }
    try await feeding.value
    // In 100 ms or more the throttle passes the first element, one each 20 ms, and the rest at the end.
    check(count >= 5 && count < 50, "throttled to \(count)")
}

inRealTime { clock in
    let start = clock.now
    var count = 0
    for await _ in AsyncTimerSequence(interval: .milliseconds(5), clock: clock) {
        count += 1
        if count == 5 { break }
    }
    check(start.duration(to: clock.now) >= .milliseconds(25), "5 ticks in less than 25 ms")
    let measured = try await clock.measure { try await Task.sleep(for: .milliseconds(5), clock: clock) }
    check(measured >= .milliseconds(5), "slept \(measured)")
    let sleeper = Task { try await Task.sleep(for: .seconds(3600), clock: clock) }
    sleeper.cancel()
    let result = await sleeper.result
    check((try? result.get()) == nil, "a cancelled sleep goes on")
}

print("clocks: debounce, throttle, timers and Task.sleep keep the loop's time, real and virtual")
