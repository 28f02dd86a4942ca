// SPDX-License-Identifier: Apache-2.0
// Idle work under a host: it runs when neither the loop nor the host has anything ready.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostIdleTests: MainThreadTestCase {
    private func idleQueue(_ mode: GRunLoop.Mode = .default, timePerPass: Duration = .zero) -> GRunLoop.IdleQueue {
        let queue = GRunLoop.IdleQueue(timePerPass: timePerPass)
        loop.add(queue, forMode: mode)
        addTeardownBlock { queue.invalidate() }
        return queue
    }

    /// item 271: one closure runs per pass, after the beforeWaiting observers, without a sleep between two closures.
    /// After the last closure the host sleeps.
    func testOrder() {
        let trace = Recorder()
        freshHostedRun()
        let queue = idleQueue()
        for number in 1...2 { queue.enqueue { trace("work \(number)") } }
        observe(trace, .default, [.beforeTimers, .beforeWaiting, .afterWaiting])
        settleHost()
        let pass = { ["beforeTimers", "beforeWaiting"] + $0 }
        XCTAssertEqual(
            trace.lines,
            pass(["work 1", "afterWaiting"]) + pass(["work 2", "afterWaiting"]) + pass([]))
        XCTAssertEqual(settleHost(), 0)
    }

    /// The order without any observer. An empty queue leaves the host nothing to do.
    func testWithoutObservers() {
        let calls = Counter()
        freshHostedRun()
        let queue = idleQueue(.common)
        for _ in 0..<100 { queue.enqueue { calls.increment() } }
        settleHost()
        XCTAssertEqual(calls.value, 100)
        XCTAssertEqual(settleHost(), 0)
        queue.enqueue { calls.increment() }
        queue.removeAll()
        settleHost()
        XCTAssertEqual(settleHost(), 0)
        XCTAssertEqual(calls.value, 100)
    }

    /// No closure runs while a source of the host is ready, even at a low priority. This includes sources that became
    /// ready in a beforeWaiting observer or in the previous closure.
    func testForeignSourcesComeFirst() {
        let trace = Recorder()
        freshHostedRun()
        let queue = idleQueue(timePerPass: .seconds(3600))
        let rounds = Counter()
        let foreign = GLibSource.idle(nil, priority: Int32.max - 1) {
            trace("foreign")
            return rounds.increment() < 5
        }
        let late = Shared<GLibSource?>(nil)
        queue.enqueue {
            trace("work 1")
            late.value = .idle(nil, priority: Int32.max - 1) {
                trace("late")
                return false
            }
        }
        queue.enqueue { trace("work 2") }
        let told = Shared<GLibSource?>(nil)
        once(.beforeWaiting) {
            trace("observer")
            told.value = .idle(nil, priority: Int32.max - 1) {
                trace("told")
                return false
            }
        }
        settleHost()
        XCTAssertEqual(
            trace.lines, Array(repeating: "foreign", count: 5) + ["observer", "told", "work 1", "late", "work 2"])
        foreign.destroy()
    }

    /// The loop's own ready items also come first, even if a beforeWaiting observer made them ready without a wake-up.
    func testOurItemsComeFirst() throws {
        let trace = Recorder()
        freshHostedRun()
        let pipe = Pipe()
        let descriptor = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
            pipe.drain()
            trace("descriptor")
        }
        try temporary(descriptor)
        let signalled = source { trace("source") }
        let queue = idleQueue()
        queue.enqueue { trace("work") }
        once(.beforeWaiting) {
            pipe.send()
            signalled.signal()
            GRunLoop.main.perform { trace("block") }
            DispatchQueue.main.async { trace("main queue") }
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in trace("timer") }
            GRunLoop.main.add(timer, forMode: .default)
        }
        iterateHost { trace.lines.count == 6 }
        XCTAssertEqual(trace.lines.last, "work")
        once(.beforeWaiting) { GRunLoop.main.perform { trace("quiet block") } }
        queue.enqueue { trace("work") }
        iterateHost { trace.lines.count == 8 }
        XCTAssertEqual(trace.lines.suffix(2), ["quiet block", "work"])
    }

    /// Closures run for a given time per pass. Closures that are enqueued meanwhile wait for the next pass.
    func testTimePerPass() {
        let trace = Recorder()
        freshHostedRun()
        let queue = idleQueue(timePerPass: .seconds(3600))
        for number in 1...3 {
            queue.enqueue {
                trace("\(number)")
                if number == 1 { queue.enqueue { trace("later") } }
            }
        }
        observe(trace, .default, .beforeTimers)
        settleHost()
        XCTAssertEqual(trace.lines, ["beforeTimers", "1", "2", "3", "beforeTimers", "later", "beforeTimers"])
    }

    /// A closure that enqueues itself leaves the sources of the host and of the loop their turns.
    func testEnqueuesItself() {
        let (calls, ticked, fired) = (Counter(), Counter(), Flag())
        let queue = idleQueue()
        @Sendable func again() {
            calls.increment()
            queue.enqueue(again)
        }
        queue.enqueue(again)
        let ticks = GLibSource.timeout(nil, milliseconds: 1, priority: Int32.max - 1) { ticked.increment() < 10 }
        after(.milliseconds(5)) { fired.set() }
        iterateHost { ticked.value == 10 && fired.isSet }
        XCTAssertGreaterThan(calls.value, 10)
        ticks.destroy()
        queue.invalidate()
    }

    /// A closure from another thread wakes a sleeping host, repeatedly.
    func testAnotherThread() {
        let queue = idleQueue(.common)
        let calls = Counter()
        let worker = startThread { [main = threadID] in
            for number in 1...20 {
                precondition(fallsAsleep(GRunLoop.main, thread: main))
                queue.enqueue { calls.increment() }
                precondition(calls.wait(for: number))
            }
        }
        iterateHost { calls.value == 20 }
        join(worker)
    }

    /// A queue waits while the host serves another mode, and while a foreign loop runs inside one of its closures.
    /// Other queues go on in that foreign loop.
    func testModesAndForeignLoops() throws {
        let trace = Recorder()
        freshHostedRun()
        let (queue, other) = (idleQueue(), idleQueue(.common))
        queue.enqueue { trace("rests") }
        try loop.withAmbientMode("tracking") {
            settleHost()
            XCTAssertEqual(trace.lines, [])
        }
        settleHost()
        XCTAssertEqual(trace.take(), ["rests"])

        queue.enqueue {
            trace("begins")
            other.enqueue { trace("other") }
            settleHost()
            trace("ends")
        }
        queue.enqueue { trace("next") }
        settleHost()
        XCTAssertEqual(trace.lines, ["begins", "other", "ends", "next"])
        XCTAssertEqual(settleHost(), 0)
    }

    /// A run in a host callback calls the closures of its mode, and so does the host afterwards.
    func testRunInACallback() {
        let trace = Recorder()
        freshHostedRun()
        let queue = idleQueue()
        inHostCallback {
            queue.enqueue {
                trace("in the run")
                GRunLoop.main.stop()
            }
            queue.enqueue { trace("under the host") }
            XCTAssertEqual(GRunLoop.main.run(for: Patience.normal), .stopped)
            trace("run returned")
        }
        settleHost()
        XCTAssertEqual(trace.lines, ["in the run", "run returned", "under the host"])
    }

    /// g_main_context_pending() between two closures dispatches no closure and loses none.
    func testPending() {
        let trace = Recorder()
        freshHostedRun()
        let queue = idleQueue()
        for number in 1...3 { queue.enqueue { trace("\(number)") } }
        while g_main_context_pending(nil) != 0 {
            _ = g_main_context_pending(nil)
            g_main_context_iteration(nil, 0)
        }
        XCTAssertEqual(trace.lines, ["1", "2", "3"])
    }

    /// A task of the main actor waits until the host has nothing else to do.
    func testAwait() {
        let trace = Recorder()
        let isDone = Flag()
        let foreign = Counter()
        let idle = GLibSource.idle(nil, priority: 300) {
            trace("foreign")
            return foreign.increment() < 3
        }
        Task { @MainActor in
            try await GRunLoop.main.waitUntilIdle()
            trace("idle")
            isDone.set()
        }
        iterateHost { isDone.isSet }
        XCTAssertEqual(trace.lines, ["foreign", "foreign", "foreign", "idle"])
        idle.destroy()
    }
}
