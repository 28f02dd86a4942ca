// SPDX-License-Identifier: Apache-2.0
// Notification queues while a host drives.

import CGRunGLib
import GRunLoop
import TestSupport
import XCTest

final class HostNotificationTests: MainThreadTestCase {
    private typealias Queue = GRunLoop.NotificationQueue<String, Void>

    private func observed(_ trace: Recorder) -> Queue {
        let queue = Queue(on: loop)
        let observation = queue.observe { trace($0.name) }
        addTeardownBlock { observation.cancel() }
        return queue
    }

    /// item 223: `.asap` is posted when the host is about to sleep, before `.whenIdle`; one `.whenIdle` notification is
    /// posted per pass; the host has nothing left to do afterwards
    func testOrder() {
        let trace = Recorder()
        let queue = observed(trace)
        freshHostedRun()
        settleHost()
        for number in 1...2 { queue.enqueue(.init(name: "idle \(number)"), style: .whenIdle) }
        for number in 1...2 { queue.enqueue(.init(name: "asap \(number)"), style: .asap) }
        observe(trace, .default, [.beforeTimers])
        settleHost()
        XCTAssertEqual(trace.take().filter { $0 != "beforeTimers" }, ["asap 1", "asap 2", "idle 1", "idle 2"])
        XCTAssertEqual(settleHost(), 0)
        XCTAssertEqual(queue.count, 0)
        // All other work has its turn between two idle notifications.
        for number in 1...3 { queue.enqueue(.init(name: "idle \(number)"), style: .whenIdle) }
        settleHost()
        let lines = trace.take()
        for number in 1...3 {
            guard let index = lines.firstIndex(of: "idle \(number)") else { return XCTFail("not posted: \(lines)") }
            XCTAssertEqual(lines[index - 1], "beforeTimers")
        }
    }

    /// item 223: under a host the current mode is the ambient mode, in each callback of the host
    func testModes() throws {
        let trace = Recorder()
        let queue = observed(trace)
        inHostCallback {
            XCTAssertTrue(queue.enqueue(.init(name: "default"), style: .now))
            XCTAssertTrue(queue.enqueue(.init(name: "common"), style: .now, inModes: [.common]))
            XCTAssertFalse(queue.enqueue(.init(name: "private"), style: .now, inModes: ["private"]))
            queue.enqueue(.init(name: "asap"), style: .asap)
        }
        XCTAssertEqual(trace.take().prefix(2), ["default", "common"])
        settleHost()
        _ = trace.take()
        try loop.withAmbientMode(.tracking) {
            queue.enqueue(.init(name: "default"), style: .asap)
            queue.enqueue(.init(name: "tracking"), style: .asap, inModes: [.tracking])
            queue.enqueue(.init(name: "common"), style: .whenIdle, inModes: [.common])
            settleHost()
            XCTAssertEqual(trace.take(), ["tracking", "common"])
        }
        settleHost()
        XCTAssertEqual(trace.take(), ["default"])
    }

    /// Another thread's notification wakes a sleeping host, for either style
    func testWakes() {
        let trace = Recorder()
        let queue = observed(trace)
        for style in [GRunLoop.PostingStyle.asap, .whenIdle] {
            settleHost()
            whenAsleep { queue.enqueue(.init(name: "other thread"), style: style) }
            iterateHost { trace.lines.count == 1 }
            XCTAssertEqual(trace.take(), ["other thread"])
        }
        // The pass after the notification must end before the next round.
        settleHost()
    }

    /// The host posts `.asap` before it sleeps, even if a run nested in beforeWaiting has handled the wake-up
    func testLeftByNestedRun() {
        let loop = self.loop
        let trace = Recorder()
        let queue = observed(trace)
        settleHost()
        once(.beforeTimers, "private") { queue.enqueue(.init(name: "late"), style: .asap) }
        once(.beforeWaiting) {
            loop.after(.zero, "private") {}
            XCTAssertEqual(loop.run(mode: "private", for: Patience.normal), .finished)
            trace("nested")
        }
        loop.wakeUp()
        settleHost()
        XCTAssertEqual(trace.take(), ["nested", "late"])
    }

    /// A notification that enqueues itself again starves no source of the host at any priority
    func testEndless() {
        for style in [GRunLoop.PostingStyle.asap, .whenIdle] {
            let queue = Queue(on: loop)
            let posted = Counter()
            let observation = queue.observe { notification in
                posted.increment()
                queue.enqueue(notification, style: style)
            }
            let rounds = Counter()
            let foreign = GLibSource.idle(nil, priority: Int32.max - 1) { rounds.increment() < 5 }
            let late = GLibSource.timeout(nil, milliseconds: 5) {
                rounds.increment()
                return false
            }
            queue.enqueue(.init(name: "again"), style: style)
            iterateHost { rounds.value >= 6 && posted.value > 3 }
            XCTAssertEqual(queue.dequeue(matching: .init(name: "again")), 1)
            XCTAssertLessThan(settleHost(), 10_000)
            for source in [foreign, late] { source.destroy() }
            withExtendedLifetime(observation) {}
        }
    }

    /// The main loop calls the closures of the main actor
    @MainActor func testMainActor() {
        let trace = Recorder()
        let queue = Queue(on: .main)
        var count = 0
        let observation = queue.observe("a") { @MainActor notification in
            count += 1
            trace(notification.name)
        }
        queue.enqueue(.init(name: "a"), style: .now)
        queue.enqueue(.init(name: "a"), style: .asap)
        settleHost()
        XCTAssertEqual(count, 2)
        XCTAssertEqual(trace.lines, ["a", "a"])
        withExtendedLifetime(observation) {}
    }
}
