// SPDX-License-Identifier: Apache-2.0
// GLib's default context is the main loop's home context, and is served in the common modes.

import CGRunGLib
import Dispatch
import GRunLoop
import TestSupport
import XCTest

final class MainContextTests: MainThreadTestCase {
    /// The home context of the main loop is the default context, from the first use.
    func testHomeContext() {
        XCTAssertEqual(loop.homeContext?.pointer, g_main_context_default())
        XCTAssertEqual(loop.contexts(forMode: .default).map(\.pointer), [g_main_context_default()])
    }

    /// A GLib timeout is served while a common mode runs, and waits while a private mode runs.
    func testTimeout() {
        let trace = Recorder()
        source("private") {}
        let timeout = GLibSource.timeout(nil, milliseconds: 2) {
            trace(GRunLoop.main.currentMode?.rawValue ?? "none")
            return true
        }
        XCTAssertEqual(loop.run(mode: "private", for: .milliseconds(20)), .timedOut)
        XCTAssertEqual(trace.lines, [])
        XCTAssertEqual(loop.run(for: .milliseconds(30)), .timedOut)
        XCTAssertEqual(Set(trace.take()), ["kCFRunLoopDefaultMode"])
        // This also holds for a nested run.
        after(.zero) { GRunLoop.main.run(mode: "private", for: .milliseconds(20)) }
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
        XCTAssertFalse(trace.lines.contains("private"))
        timeout.destroy()
    }

    /// items 26, 237: GIO completes in the default mode, ends a run that waits for it, and waits while a private mode
    /// runs
    func testGio() {
        let isDone = Flag()
        source("private") {}
        startTask { isDone.set() }
        XCTAssertEqual(loop.run(mode: "private", for: .milliseconds(30)), .timedOut)
        XCTAssertFalse(isDone.isSet)
        while !isDone.isSet { XCTAssertTrue(loop.run(mode: .default, before: GRunLoop.distantFuture)) }
    }

    /// If a private run on the main thread starts a GIO call, the call completes only when that mode runs again.
    func testGioInPrivateMode() {
        let trace = Recorder()
        source("private") {}
        loop.perform(inModes: ["private"]) { startTask { trace(GRunLoop.main.currentMode?.rawValue ?? "none") } }
        XCTAssertEqual(loop.run(mode: "private", for: .zero), .timedOut)
        let early = trace.take()
        XCTAssertEqual(loop.run(mode: .default, for: .milliseconds(30)), .timedOut)
        XCTAssertEqual(trace.lines, [])
        let end = GRunLoop.now.advanced(by: .seconds(20))
        while (early + trace.lines).isEmpty, GRunLoop.now < end { loop.run(mode: "private", for: .milliseconds(20)) }
        XCTAssertEqual(early + trace.lines, ["private"])
    }

    /// A run of the default mode inside a private run restores the thread's default context. GLib represents its own
    /// default context as NULL.
    func testDefaultRunInsidePrivateRun() {
        let trace = Recorder()
        let contexts = Shared<[OpaquePointer?]>([])
        source("private") {}
        let (_, messages) = capturingLog {
            loop.perform(inModes: ["private"]) {
                contexts.update { $0.append(threadDefaultContext()) }
                GRunLoop.main.perform { contexts.update { $0.append(threadDefaultContext()) } }
                GRunLoop.main.run(for: .zero)
                contexts.update { $0.append(threadDefaultContext()) }
                startTask { trace(GRunLoop.main.currentMode?.rawValue ?? "none") }
            }
            loop.run(mode: "private", for: .zero)
            let end = GRunLoop.now.advanced(by: .seconds(20))
            while trace.lines.isEmpty, GRunLoop.now < end {
                loop.run(for: .milliseconds(5))
                loop.run(mode: "private", for: .milliseconds(5))
            }
        }
        XCTAssertEqual(messages, [])
        XCTAssertEqual(trace.lines, ["private"])
        XCTAssertNil(threadDefaultContext())
        let found = contexts.value
        XCTAssertEqual(found.count, 3)
        XCTAssertNotNil(found[0])
        XCTAssertNil(found[1])
        XCTAssertEqual(found[2], found[0])
        // The context has no owner any more.
        let address = UInt(bitPattern: found[0])
        let isFree = Flag()
        onPlainThread {
            let context = OpaquePointer(bitPattern: address)
            if g_main_context_acquire(context) != 0 {
                isFree.set()
                g_main_context_release(context)
            }
        }
        XCTAssertTrue(isFree.isSet, "the private mode's context is still owned")
    }

    /// The main queue, GLib sources and the loop's own items are served in one run.
    func testAllTogether() {
        let trace = Recorder()
        let idle = GLibSource.idle(nil) {
            trace("idle")
            return false
        }
        DispatchQueue.main.async { trace("main queue") }
        Task { @MainActor in trace("main actor") }
        after(.zero) { trace("timer") }
        source { trace("source") }.signal()
        let end = GRunLoop.now.advanced(by: .seconds(20))
        while trace.lines.count < 5, GRunLoop.now < end { loop.run(for: .milliseconds(5)) }
        XCTAssertEqual(trace.lines.sorted(), ["idle", "main actor", "main queue", "source", "timer"])
        idle.destroy()
    }

    /// A callout on the main loop is on the main actor.
    func testCalloutsAreOnTheMainActor() {
        let trace = Recorder()
        let note: @Sendable (String) -> Void = { name in MainActor.assumeIsolated { trace(name) } }
        after(.zero) { note("timer") }
        source { note("source") }.signal()
        loop.perform { note("block") }
        once(.entry) { note("observer") }
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["observer", "block", "source", "timer"])
    }

    /// If the program iterates the default context itself, the loop is not disturbed, and the loop releases the context
    /// after its run.
    func testLeavesTheContextFree() {
        loop.run(for: .zero)
        XCTAssertNotEqual(g_main_context_acquire(nil), 0)
        g_main_context_release(nil)
        let trace = Recorder()
        let idle = GLibSource.idle(nil) {
            trace("idle")
            return false
        }
        while g_main_context_iteration(nil, 0) != 0 {}
        XCTAssertEqual(trace.lines, ["idle"])
        idle.destroy()
    }
}
