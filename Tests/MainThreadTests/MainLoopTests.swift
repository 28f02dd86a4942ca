// SPDX-License-Identifier: Apache-2.0
// When the main loop is finished: items 20, 21 and 39.

import Dispatch
import GRunLoop
import TestSupport
import XCTest

final class MainLoopTests: MainThreadTestCase {
    /// item 20: the main queue keeps a common mode of the main loop from being finished, except inside its own drain
    func testMainQueueKeepsCommonModesAlive() throws {
        let trace = Recorder()
        observe(trace)
        let time = elapsed { XCTAssertEqual(loop.run(for: .milliseconds(30)), .timedOut) }
        XCTAssertGreaterThanOrEqual(time, .milliseconds(30))
        XCTAssertEqual(
            trace.take(), ["entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "exit"])
        // The main queue does not keep a private mode alive.
        let source = source("private") {}
        source.invalidate()
        XCTAssertEqual(loop.run(mode: "private"), .finished)
        DispatchQueue.main.async { trace("inside: \(GRunLoop.main.run(mode: .default))") }
        XCTAssertEqual(loop.run(for: .seconds(60), returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(trace.lines.filter { $0.hasPrefix("inside") }, ["inside: finished"])
    }

    /// item 20: the main queue keeps a new common mode alive too
    func testFurtherCommonMode() throws {
        let source = source("further") {}
        source.invalidate()
        XCTAssertEqual(loop.run(mode: "further", for: .milliseconds(20)), .finished)
        try loop.addCommonMode("further")
        XCTAssertEqual(loop.run(mode: "further", for: .milliseconds(20)), .timedOut)
    }

    /// item 21: a common mode that no item, block or context has named does not exist, and is finished; an existing one
    /// waits
    func testCommonModeThatDoesNotExist() throws {
        try loop.addCommonMode("named by a block")
        XCTAssertFalse(loop.allModes.contains("named by a block"))
        XCTAssertEqual(loop.run(mode: "named by a block", for: .seconds(60)), .finished)
        loop.perform(inModes: ["named by a block"]) {}
        XCTAssertEqual(loop.run(mode: "named by a block", for: .milliseconds(20)), .timedOut)
        XCTAssertEqual(loop.run(mode: "named by a block", for: .milliseconds(20)), .timedOut)

        try loop.addCommonMode("named by an item")
        XCTAssertEqual(loop.run(mode: "named by an item", for: .seconds(60)), .finished)
        once(.exit, "named by an item") {}
        XCTAssertEqual(loop.run(mode: "named by an item", for: .milliseconds(20)), .timedOut)
    }

    /// item 39: on the main thread only a stop ends run(), although the default mode is empty
    func testRunUntilStopped() {
        let trace = Recorder()
        observe(trace, .default, [.entry, .exit])
        whenAsleep {
            trace("asleep")
            GRunLoop.main.stop()
        }
        loop.run()
        XCTAssertEqual(trace.take(), ["entry", "asleep", "exit"])
    }

    /// item 39: inside a main-queue block, run() returns immediately
    func testRunUntilStoppedInsideTheMainQueue() {
        let trace = Recorder()
        DispatchQueue.main.async {
            GRunLoop.main.run()
            trace("returned")
        }
        XCTAssertEqual(loop.run(for: .seconds(60), returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(trace.lines, ["returned"])
    }

    /// items 26, 187: a drain of the main queue ends a run that returns after a source, at the end of its pass
    func testMainQueueCountsAsSource() {
        let trace = Recorder()
        observe(trace)
        DispatchQueue.main.async {
            trace("main queue")
            GRunLoop.main.perform { trace("block") }
        }
        XCTAssertEqual(loop.run(for: .seconds(60), returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(
            trace.take(),
            [
                "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "main queue", "block",
                "exit",
            ])
        DispatchQueue.main.async { trace("main queue") }
        XCTAssertTrue(loop.run(mode: .default, before: GRunLoop.distantFuture))
        XCTAssertEqual(trace.lines.filter { $0 == "main queue" }.count, 1)
    }
}
