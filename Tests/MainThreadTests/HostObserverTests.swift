// SPDX-License-Identifier: Apache-2.0
// Observers while a host drives: beforeWaiting and afterWaiting bracket its sleeps, heads of passes come before them.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostObserverTests: MainThreadTestCase {
    /// The endless run's order is that of a run of ours: the wait between a head and a tail is the host's.
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

    /// What the host dispatches after beforeWaiting ends its sleep, also where it was ready at once: afterWaiting comes
    /// then, and not with our own next work.
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

    /// A foreign loop in a callout of a head was left while it slept: that sleep is over before the pass goes on, and
    /// what the pass then finds is served in it.
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

    /// The same in an observer of beforeWaiting: both sleeps are over before anything is served.
    func testForeignLoopIsLeftInItsSleepBeforeAnother() {
        let trace = Recorder()
        freshHostedRun()
        // The pass itself says that it is about to sleep if a wake-up is ready.
        once(.beforeSources) { GRunLoop.main.wakeUp() }
        observe(trace, .default, [.beforeWaiting, .afterWaiting])
        leaveForeignLoopInItsSleep(trace)
        iterateHost { trace.lines.contains("timer") }
        XCTAssertEqual(
            Array(trace.lines.prefix { $0 != "timer" }),
            ["beforeWaiting", "beforeWaiting", "afterWaiting", "beforeWaiting", "left", "afterWaiting", "afterWaiting"])
    }

    /// The same in a run of ours.
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

    /// A foreign loop in a callout has made passes of its own. The pass around it goes on, and serves what it finds.
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

    /// A foreign loop in a callout is left while it sleeps: its sleep is over before the next one.
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

    /// A sleep that somebody else's event has ended is over before that is served.
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
