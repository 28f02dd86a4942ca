// SPDX-License-Identifier: Apache-2.0
// Observers under a host: beforeWaiting and afterWaiting enclose its sleeps, and heads of passes come before them.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostObserverTests: MainThreadTestCase {
    /// The endless run has the same order as a run. The wait between a head and a tail is the host's.
    func testOrder() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace)
        source { trace("source") }.signal()
        loop.perform { trace("block") }
        after(.milliseconds(5)) {
            trace("timer")
            GRunLoop.main.perform { trace("tail block") }
        }
        iterateHost { trace.lines.contains("tail block") && trace.lines.last == "beforeWaiting" }
        XCTAssertEqual(
            trace.lines,
            [
                "entry", "beforeTimers", "beforeSources", "block", "source",
                "beforeTimers", "beforeSources", "beforeWaiting",
                "afterWaiting", "timer", "tail block", "beforeTimers", "beforeSources", "beforeWaiting",
            ])
    }

    /// A source that the host dispatches after beforeWaiting ends the sleep, even if it was ready immediately.
    /// afterWaiting comes right after it, and not with the loop's next work.
    func testForeignWorkEndsTheSleep() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        let foreign = Shared<GLibSource?>(nil)
        once(.beforeWaiting) {
            foreign.value = .idle(nil) {
                trace("foreign")
                return false
            }
        }
        for _ in 0..<100 where trace.lines.count < 4 { g_main_context_iteration(nil, 0) }
        XCTAssertEqual(trace.lines, ["beforeWaiting", "foreign", "afterWaiting", "beforeWaiting"])
    }

    /// A callout of a head runs a foreign loop and leaves it during its sleep. That sleep ends before the pass goes on,
    /// and the pass serves the items that it then finds.
    func testForeignLoopIsLeftInItsSleep() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace)
        loop.perform {
            trace("block")
            iterateHost { trace.lines.last == "beforeWaiting" }
            trace("left")
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in trace("timer") }
            GRunLoop.main.add(timer, forMode: .default)
        }
        iterateHost { trace.lines.contains("timer") }
        XCTAssertEqual(
            Array(trace.lines.prefix { $0 != "timer" }) + ["timer"],
            [
                "entry", "beforeTimers", "beforeSources", "block",
                "beforeTimers", "beforeSources", "beforeWaiting",
                "left", "afterWaiting",
                "beforeWaiting", "afterWaiting", "timer",
            ])
    }

    /// A beforeWaiting observer leaves the foreign loop: both sleeps end before an item is served.
    func testForeignLoopIsLeftInItsSleepBeforeAnother() {
        let trace = Recorder()
        freshHostedRun()
        // If a wake-up is pending, the pass itself announces the wait.
        once(.beforeSources) { GRunLoop.main.wakeUp() }
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        leaveForeignLoopInItsSleep(trace)
        iterateHost { trace.lines.contains("timer") }
        XCTAssertEqual(
            Array(trace.lines.prefix { $0 != "timer" }),
            ["beforeWaiting", "beforeWaiting", "afterWaiting", "beforeWaiting", "left", "afterWaiting", "afterWaiting"])
    }

    /// As above, in a run of the loop.
    func testForeignLoopIsLeftInItsSleepInARun() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        leaveForeignLoopInItsSleep(trace)
        source {}
        loop.run(mode: .default, for: .milliseconds(5))
        XCTAssertEqual(
            Array(trace.lines.prefix { $0 != "timer" }),
            ["beforeWaiting", "beforeWaiting", "left", "afterWaiting", "afterWaiting"])
        XCTAssertTrue(trace.lines.contains("timer"))
    }

    private func leaveForeignLoopInItsSleep(_ trace: Recorder) {
        once(.beforeWaiting) {
            let waits = trace.count(of: "beforeWaiting")
            GRunLoop.main.perform {}
            iterateHost { trace.lines.last == "beforeWaiting" && trace.count(of: "beforeWaiting") > waits }
            trace("left")
            let timer = GRunLoop.Timer(fireAt: GRunLoop.now) { _ in trace("timer") }
            GRunLoop.main.add(timer, forMode: .default)
        }
    }

    /// A foreign loop in a callout makes its own passes. The outer pass goes on, and serves the items that it finds.
    func testPassGoesOnAfterForeignLoop() {
        let trace = Recorder()
        freshHostedRun()
        source {
            GRunLoop.main.perform { trace("nested") }
            settleHost()
            GRunLoop.Timer.scheduled(interval: .zero, repeats: false) { _ in trace("timer") }
        }.signal()
        observe(trace, .default, [.beforeTimers])
        loop.wakeUp()
        g_main_context_iteration(nil, 0)
        XCTAssertTrue(trace.lines.contains("nested"))
        XCTAssertTrue(trace.lines.contains("timer"), "\(trace.lines)")
        XCTAssertEqual(trace.lines.last, "beforeTimers")
    }

    /// A callout leaves a foreign loop during its sleep. That sleep ends before the next one begins.
    func testSleepOfForeignLoopEnds() {
        let trace = Recorder()
        freshHostedRun()
        once(.beforeSources) {
            GRunLoop.main.perform {}
            settleHost()
            trace("left")
        }
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        loop.wakeUp()
        settleHost()
        XCTAssertEqual(
            trace.lines,
            ["beforeWaiting", "afterWaiting", "beforeWaiting", "left", "afterWaiting", "beforeWaiting"])
    }

    /// If a foreign event ends a sleep, afterWaiting comes before that event is served.
    func testSleepEndsBeforeForeignWork() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        let foreign = GLibSource.timeout(nil, milliseconds: 20, priority: 200) {
            trace("foreign")
            return false
        }
        iterateHost { trace.lines.contains("foreign") }
        foreign.destroy()
        XCTAssertEqual(trace.lines, ["beforeWaiting", "afterWaiting", "foreign"])
    }
}
