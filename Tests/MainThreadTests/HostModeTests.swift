// SPDX-License-Identifier: Apache-2.0
// The host's endless run: its mode, and the meaning of current mode, stop and wake-up.

import CGRunGLib
import TestSupport
import XCTest

@testable import GRunLoop

final class HostModeTests: MainThreadTestCase {
    /// In callouts and in host callbacks the current mode is the ambient mode. Outside it is nil.
    func testCurrentMode() throws {
        let trace = Recorder()
        let note: @Sendable (String) -> Void = { trace("\($0): \(GRunLoop.main.currentMode?.rawValue ?? "none")") }
        XCTAssertNil(loop.currentMode)
        inHostCallback { note("callback") }
        let tracking = try loop.push(ambientMode: .tracking)
        XCTAssertEqual(loop.ambientMode, .tracking)
        inHostCallback { note("callback") }
        after(.zero, .tracking) {
            note("callout")
            inHostCallback { note("callback in a callout") }
            GRunLoop.main.after(.zero, "host.private") {
                note("callout of a run")
                inHostCallback { note("callback in a run") }
            }
            GRunLoop.main.run(mode: "host.private", for: .milliseconds(1))
            note("callout again")
        }
        iterateHost { trace.lines.count == 7 }
        tracking.pop()
        XCTAssertEqual(
            trace.lines,
            [
                "callback: kCFRunLoopDefaultMode", "callback: GRunLoopTrackingMode", "callout: GRunLoopTrackingMode",
                "callback in a callout: GRunLoopTrackingMode", "callout of a run: host.private",
                "callback in a run: GRunLoopTrackingMode", "callout again: GRunLoopTrackingMode",
            ])
        XCTAssertNil(loop.currentMode)
        XCTAssertEqual(loop.ambientMode, .default)
    }

