// SPDX-License-Identifier: Apache-2.0
// The main dispatch queue as an item of the main loop: part 1.13, items 184 to 191.

import Dispatch
import GRunLoop
import TestSupport
import XCTest

final class MainQueueTests: MainThreadTestCase {
    /// item 184: the service step of a common mode does the main queue's work, which wakes the loop
    func testServedInServiceStep() throws {
        let trace = Recorder()
        observe(trace)
        whenAsleep {
            DispatchQueue.main.async {
                trace("main queue on \(threadID == getpid() ? "the main thread" : "another thread")")
                GRunLoop.main.perform { trace("block") }
                GRunLoop.main.stop()
            }
        }
        XCTAssertEqual(loop.run(mode: .default), .stopped)
        let expected = [
            "entry", "beforeTimers", "beforeSources", "beforeWaiting", "afterWaiting", "main queue on the main thread",
            "block", "exit",
        ]
        XCTAssertEqual(trace.take(), expected)
        // This holds for any common mode.
        try loop.addCommonMode("tracking the main queue")
        DispatchQueue.main.async {
            trace("main queue in \(GRunLoop.main.currentMode?.rawValue ?? "none")")
            GRunLoop.main.stop()
        }
        loop.perform(inModes: ["tracking the main queue"]) {}
        XCTAssertEqual(loop.run(mode: "tracking the main queue"), .stopped)
        XCTAssertEqual(trace.lines, ["main queue in tracking the main queue"])
    }

    /// item 200: the description says which modes serve the main queue, on any thread and inside a block of the queue
    func testDescription() {
        loop.perform(inModes: ["private"]) {}
        func check(_ text: String) {
            let modes = Dictionary(
                uniqueKeysWithValues: text.split(separator: "<mode ").dropFirst().map { text in
                    (String(text.prefix { $0 != ">" }), text.contains("main queue = Yes"))
                })
            XCTAssertEqual(modes["kCFRunLoopDefaultMode"], true, text)
            XCTAssertEqual(modes["private"], false, text)
        }
        check(loop.description)
        let elsewhere = Shared("")
        onPlainThread { elsewhere.value = GRunLoop.main.description }
        check(elsewhere.value)
        LoopThread { elsewhere.value = $0.description }.join()
        XCTAssertTrue(elsewhere.value.contains("main queue = No"), elsewhere.value)
        XCTAssertFalse(elsewhere.value.contains("main queue = Yes"), elsewhere.value)
        let inside = Shared("")
        DispatchQueue.main.async {
            inside.value = GRunLoop.main.description
            GRunLoop.main.stop()
        }
        loop.run()
        check(inside.value)
        loop.run(mode: "private", for: .zero)
    }

    /// item 52: the main queue goes before the items of the next pass, even if a wake-up caused that pass
    func testGoesBeforeTheNextPass() {
        let trace = Recorder()
        let second = source {
            trace("source")
            GRunLoop.main.stop()
        }
        let calls = Counter()
        let first = Shared<GRunLoop.Source?>(nil)
        first.value = source {
            if calls.increment() == 1 {
                first.value?.signal()
            } else {
                DispatchQueue.main.async { trace("main queue") }
                second.signal()
            }
            GRunLoop.main.wakeUp()
        }
        first.value?.signal()
        loop.run()
        first.value = nil
        XCTAssertEqual(trace.lines, ["main queue", "source"])
    }

