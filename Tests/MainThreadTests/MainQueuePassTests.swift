// SPDX-License-Identifier: Apache-2.0
// The main queue in the order of a pass: items 43, 47, 50, 52, 53, 70, 81.

import Dispatch
import GRunLoop
import TestSupport
import XCTest

private let pass = ["beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting"]

final class MainQueuePassTests: MainThreadTestCase {
    /// item 52: after a pass that serviced something else, a ready main queue is serviced before the wait, without
    /// steps 7, 8 and 9
    func testServicedBeforeTheWait() {
        let trace = Recorder()
        observe(trace)
        after(.zero) {
            trace("timer")
            DispatchQueue.main.async { trace("main queue") }
        }
        after(.zero, "never") {}
        XCTAssertEqual(loop.run(for: .seconds(60), returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(
            trace.lines, ["entry"] + pass + ["timer", "beforeTimers", "beforeSources", "main queue", "exit"])
    }

    /// item 52: the main queue goes first even without an observer of the wait
    func testGoesFirstUnobserved() {
        let trace = Recorder()
        observe(trace, .default, .beforeTimers)
        after(.zero) {
            trace("timer")
            GRunLoop.main.after(.zero) { trace("second timer") }
            DispatchQueue.main.async { trace("main queue") }
            GRunLoop.main.after(.milliseconds(20)) { GRunLoop.main.stop() }
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(
            trace.lines.prefix(6),
            ["beforeTimers", "timer", "beforeTimers", "main queue", "beforeTimers", "second timer"])
    }

    /// item 53: in the first pass, and after a pass that serviced it, the main queue takes its turn with the others
    func testNotBeforeTheWaitInFirstPass() {
        let trace = Recorder()
        observe(trace)
        DispatchQueue.main.async {
            trace("main queue")
            DispatchQueue.main.async {
                trace("main queue again")
                GRunLoop.main.stop()
            }
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(trace.lines, ["entry"] + pass + ["main queue"] + pass + ["main queue again", "exit"])
    }

    /// item 53: a timer that is due has a turn between two drains
    func testTimerBetweenDrains() {
        let trace = Recorder()
        DispatchQueue.main.async {
            trace("main queue")
            GRunLoop.main.after(.zero) { trace("timer") }
            DispatchQueue.main.async {
                trace("main queue again")
                DispatchQueue.main.async {
                    trace("main queue at last")
                    GRunLoop.main.stop()
                }
            }
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        let timer = trace.lines.firstIndex(of: "timer") ?? 99
        let last = trace.lines.firstIndex(of: "main queue at last") ?? 0
        XCTAssertLessThan(timer, last, "\(trace.lines)")
    }

    /// item 50: a pass services one item, with the main queue as well
    func testOneItemAPass() throws {
        let trace = Recorder()
        let passes = Counter()
        let pipe = Pipe()
        try temporary(
            GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                trace("descriptor")
                pipe.drain()
            })
        pipe.send()
        after(.zero) { trace("timer") }
        DispatchQueue.main.async { trace("main queue") }
        once(.entry) { GRunLoop.main.wakeUp() }
        temporary(
            GRunLoop.Observer(activities: .beforeTimers) { _, _ in
                trace("pass")
                passes.increment()
            })
        temporary(
            GRunLoop.Observer(activities: .beforeWaiting) { _, _ in if passes.value == 5 { GRunLoop.main.stop() } })
        XCTAssertEqual(loop.run(mode: .default), .stopped)
        let serviced = trace.lines.split(separator: "pass", omittingEmptySubsequences: false).dropFirst().map(
            Array.init)
        XCTAssertEqual(serviced.count, 5)
        XCTAssertTrue(serviced.allSatisfy { $0.count <= 1 }, "\(serviced)")
        XCTAssertEqual(serviced.prefix(4).flatMap { $0 }.sorted(), ["descriptor", "main queue", "timer"])
    }

    /// item 43: after a version-0 source was performed the main queue may be serviced in the same pass
    func testServicedAfterSource() {
        let trace = Recorder()
        observe(trace)
        source { trace("source") }.signal()
        DispatchQueue.main.async {
            trace("main queue")
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(trace.lines, ["entry", "beforeTimers", "beforeSources", "source", "main queue", "exit"])
    }

    /// item 47: a block that a main-queue block enqueues runs in the same pass
    func testBlockOfMainQueueBlock() {
        let trace = Recorder()
        observe(trace, .default, .beforeTimers)
        DispatchQueue.main.async {
            trace("main queue")
            GRunLoop.main.perform { trace("block") }
        }
        XCTAssertEqual(loop.runUntilAsleep(), .stopped)
        XCTAssertEqual(trace.lines, ["beforeTimers", "main queue", "block", "beforeTimers"])
    }

    /// item 70: a wake-up in a main-queue block is ignored
    func testWakeUpInMainQueueBlock() {
        let trace = Recorder()
        observe(trace)
        DispatchQueue.main.async { GRunLoop.main.wakeUp() }
        XCTAssertEqual(loop.runUntilAsleep(), .stopped)
        XCTAssertEqual(trace.lines, ["entry"] + pass + pass + ["exit"])
    }

    /// item 81: the loop is not waiting in a main-queue block
    func testIsNotWaitingInMainQueueBlock() {
        let trace = Recorder()
        DispatchQueue.main.async {
            let elsewhere = Shared(true)
            onPlainThread { elsewhere.value = GRunLoop.main.isWaiting }
            trace("\(GRunLoop.main.isWaiting) \(elsewhere.value)")
        }
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["false false"])
    }

    /// item 196: no lock is held in a main-queue block
    func testNoLockInMainQueueBlock() {
        let trace = Recorder()
        DispatchQueue.main.async {
            let main = GRunLoop.main
            let body: @Sendable () -> Void = {
                let source = main.keepAlive("probe")
                main.perform(inModes: ["probe"]) {}
                main.wakeUp()
                _ = main.description
                _ = main.isWaiting
                source.invalidate()
            }
            body()
            onPlainThread(body)
            trace("done")
        }
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["done"])
    }

    /// item 202: a frame with a fixed name drains the main queue
    func testFrame() {
        let found = Shared<[String]>([])
        DispatchQueue.main.async { found.value = functionsOnTheStack() }
        loop.run(for: .zero)
        XCTAssertTrue(found.value.contains { $0.hasPrefix("serviceMainDispatchQueue(") }, "\(found.value)")
    }
}
