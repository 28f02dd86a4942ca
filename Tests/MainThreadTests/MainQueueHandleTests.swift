// SPDX-License-Identifier: Apache-2.0
// libdispatch's interface for a foreign run loop: items 192 to 195.

import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

/// libdispatch's entry points for a foreign run loop.
private enum Entry {
    static var handle: Int32 {
        guard let symbol = dlsym(nil, "_dispatch_get_main_queue_handle_4CF") else { return -1 }
        return unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)()
    }

    static func drain() {
        guard let symbol = dlsym(nil, "_dispatch_main_queue_callback_4CF") else { return }
        unsafeBitCast(symbol, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void).self)(nil)
    }

    static var isReady: Bool {
        var record = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
        return poll(&record, 1, 0) > 0
    }

    static func consume() -> Bool {
        var count: UInt64 = 0
        return read(handle, &count, 8) == 8
    }
}

final class MainQueueHandleTests: MainThreadTestCase {
    /// item 192: the whole process has one eventfd as the queue's handle; the loop reads it and drains the queue
    func testHandle() {
        let trace = Recorder()
        let handle = Entry.handle
        XCTAssertGreaterThanOrEqual(handle, 0)
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/fd/\(Entry.handle)", &target, target.count)
        XCTAssertEqual(
            String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self),
            "anon_inode:[eventfd]")
        XCTAssertFalse(Entry.isReady)
        DispatchQueue.main.async { trace("main queue") }
        XCTAssertTrue(Entry.isReady)
        XCTAssertEqual(loop.run(for: .zero, returningAfterSourceHandled: true), .handledSource)
        XCTAssertEqual(trace.lines, ["main queue"])
        XCTAssertFalse(Entry.isReady)
        XCTAssertEqual(Entry.handle, handle)
    }

    /// item 193: the loop always drains after it has read the handle, so no work from many threads is stranded
    func testNothingIsStranded() {
        let done = Counter()
        let threads = (0..<4).map { _ in
            startThread { for _ in 0..<500 { DispatchQueue.main.async { done.increment() } } }
        }
        let end = GRunLoop.now.advanced(by: .seconds(30))
        // Short runs, so that the handle becomes ready at every point of a run.
        while done.value < 2_000, GRunLoop.now < end {
            loop.run(for: .zero)
            loop.run(for: .microseconds(50))
        }
        for thread in threads { pthread_join(thread, nil) }
        XCTAssertEqual(done.value, 2_000)
    }

    /// item 193: a read of the handle without a drain strands work; the loop does not notice, and a manual drain finds
    /// it
    func testReadingAloneStrands() {
        let trace = Recorder()
        DispatchQueue.main.async { trace("main queue") }
        XCTAssertTrue(Entry.consume())
        XCTAssertEqual(loop.run(for: .milliseconds(20)), .timedOut)
        XCTAssertEqual(trace.lines, [])
        Entry.drain()
        XCTAssertEqual(trace.lines, ["main queue"])
    }

    /// item 193: after a manual drain without a read, the handle is ready although the queue is empty; the loop serves
    /// nothing, and sleeps
    func testEmptyDrain() {
        let trace = Recorder()
        DispatchQueue.main.async { trace("main queue") }
        Entry.drain()
        XCTAssertEqual(trace.lines, ["main queue"])
        XCTAssertEqual(loop.runUntilAsleep(), .stopped)
        DispatchQueue.main.async { trace("more") }
        XCTAssertEqual(loop.run(for: .zero), .timedOut)
        XCTAssertEqual(trace.lines, ["main queue", "more"])
    }

    /// item 193: such a handle does not make a host spin, and a run that does not wait reports no source
    func testEmptyDrainUnderAHost() {
        for isObserved in [false, true] {
            if isObserved { temporary(GRunLoop.Observer(activities: .all) { _, _ in }) }
            settleHost()
            DispatchQueue.main.async {}
            Entry.drain()
            XCTAssertTrue(Entry.isReady)
            XCTAssertEqual(loop.run(for: .zero, returningAfterSourceHandled: true), .timedOut)
            XCTAssertLessThan(settleHost(), 8)
            XCTAssertFalse(Entry.isReady)
        }
    }

    /// item 194: after a drain the loop sleeps again
    func testSleepsAfterDrain() {
        let passes = Counter()
        temporary(GRunLoop.Observer(activities: .beforeTimers) { _, _ in passes.increment() })
        DispatchQueue.main.async {}
        XCTAssertEqual(loop.runUntilAsleep(), .stopped)
        XCTAssertEqual(passes.value, 2)
    }

    /// item 195: a drain inside a drain does nothing
    func testReentrantDrain() {
        let trace = Recorder()
        DispatchQueue.main.async {
            trace("outer begins")
            DispatchQueue.main.async { trace("inner") }
            Entry.drain()
            trace("outer ends")
        }
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["outer begins", "outer ends"])
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["outer begins", "outer ends", "inner"])
    }

    /// item 195: libdispatch ends a process that drains on another thread. The main loop refuses to run there, like any
    /// loop (item 197).
    func testDrainElsewhere() {
        XCTAssertNotNil(runChild("drain-on-another-thread").signal)
    }

    /// item 195: after dispatch_main() the loop does not drain the queue, logs this once, and goes on without the queue
    func testAfterDispatchMain() {
        let child = runChild("after-dispatch-main")
        XCTAssertEqual(child.output, ["timer ran", "finished", "the main queue did not run here"])
        XCTAssertEqual(child.errorCount(of: "the main run loop cannot serve the main dispatch queue"), 1)
        XCTAssertEqual(child.status, 0)
    }
}
