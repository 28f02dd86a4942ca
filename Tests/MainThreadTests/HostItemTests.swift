// SPDX-License-Identifier: Apache-2.0
// Items of the behaviour list about the wait, for waits of a host.

import CGRunGLib
import GRunLoop
import TestSupport
import XCTest

final class HostItemTests: MainThreadTestCase {
    private let trace = Recorder()

    /// Iterates the host until it would sleep, and forgets the recorded lines.
    private func settle() {
        freshHostedRun()
        observe(trace)
        iterateHost { trace.lines.last == "beforeWaiting" }
        _ = trace.take()
    }

    private func waitForWake() {
        iterateHost { trace.lines.contains("afterWaiting") && trace.lines.last == "beforeWaiting" }
    }

    /// Returns the lines recorded until the host sleeps. If the thread is preempted in a poll without a wait, the host
    /// seems to have slept, and serves `left` early. The attempt is repeated then.
    private func unlessPreempted(_ left: String, _ attempt: () -> Void) -> [String] {
        var found: [String] = []
        for _ in 0..<5 {
            _ = trace.take()
            attempt()
            settleHost()
            found = trace.take()
            if !found.contains(left) { break }
        }
        return found
    }

    private let pass = ["beforeTimers", "beforeSources", "beforeWaiting"]

    /// items 46, 49: the host still sleeps after a beforeWaiting observer has signalled or enqueued something, and
    /// serves it afterwards.
    func testWhatBeforeWaitingLeaves() {
        settle()
        let source = source { [trace] in trace("source") }
        let found = unlessPreempted("source") {
            loop.wakeUp()
            once(.beforeWaiting) { [trace, loop] in
                source.signal()
                loop.perform { trace("block") }
                trace("left")
            }
            iterateHost { trace.lines.contains("left") }
        }
        XCTAssertFalse(found.contains("source"))
        XCTAssertFalse(found.contains("block"))
        after(.milliseconds(5)) { [trace] in trace("timer") }
        waitForWake()
        XCTAssertEqual(
            trace.lines, ["afterWaiting", "timer", "block", "beforeTimers", "beforeSources", "source"] + pass)
    }

    /// item 48: a block that a block of the first step enqueues waits for the next wake-up.
    func testBlockInABlock() {
        settle()
        loop.async { [trace, loop] in
            trace("tail block")
            loop.perform { trace("second") }
        }
        waitForWake()
        XCTAssertEqual(
            trace.take(), ["afterWaiting", "tail block", "beforeTimers", "beforeSources", "second", "beforeWaiting"])
        let found = unlessPreempted("later") {
            once(.beforeTimers) { [trace, loop] in
                loop.perform {
                    trace("first step")
                    loop.perform { trace("later") }
                }
            }
            loop.wakeUp()
            waitForWake()
        }
        XCTAssertEqual(found, ["afterWaiting", "beforeTimers", "beforeSources", "first step", "beforeWaiting"])
        loop.wakeUp()
        waitForWake()
        XCTAssertEqual(trace.lines, ["afterWaiting", "later"] + pass)
    }

    /// item 48: the block is not forgotten if a sleep ended only to be rearmed, in an iteration in which GLib did not
    /// check the hub.
    func testLeftBehindAfterARearm() {
        freshHostedRun()
        settleHost()
        let event = EventDescriptor()
        let foreign = GLibSource.readable(nil, event.descriptor, priority: -100) {
            event.consume()
            return true
        }
        defer { foreign.destroy() }
        let context = g_main_context_default()
        var (priority, timeout) = (Int32(0), Int32(0))
        var records = [GPollFD](repeating: GPollFD(), count: 64)
        XCTAssertNotEqual(g_main_context_acquire(context), 0)
        g_main_context_prepare(context, &priority)
        let count = g_main_context_query(context, priority, &timeout, &records, 64)
        event.makeReady()
        let timer = GRunLoop.Timer(interval: .seconds(1000), repeats: false) { _ in }
        defer { timer.invalidate() }
        join(startThread { [loop] in loop.add(timer, forMode: .default) })
        g_poll(&records, guint(count), 0)
        XCTAssertNotEqual(g_main_context_check(context, priority, &records, count), 0)
        g_main_context_dispatch(context)
        g_main_context_release(context)
        settleHost()

        // The innermost block is enqueued in a head, so it waits for the end of the host's wait.
        loop.perform { [loop, trace] in
            loop.perform { loop.perform { trace("block") } }
        }
        settleHost()
        XCTAssertEqual(trace.lines, [])
        let idle = GLibSource.idle(nil, priority: 200) { false }
        defer { idle.destroy() }
        settleHost()
        XCTAssertEqual(trace.lines, ["block"])
    }