    /// In a host callback that a run dispatches, the current mode is the run's mode.
    func testCurrentModeInARun() throws {
        let modes = Recorder()
        let source = GLibSource.idle(nil) {
            modes(GRunLoop.main.currentMode?.rawValue ?? "none")
            return false
        }
        try loop.addCommonMode("another")
        self.source("another") {}
        XCTAssertEqual(loop.run(mode: "another", for: .seconds(10), returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(modes.lines, ["another"])
        withExtendedLifetime(source) {}
    }

    /// Modes may be popped in any order. The latest pushed mode that is left counts.
    func testPopInAnyOrder() throws {
        let first = try loop.push(ambientMode: "first")
        let second = try loop.push(ambientMode: "second")
        let third = try loop.push(ambientMode: .tracking)
        XCTAssertEqual(loop.ambientMode, .tracking)
        second.pop()
        XCTAssertEqual(loop.ambientMode, .tracking)
        third.pop()
        XCTAssertEqual(loop.ambientMode, "first")
        first.pop()
        XCTAssertEqual(loop.ambientMode, .default)
        let inside = try loop.withAmbientMode("scoped") { loop.ambientMode }
        XCTAssertEqual(inside, "scoped")
        XCTAssertEqual(loop.ambientMode, .default)
    }

    /// After the greatest number the numbers of pushed modes begin again. They skip 0 and those of modes that are still
    /// pushed.
    func testNumbersBeginAgain() throws {
        GRunLoop.PushedMode.lastID.store(.max - 1, ordering: .relaxed)
        let tokens = try (0..<3).map { try loop.push(ambientMode: GRunLoop.Mode("\($0)")) }
        XCTAssertEqual(tokens.map(\.id), [.max, 1, 2])
        GRunLoop.PushedMode.lastID.store(0, ordering: .relaxed)
        let fourth = try loop.push(ambientMode: .tracking)
        XCTAssertEqual(fourth.id, 3)
        XCTAssertTrue(loop.popAmbientMode(numbered: 1))
        XCTAssertFalse(loop.popAmbientMode(numbered: 1))
        for id in [.max, 2, 3] as [UInt32] { XCTAssertTrue(loop.popAmbientMode(numbered: id)) }
        XCTAssertEqual(loop.ambientMode, .default)
    }

    /// A second pop, and a push of the common modes, log a message and change nothing.
    func testMisuse() throws {
        let twice = try capturingLog {
            let token = try loop.push(ambientMode: "once")
            token.pop()
            token.pop()
        }
        XCTAssertEqual(
            twice.messages,
            ["critical: GRunLoop.PushedMode.pop: mode once was already popped; pop each pushed mode once"])
        let common = try capturingLog { try loop.push(ambientMode: .common).pop() }
        XCTAssertEqual(common.messages.count, 2, "\(common.messages)")
        XCTAssertTrue(common.messages[0].contains(".common stands for all common modes and cannot be current"))
        XCTAssertEqual(loop.ambientMode, .default)
    }

    /// A mode that a callout pushes takes effect in the next pass. The rest of this pass keeps the former mode.
    func testTakesEffectAtTheNextPass() throws {
        let trace = Recorder()
        let token = Shared<GRunLoop.PushedMode?>(nil)
        let date = GRunLoop.now.advanced(by: .milliseconds(1))
        for name in ["one", "two"] {
            temporary(
                GRunLoop.Timer(fireAt: date) { _ in
                    trace(name)
                    guard name == "one" else { return }
                    token.value = try? GRunLoop.main.push(ambientMode: .tracking)
                    GRunLoop.main.after(.zero) { trace("default") }
                })
        }
        after(.milliseconds(3), .tracking) { trace("tracking") }
        iterateHost { trace.lines.contains("tracking") }
        XCTAssertEqual(trace.lines, ["one", "two", "tracking"])
        token.value?.pop()
        iterateHost { trace.lines.contains("default") }
    }

    /// A block that waits for a mode runs when the mode becomes the ambient one, without a wake-up.
    func testPushedModeRunsWhatWaits() throws {
        let isDone = Flag()
        loop.perform(inModes: ["host.waits"]) { isDone.set() }
        settleHost()
        XCTAssertFalse(isDone.isSet)
        try loop.withAmbientMode("host.waits") { iterateHost { isDone.isSet } }
    }

    /// A run keeps its mode, even if a mode is pushed in it.
    func testRunKeepsItsMode() throws {
        let trace = Recorder()
        let token = Shared<GRunLoop.PushedMode?>(nil)
        after(.zero, "host.private") { [loop] in token.value = try? loop.push(ambientMode: .tracking) }
        after(.milliseconds(1), .tracking) { trace("tracking") }
        after(.milliseconds(5), "host.private") { trace("private") }
        XCTAssertEqual(loop.run(mode: "host.private", for: .seconds(10)), .finished)
        XCTAssertEqual(trace.lines, ["private"])
        iterateHost { trace.lines.count == 2 }
        token.value?.pop()
    }

    /// Without a run, a stop has no effect, and causes no pass.
    func testStop() {
        let trace = Recorder()
        after(.zero) { [loop] in
            loop.stop()
            trace("stopped nothing")
        }
        iterateHost { trace.lines.count == 1 }
        settleHost()
        loop.stop()
        XCTAssertEqual(g_main_context_pending(nil), 0, "a stop that stops nothing has asked for a pass")
        after(.milliseconds(1)) { trace("timer") }
        XCTAssertEqual(loop.run(for: .milliseconds(20)), .timedOut)
        XCTAssertTrue(trace.lines.contains("timer"))
    }

    /// item 67: a wake-up gives a sleeping host one pass, which calls nothing. isWaiting is true for other threads
    /// while the host sleeps, but not for the loop's own thread.
    func testWakeUp() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace, .default, [.afterWaiting, .beforeTimers, .beforeSources, .beforeWaiting])
        iterateHost { trace.lines.last == "beforeWaiting" }
        _ = trace.take()
        whenAsleep { GRunLoop.main.wakeUp() }
        XCTAssertFalse(loop.isWaiting)
        iterateHost { trace.lines.last == "beforeWaiting" }
        XCTAssertEqual(trace.lines, ["afterWaiting", "beforeTimers", "beforeSources", "beforeWaiting"])
    }

    /// item 68: a run ignores a wake-up that came while nothing drove the loop, and a host does not need to handle it.
    func testWakeUpWhileNobodyDrives() {
        source {}
        loop.wakeUp()
        let trace = Recorder()
        observe(trace)
        XCTAssertEqual(loop.run(for: .milliseconds(5)), .timedOut)
        XCTAssertEqual(trace.lines.filter { $0 == "beforeWaiting" }.count, 1)
    }
}
