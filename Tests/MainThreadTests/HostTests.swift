// SPDX-License-Identifier: Apache-2.0
// A host iterates the default context: the hub serves the main loop's items inside its iterations, also in a loop
// nested in a callout.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// Whether the host falls asleep in its poll, in the iteration with the hub.
private func hostSleeps(_ thread: pid_t) -> Bool { fallsAsleep(GRunLoop.main, thread: thread) }

final class HostTests: MainThreadTestCase {
    /// A host without knowledge of the library serves a source, a descriptor, a timer, a block and the main queue.
    func testServesEverything() throws {
        let trace = Recorder()
        let pipe = Pipe()
        let signalled = source { trace("source \(GRunLoop.main.currentMode?.rawValue ?? "none")") }
        try temporary(
            GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor")
            })
        after(.milliseconds(2)) { trace("timer") }
        loop.perform { trace("block") }
        DispatchQueue.main.async { trace("main queue") }
        signalled.signal()
        pipe.send()
        iterateHost { trace.lines.count == 5 }
        XCTAssertEqual(
            Set(trace.lines), ["source kCFRunLoopDefaultMode", "descriptor", "timer", "block", "main queue"])
        XCTAssertNil(loop.currentMode)
    }

    /// Another thread's block, its earlier timer, and its descriptor wake a sleeping host, also the second time.
    func testAnotherThreadWakesTheHost() {
        let done = Counter()
        let events = [EventDescriptor(), EventDescriptor()]
        let worker = startThread { [loop, main = threadID] in
            for event in events {
                precondition(hostSleeps(main))
                let source = GRunLoop.DescriptorSource(descriptor: event.descriptor) { source, _ in
                    event.consume()
                    source.invalidate()
                    done.increment()
                }
                precondition((try? loop.add(source, forMode: .default)) != nil)
                event.makeReady()
                precondition(waitUntil { !source.isValid })
            }
            precondition(hostSleeps(main))
            loop.add(
                GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in done.increment() }, forMode: .default)
            precondition(done.wait(for: 3))
            precondition(hostSleeps(main))
            loop.async { done.increment() }
        }
        iterateHost { done.value == 4 }
        join(worker)
    }

    /// A sleeping host reports a condition that another thread adds to a descriptor source, if it holds. It does not
    /// report a removed condition.
    func testAnotherThreadChangesWhatADescriptorWaitsFor() throws {
        let pair = SocketPair()
        let trace = Recorder()
        let source = GRunLoop.DescriptorSource(descriptor: pair.one, conditions: .priority) { source, ready in
            trace(ready.description)
            source.conditions = []
        }
        try loop.add(source, forMode: .default)
        let worker = startThread { [main = threadID] in
            for _ in 0..<3 {
                precondition(hostSleeps(main))
                source.conditions = .writable
                precondition(waitUntil { source.conditions.isEmpty })
            }
            precondition(hostSleeps(main))
            trace("end")
            source.invalidate()
            GRunLoop.main.wakeUp()
        }
        iterateHost { trace.lines.last == "end" }
        join(worker)
        XCTAssertEqual(trace.lines, ["writable", "writable", "writable", "end"])
    }

    /// Another thread wakes a foreign loop that runs in a callout, although the outer run ignores wake-ups.
    func testForeignLoopInsideACallout() {
        let isDone = Flag()
        after(.zero) { [main = threadID] in
            let worker = startThread {
                precondition(hostSleeps(main))
                GRunLoop.main.async { isDone.set() }
            }
            while !isDone.isSet { g_main_context_iteration(nil, 1) }
            join(worker)
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(), .stopped)
        XCTAssertTrue(isDone.isSet)
    }

    /// item 41: a foreign loop in a callout of a tail begins with the head of a pass, so a source comes before a timer.
    func testForeignLoopInATailBeginsWithAHead() {
        let trace = Recorder()
        freshHostedRun()
        let source = source { trace("source") }
        // The tail of this pass waits for the end of the host's sleep.
        loop.perform {}
        settleHost()
        after(.milliseconds(2)) {
            trace("timer")
            source.signal()
            GRunLoop.main.after(.zero) { trace("another timer") }
            iterateHost { trace.lines.count == 3 }
        }
        iterateHost { trace.lines.count == 3 }
        XCTAssertEqual(trace.lines, ["timer", "source", "another timer"])
    }

    /// item 58: if a foreign loop serves a callout that stops the loop, the stop ends the run around the foreign loop.
    func testStopInsideAForeignLoop() {
        let isDone = Flag()
        after(.zero) {
            GRunLoop.main.perform {
                GRunLoop.main.stop()
                isDone.set()
            }
            while !isDone.isSet { g_main_context_iteration(nil, 1) }
        }
        XCTAssertEqual(loop.run(mode: .default, for: .seconds(60)), .stopped)
    }

    /// After g_main_context_pending(), the hub's state does not make a run of another mode serve the default mode.
    func testPendingInAnotherMode() throws {
        try loop.addCommonMode("another")
        let trace = Recorder()
        let other = source { trace("default only") }
        source("another") {}
        after(.zero, "another") {
            other.signal()
            trace("pending: \(g_main_context_pending(nil) != 0)")
        }
        XCTAssertEqual(
            loop.run(mode: "another", for: .milliseconds(20), returningAfterSourceHandled: true), .timedOut)
        XCTAssertEqual(trace.take(), ["pending: true"])
        XCTAssertEqual(loop.run(for: .zero, returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(trace.take(), ["default only"])
    }

    /// The state that g_main_context_pending() leaves in the sentinels does not count as an item served by the run.
    func testPendingWhileObserved() throws {
        try loop.addCommonMode("another")
        temporary(GRunLoop.Observer(activities: .beforeWaiting) { _, _ in })
        settleHost()
        source("another") {}
        let wasPending = Flag()
        after(.zero, "another") {
            if g_main_context_pending(nil) != 0 { wasPending.set() }
        }
        XCTAssertEqual(
            loop.run(mode: "another", for: .milliseconds(20), returningAfterSourceHandled: true), .timedOut)
        XCTAssert(wasPending.isSet)
    }
}
