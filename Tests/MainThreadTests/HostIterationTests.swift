// SPDX-License-Identifier: Apache-2.0
// Observers beside the host's own sources: an observer may iterate the host's context, and delays none of its sources.

import CGRunGLib
import GRunLoop
import TestSupport
import XCTest

final class HostIterationTests: MainThreadTestCase {
    /// The ways in which a callout can run the host's loop or the run loop.
    private static let ways: [(name: String, run: @Sendable () -> Void)] = [
        ("iteration", { g_main_context_iteration(nil, 0) }),
        ("pending", { g_main_context_pending(nil) }),
        ("iterations while pending", { while g_main_context_pending(nil) != 0 { g_main_context_iteration(nil, 0) } }),
        ("run for zero", { GRunLoop.main.run(for: .zero) }),
        ("run in another mode", { GRunLoop.main.run(mode: "private", for: .zero) }),
        ("nested main loop", HostIterationTests.runMainLoop),
    ]

    /// Runs a GLib main loop until a timeout quits it.
    @Sendable private static func runMainLoop() {
        nonisolated(unsafe) let mainLoop = g_main_loop_new(nil, 0)
        let timeout = GLibSource.timeout(nil, milliseconds: 1) {
            g_main_loop_quit(mainLoop)
            return true
        }
        g_main_loop_run(mainLoop)
        timeout.destroy()
        g_main_loop_unref(mainLoop)
    }

    /// The host sleeps after such a callout. If the loop announced its sleep repeatedly, it would notify the observers
    /// endlessly.
    func testObserversThatIterateTheHost() {
        let fires = 5
        for way in Self.ways {
            for activities: GRunLoop.Activity in [.beforeWaiting, .afterWaiting, [.beforeWaiting, .afterWaiting]] {
                freshHostedRun()
                let (notices, ticks) = (Counter(), Counter())
                let observer = GRunLoop.Observer(activities: activities) { _, _ in
                    notices.increment()
                    way.run()
                }
                let timer = GRunLoop.Timer(interval: .milliseconds(20), repeats: true) { _ in ticks.increment() }
                loop.add(observer, forMode: .common)
                loop.add(timer, forMode: .common)
                iterateHost { ticks.value >= fires || notices.value > 40 * fires }
                timer.invalidate()
                observer.invalidate()
                XCTAssertLessThanOrEqual(notices.value, 6 * fires, "\(way.name) in \(activities)")
                XCTAssertGreaterThan(notices.value, 0, "\(way.name) in \(activities)")
            }
        }
    }

    /// A beforeWaiting observer that iterates the host's context may leave a nested loop during its sleep. Each
    /// announced wait ends before an item is called.
    func testEachWaitEnds() {
        for way in Self.ways {
            freshHostedRun()
            let trace = Recorder()
            let (open, ticks) = (Shared<[Int]>([]), Counter())
            let iterating = GRunLoop.Observer(activities: .beforeWaiting) { _, _ in for _ in 0..<5 { way.run() } }
            let counting = GRunLoop.Observer(activities: [.beforeWaiting, .afterWaiting], order: 1) { _, activity in
                trace(activity.description)
            }
            let timer = GRunLoop.Timer(interval: .milliseconds(10), repeats: true) { _ in
                open.update { $0.append(trace.count(of: "beforeWaiting") - trace.count(of: "afterWaiting")) }
                ticks.increment()
            }
            for observer in [iterating, counting] { loop.add(observer, forMode: .common) }
            loop.add(timer, forMode: .common)
            iterateHost { ticks.value >= 5 }
            timer.invalidate()
            for observer in [iterating, counting] { observer.invalidate() }
            XCTAssertLessThanOrEqual(open.value.max() ?? 0, 1, "\(way.name): \(open.value)")
            XCTAssertEqual(open.value.last, 0, "\(way.name): \(open.value)")
        }
    }

    /// The first pass comes before the host's first sleep. The host's own sources do not wait for it.
    func testObserversDelayNothing() {
        for activities: GRunLoop.Activity in [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit, .all,
        ] {
            freshHostedRun()
            let trace = Recorder()
            let observer = GRunLoop.Observer(activities: activities) { _, activity in trace(activity.description) }
            loop.add(observer, forMode: .common)
            let idle = GLibSource.idle(nil) {
                trace("idle")
                return false
            }
            g_main_context_iteration(nil, 0)
            XCTAssertEqual(trace.take(), ["idle"], "\(activities)")
            idle.destroy()
            settleHost()
            let first = activities.intersection([.entry, .beforeTimers, .beforeSources, .beforeWaiting])
            XCTAssertEqual(trace.lines.isEmpty, first.isEmpty, "\(activities): \(trace.lines)")
            observer.invalidate()
        }
    }
}
