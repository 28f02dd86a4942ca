// SPDX-License-Identifier: Apache-2.0
// The host's endless run begins with entry and ends with exit, at detach() or at the end of the loop's thread. Draining
// loops must end.

import CGRunGLib
import GRunLoop
import TestSupport
import XCTest

final class HostEndTests: MainThreadTestCase {
    /// Entry comes once, exit comes at detach(), and a newly attached loop starts again with entry.
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

    /// If detach() comes during a wait, afterWaiting comes before exit.
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

    /// item 70: a wake-up during the end of the host's run has no effect: that run makes no further pass, and the next
    /// run ignores the wake-up.
    func testWakeUpAtTheEnd() {
        freshHostedRun()
        let exits = Counter()
        once(.exit) { [loop] in
            loop.wakeUp()
            exits.increment()
        }
        // freshHostedRun() only attaches the loop, which enters no run, so the host iterates once here.
        settleHost()
        freshHostedRun()
        XCTAssertEqual(exits.value, 1)
        let trace = Recorder()
        observe(trace, .default, .beforeWaiting)
        source {}
        XCTAssertEqual(loop.run(for: .milliseconds(5)), .timedOut)
        XCTAssertEqual(trace.lines, ["beforeWaiting"])
    }

    /// Every driver refuses detach() in a callout with a message. A detached loop cannot be run, and logs the reason.
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

    /// A host iterates another thread's loop on that thread. Exit comes when the thread ends.
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

    /// Two loops drain a context. Both end, with observers of all activities, after any work of the loop (T2).
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
                // If another process uses up a slice, the hub yields, and the drain ends early in that yield.
                for _ in 0..<4 { drain() }
                XCTAssertEqual(Set(["source", "block", "timer", "idle"]).subtracting(trace.take()), [])
                withExtendedLifetime(idle) {}
            }
        }
    }

    /// Idle iterations are not sleeps. A pair only comes for an iteration in which the thread lost the processor for as
    /// long as a sleep takes.
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
        // The observer is added during a pair, which counts as well.
        XCTAssertLessThanOrEqual(pairs.value, LongIteration.count + 1)
    }
}

/// A GLib source that is never ready. It counts the iterations whose poll seems to have slept, by the clock that all
/// sources of an iteration read. Main thread only.
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
            // The hub takes this time for a sleep.
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
