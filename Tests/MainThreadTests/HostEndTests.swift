// SPDX-License-Identifier: Apache-2.0
// The host's endless run begins with entry and ends with exit: at detach(), or with the loop's thread. And the loops
// that must end.

import CGRunGLib
import GRunLoop
import TestSupport
import XCTest

final class HostEndTests: MainThreadTestCase {
    /// Entry comes once, exit at detach(), and a loop that is attached again begins anew.
    func testDetachAndAttach() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace, .default, [.entry, .exit])
        for round in 1...3 {
            for _ in 0..<3 {
                loop.perform { trace("block") }
                settleHost()
            }
            XCTAssertEqual(trace.take(), ["entry", "block", "block", "block"], "round \(round)")
            loop.detach()
            XCTAssertEqual(trace.take(), ["exit"])
            loop.detach()
            loop.perform { trace("block") }
            settleHost()
            XCTAssertEqual(trace.take(), [], "a detached loop is served by nobody")
            loop.attach()
            loop.attach()
            settleHost()
            XCTAssertEqual(trace.take(), ["entry", "block"])
            loop.detach()
            XCTAssertEqual(trace.take(), ["exit"])
            loop.attach()
        }
    }

    /// A wait that is open is ended before the run is.
    func testDetachInAWait() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace)
        iterateHost { trace.lines.last == "beforeWaiting" }
        loop.detach()
        loop.attach()
        XCTAssertEqual(
            trace.lines, ["entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit"])
    }

    /// item 70: a wake-up while the host's run ends is nobody's: no pass of it is left, and the next run does not begin
    /// with it.
    func testWakeUpAtTheEnd() {
        freshHostedRun()
        let exits = Counter()
        once(.exit) { [loop] in
            loop.wakeUp()
            exits.increment()
        }
        // A loop that was only touched enters no run.
        settleHost()
        freshHostedRun()
        XCTAssertEqual(exits.value, 1)
        let trace = Recorder()
        observe(trace, .default, .beforeWaiting)
        source {}
        XCTAssertEqual(loop.run(for: .milliseconds(5)), .timedOut)
        XCTAssertEqual(trace.lines, ["beforeWaiting"])
    }

    /// Inside a callout it is refused with a message, whoever drives; a detached loop cannot be run, and says why.
    func testMisuse() {
        let messages = Shared<[String]>([])
        let attempt: @Sendable () -> Void = {
            messages.update { $0 += capturingLog { GRunLoop.main.detach() }.messages }
        }
        after(.zero) { attempt() }
        iterateHost { !messages.value.isEmpty }
        after(.zero) { attempt() }
        loop.run(for: .milliseconds(5))
        XCTAssertEqual(messages.value.count, 2)
        XCTAssertTrue(
            messages.value.allSatisfy { $0.contains("GRunLoop.detach: ignored: the loop is running") })

        loop.detach()
        let run = capturingLog { loop.run(for: .zero) }
        loop.attach()
        XCTAssertEqual(run.result, .finished)
        XCTAssertTrue(run.messages.first?.contains("call attach() first") ?? false, "\(run.messages)")
        source {}
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
    }

    /// The context of another thread's loop, iterated by a host there: exit comes when the thread ends.
    func testThreadEnds() {
        let trace = Recorder()
        let thread = LoopThread { loop in
            trace.observe(loop, .default, [.entry, .exit])
            loop.keepAlive()
            loop.perform { trace("block") }
            settleHost(loop.homeContext?.pointer)
            trace("end of the thread's body")
        }
        thread.join()
        XCTAssertEqual(trace.lines, ["entry", "block", "end of the thread's body", "exit"])
    }

    /// Both loops that drain a context end, with observers of all activities, whatever the loop had to do (T2).
    func testDrainingLoopsEnd() {
        let trace = Recorder()
        observe(trace)
        for drain in [
            { while g_main_context_pending(nil) != 0 { g_main_context_iteration(nil, 0) } },
            { while g_main_context_iteration(nil, 0) != 0 {} },
        ] {
            for _ in 0..<10 {
                source { trace("source") }.signal()
                loop.perform { trace("block") }
                after(.zero) { trace("timer") }
                let idle = GLibSource.idle(nil, priority: 200) {
                    trace("idle")
                    return false
                }
                // A slice that another process has used up is followed by a yield, in which it ends early.
                for _ in 0..<4 { drain() }
                XCTAssertEqual(Set(["source", "block", "timer", "idle"]).subtracting(trace.take()), [])
                withExtendedLifetime(idle) {}
            }
        }
    }

    /// Iterations that find nothing to do are no sleeps: a pair comes only of one in which the processor was lost for
    /// as long as a sleep takes.
    func testIdleIterations() {
        let pairs = Counter()
        temporary(GRunLoop.Observer(activities: .beforeWaiting) { _, _ in pairs.increment() })
        LongIteration.count = 0
        let watch = LongIteration.attach()
        for _ in 0..<100_000 { g_main_context_iteration(nil, 0) }
        g_source_destroy(watch)
        g_source_unref(watch)
        print(
            "hosted: 100000 iterations without waiting: \(pairs.value) pairs, \(LongIteration.count) iterations as "
                + "long as a sleep"
        )
        // The first one is what is under way when the observer comes.
        XCTAssertLessThanOrEqual(pairs.value, LongIteration.count + 1)
    }
}

/// A source of GLib's that is never ready, and counts the iterations whose poll seems to have slept: it reads the clock
/// that all sources of an iteration see. Main thread only.
private enum LongIteration {
    nonisolated(unsafe) static var count = 0
    nonisolated(unsafe) private static var prepared: gint64 = 0

    nonisolated(unsafe) private static var functions = GSourceFuncs(
        prepare: { source, timeout in
            timeout?.pointee = -1
            LongIteration.prepared = g_source_get_time(source)
            return 0
        },
        check: { source in
            // What the hub takes for a sleep.
            if g_source_get_time(source) - LongIteration.prepared >= 20 { LongIteration.count += 1 }
            return 0
        },
        dispatch: { _, _, _ in 1 }, finalize: nil, closure_callback: nil, closure_marshal: nil)

    static func attach() -> UnsafeMutablePointer<GSource> {
        guard let source = g_source_new(&functions, guint(MemoryLayout<GSource>.size)) else {
            fatalError("no memory is left")
        }
        g_source_set_priority(source, .min)
        g_source_attach(source, nil)
        return source
    }
}