    /// item 50: a pass serves what ended its wait. If an observer of afterWaiting makes an item ready, the next pass
    /// serves it. The order of the kinds does not matter.
    func testMadeReadyByAfterWaiting() throws {
        settle()
        let pipe = Pipe()
        try temporary(
            GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { [trace] _, _ in
                trace("served")
                pipe.drain()
            })
        let port = GRunLoop.Port { [trace] _ in trace("served") }
        loop.add(port, forMode: .default)
        addTeardownBlock { port.invalidate() }
        let timer = temporary(
            GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: .seconds(3600)) { [trace] _ in trace("served") })
        let actions: [@Sendable () -> Void] = [
            { _ = port.trySend(GRunLoop.PortMessage()) }, { timer.fireDate = GRunLoop.now }, { pipe.send() },
        ]
        for kind in [0, 1, 2, 1, 0, 2] {
            settleHost()
            _ = trace.take()
            once(.afterWaiting) { actions[kind]() }
            loop.wakeUp()
            iterateHost { trace.lines.contains("served") && trace.lines.last == "beforeWaiting" }
            let lines = trace.lines.filter { $0 != "beforeWaiting" && $0 != "afterWaiting" }
            XCTAssertEqual(Array(lines.prefix(3)), ["beforeTimers", "beforeSources", "served"], "kind \(kind)")
        }
    }

    /// item 70: a wake-up after the wait is ignored, since another pass comes before the next sleep anyway.
    func testWakeUpAfterTheWait() {
        settle()
        after(.milliseconds(1)) { [trace, loop] in
            trace("timer")
            loop.wakeUp()
        }
        waitForWake()
        settleHost()
        XCTAssertEqual(trace.lines, ["afterWaiting", "timer"] + pass)
    }

    /// item 71: a wake-up before the wait ends the wait immediately.
    func testWakeUpBeforeTheWait() {
        settle()
        loop.wakeUp()
        once(.beforeWaiting) { [trace, loop] in
            trace("wakes")
            loop.wakeUp()
        }
        iterateHost { trace.count(of: "beforeWaiting") == 2 }
        XCTAssertEqual(trace.lines.filter { $0 != "wakes" }, ["afterWaiting"] + pass + ["afterWaiting"] + pass)
    }

    /// items 46, 74: another thread's signal between beforeWaiting and the sleep does not wake the host either.
    func testAnotherThreadsSignalInBeforeWaiting() {
        let trace = Recorder()
        freshHostedRun()
        let source = source { trace("source") }
        once(.beforeWaiting) { onPlainThread { source.signal() } }
        after(.milliseconds(10)) { trace("timer") }
        iterateHost { trace.lines.count == 2 }
        XCTAssertEqual(trace.lines, ["timer", "source"])
    }

    /// items 74, 75: another thread's signal or block alone does not wake the host. The next iteration serves it.
    func testNotWoken() {
        let source = source { [trace] in trace("source") }
        settle()
        let isDone = Flag()
        whenAsleep { [loop, trace] in
            source.signal()
            loop.perform { trace("block") }
            // This time is long enough to notice a host that was woken.
            let wasWoken = waitUntil(timeout: .milliseconds(30)) { !trace.lines.isEmpty }
            trace(wasWoken ? "woken" : "asleep")
            isDone.set()
            loop.wakeUp()
        }
        iterateHost { isDone.isSet && trace.lines.contains("source") && trace.lines.last == "beforeWaiting" }
        XCTAssertEqual(
            trace.lines, ["asleep", "afterWaiting", "block", "beforeTimers", "beforeSources", "source"] + pass)
    }

    /// items 76, 80: a timer that another thread adds rearms the sleep without an additional pass.
    func testAddedTimer() {
        let late = GRunLoop.Timer(interval: .seconds(7200), repeats: false) { _ in }
        addTeardownBlock { late.invalidate() }
        settle()
        whenAsleep { [loop, trace] in
            loop.add(late, forMode: .default)
            loop.add(
                GRunLoop.Timer(interval: .milliseconds(30), repeats: false) { _ in trace("timer") }, forMode: .default)
        }
        waitForWake()
        XCTAssertEqual(trace.lines, ["afterWaiting", "timer"] + pass)
    }

    /// item 77: a fire date that another thread sets wakes the host as well.
    func testMovedTimer() {
        let timer = temporary(
            GRunLoop.Timer(fireAt: GRunLoop.distantFuture, interval: .seconds(3600)) { [trace] _ in trace("timer") })
        settle()
        whenAsleep { timer.fireDate = GRunLoop.now.advanced(by: .seconds(3600)) }
        waitForWake()
        XCTAssertEqual(trace.take(), ["afterWaiting"] + pass)
        whenAsleep { timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(1)) }
        iterateHost { trace.lines.contains("timer") && trace.lines.last == "beforeWaiting" }
    }

    /// An invalidated source is not performed, even if g_main_context_pending() has seen its signal (T11).
    func testTakenBackAfterPending() {
        let source = source { [trace] in trace("source") }
        settleHost()
        source.signal()
        XCTAssertNotEqual(g_main_context_pending(nil), 0)
        source.invalidate()
        settleHost()
        XCTAssertEqual(trace.lines, [])
    }

    /// Items that a host callback makes ready are served before the host sleeps, without another pair of activities.
    func testWorkOfACallback() {
        let source = source { [trace] in trace("source") }
        settle()
        let timeout = GLibSource.timeout(nil, milliseconds: 2) { [trace, loop] in
            trace("callback")
            source.signal()
            loop.perform { trace("block") }
            return false
        }
        iterateHost { trace.lines.contains("source") && trace.lines.last == "beforeWaiting" }
        XCTAssertEqual(
            trace.lines,
            ["afterWaiting", "callback", "block", "beforeTimers", "beforeSources", "source"] + pass)
        withExtendedLifetime(timeout) {}
    }

    /// A run in a beforeWaiting observer also serves the host's context. It does not keep the host from sleeping.
    func testRunInBeforeWaiting() {
        settle()
        for span in [Duration.zero, .milliseconds(2)] {
            for _ in 0..<20 {
                let hasRun = Flag()
                let timer = GRunLoop.Timer(interval: .milliseconds(8), repeats: false) { [trace] _ in trace("timer") }
                once(.beforeWaiting) { [trace, loop] in
                    loop.run(for: span)
                    loop.add(timer, forMode: .default)
                    timer.fireDate = GRunLoop.now.advanced(by: .milliseconds(8))
                    _ = trace.take()
                    hasRun.set()
                }
                loop.wakeUp()
                iterateHost { hasRun.isSet }
                waitForWake()
                XCTAssertEqual(trace.lines, ["afterWaiting", "timer"] + pass)
            }
        }
    }

    /// A block that the last block of a pass enqueues waits for the end of the host's wait. The host's own work ends
    /// that wait too, with or without a sleep or an observer.
    func testLeftoversOfABusyHost() {
        for isObserved in [true, false] {
            let (turns, last) = (Counter(), Shared(0))
            let observer = isObserved ? loop.on(.beforeWaiting) { _ in } : nil
            let isOver = Flag()
            @Sendable func enqueue() {
                GRunLoop.main.perform {
                    turns.increment()
                    if !isOver.isSet { enqueue() }
                }
            }
            enqueue()
            let idle = GLibSource.idle(nil, priority: 200) {
                last.value += 1
                return last.value < 100
            }
            iterateHost { last.value == 100 }
            XCTAssertGreaterThanOrEqual(turns.value, 50, "observed: \(isObserved)")
            isOver.set()
            loop.wakeUp()
            settleHost()
            idle.destroy()
            observer?.invalidate()
        }
    }
}