    /// item 52: the main queue goes before the next of many ready descriptors
    func testGoesBeforeTheNextDescriptor() throws {
        let trace = Recorder()
        let calls = Counter()
        let pipes = (0..<4).map { _ in Pipe() }
        for pipe in pipes {
            let source = GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor")
                switch calls.increment() {
                case 3: DispatchQueue.main.async { trace("main queue") }
                case 4: GRunLoop.main.stop()
                default: break
                }
            }
            try loop.add(source, forMode: .default)
            addTeardownBlock { source.invalidate() }
            pipe.send()
        }
        loop.run()
        XCTAssertEqual(trace.lines, ["descriptor", "descriptor", "descriptor", "main queue", "descriptor"])
    }

    /// item 184: the main actor's work is work of the main queue
    func testMainActor() {
        let trace = Recorder()
        Task { @MainActor in
            trace("one")
            await Task.yield()
            trace("two")
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(trace.lines, ["one", "two"])
    }

    /// item 185: a private mode and the loops of other threads do not serve the main queue
    func testNotServedElsewhere() {
        let trace = Recorder()
        DispatchQueue.main.async { trace("main queue") }
        source("private") {}
        XCTAssertEqual(loop.run(mode: "private", for: .milliseconds(30)), .timedOut)
        XCTAssertEqual(trace.lines, [])
        LoopThread { loop in
            loop.keepAlive()
            trace("other thread: \(loop.run(for: .milliseconds(30), returningAfterSourceHandled: true))")
        }.join()
        XCTAssertEqual(trace.take(), ["other thread: timedOut"])
        XCTAssertEqual(loop.run(for: .zero, returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(trace.take(), ["main queue"])
    }

    /// item 186: one drain runs the blocks that are there; a block that they enqueue runs in a later pass
    func testOneSnapshot() {
        let trace = Recorder()
        observe(trace, .default, .beforeTimers)
        for number in 1...3 {
            DispatchQueue.main.async {
                trace("block \(number)")
                DispatchQueue.main.async {
                    trace("block of block \(number)")
                    if number == 3 { GRunLoop.main.stop() }
                }
            }
        }
        XCTAssertEqual(loop.run(mode: .default), .stopped)
        XCTAssertEqual(
            trace.lines,
            [
                "beforeTimers", "block 1", "block 2", "block 3",
                "beforeTimers", "block of block 1", "block of block 2", "block of block 3",
            ])
    }

    /// item 188: a run inside a main-queue block does not serve the main queue, which keeps no mode alive there; all
    /// other items work
    func testNestedInsideMainQueue() {
        let trace = Recorder()
        DispatchQueue.main.async {
            trace("outer begins")
            DispatchQueue.main.async { trace("inner") }
            trace("empty: \(GRunLoop.main.run(mode: .default, for: .seconds(60)))")
            let timer = GRunLoop.main.after(.milliseconds(5)) {
                trace("timer")
                GRunLoop.main.stop()
            }
            let source = GRunLoop.main.source { trace("source") }
            source.signal()
            trace("not empty: \(GRunLoop.main.run(for: .seconds(60)))")
            source.invalidate()
            timer.invalidate()
            trace("outer ends")
        }
        while trace.count(of: "inner") == 0 {
            XCTAssertEqual(loop.run(for: .seconds(60), returningAfterSourceHandled: true), .handledSource)
        }
        XCTAssertEqual(
            trace.lines,
            ["outer begins", "empty: finished", "source", "timer", "not empty: stopped", "outer ends", "inner"])
    }

    /// item 188: that run sleeps even if the main queue is ready
    func testNestedRunInsideMainQueueSleeps() {
        let passes = Counter()
        DispatchQueue.main.async {
            DispatchQueue.main.async {}
            let source = GRunLoop.main.keepAlive()
            let observer = GRunLoop.main.on(.beforeTimers) { _ in passes.increment() }
            XCTAssertEqual(GRunLoop.main.runUntilAsleep(), .stopped)
            observer.invalidate()
            source.invalidate()
        }
        for _ in 0..<2 { loop.run(for: .seconds(60), returningAfterSourceHandled: true) }
        XCTAssertEqual(passes.value, 1)
    }

    /// item 189: a run inside a timer, source or observer callout serves the main queue
    func testNestedInsideOtherCallouts() {
        let trace = Recorder()
        @Sendable func nested(_ name: String) {
            DispatchQueue.main.async { trace("main queue in \(name)") }
            trace("\(name): \(GRunLoop.main.run(for: .seconds(60), returningAfterSourceHandled: true))")
        }
        after(.zero) { nested("timer") }
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
        source { nested("source") }.signal()
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
        once(.beforeTimers) { nested("observer") }
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
        XCTAssertEqual(
            trace.lines,
            [
                "main queue in timer", "timer: handledSource", "main queue in source", "source: handledSource",
                "main queue in observer", "observer: handledSource",
            ])
    }

    /// item 190: a main-queue block that enqueues itself endlessly starves neither timers nor sources
    func testEndlessMainQueue() throws {
        let trace = Recorder()
        let drains = Counter()
        let isOver = Flag()
        @Sendable func again() {
            drains.increment()
            if !isOver.isSet { DispatchQueue.main.async { again() } }
        }
        DispatchQueue.main.async { again() }
        let pipe = Pipe()
        try temporary(
            GRunLoop.DescriptorSource(descriptor: pipe.readEnd) { _, _ in
                pipe.drain()
                trace("descriptor at drain \(drains.value)")
            })
        let source = source { trace("source") }
        after(.milliseconds(2)) {
            trace("timer")
            source.signal()
            pipe.send()
        }
        whenAsleepOrBusy {
            trace.wait(forCount: 3)
        } then: {
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(for: .seconds(30)), .stopped)
        isOver.set()
        loop.run(for: .zero)
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines.count, 3)
        XCTAssertEqual(trace.lines.first, "timer")
        XCTAssertGreaterThan(drains.value, 1)
    }

    /// item 191: dispatch_sync to the main queue from another thread completes while the main loop runs a common mode
    func testSync() {
        let trace = Recorder()
        whenAsleep {
            let answer = DispatchQueue.main.sync { threadID == getpid() ? "done on the main thread" : "done elsewhere" }
            trace(answer)
            GRunLoop.main.stop()
        }
        XCTAssertEqual(loop.run(for: .seconds(60)), .stopped)
        XCTAssertEqual(trace.lines, ["done on the main thread"])
    }

    private func whenAsleepOrBusy(
        _ condition: @escaping @Sendable () -> Bool, then body: @escaping @Sendable () -> Void
    ) {
        let thread = startThread {
            _ = condition()
            body()
        }
        addTeardownBlock { pthread_join(thread, nil) }
    }
}
