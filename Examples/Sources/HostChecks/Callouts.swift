// SPDX-License-Identifier: Apache-2.0
// Checks: loops that drain the context end, and every kind of callout may talk to the display server and run the host's
// loop.

import CGRunGLib
import Dispatch
import GRunLoop
import Glibc

extension HostChecks {
    /// The window is idle, and an observer has all activities.
    func checkDraining() {
        toolkit.setAnimating(false)
        Host.run(milliseconds: 300)
        let observer = GRunLoop.Observer(activities: .all) { _, _ in }
        GRunLoop.main.add(observer, forMode: .default)
        defer { observer.invalidate() }
        let drains: [(String, () -> Void)] = [
            (
                "while (pending) iteration",
                { while g_main_context_pending(nil) != 0 { g_main_context_iteration(nil, 0) } }
            ),
            ("while (iteration)", { while g_main_context_iteration(nil, 0) != 0 {} }),
        ]
        for (what, drain) in drains {
            Watchdog.shared.feed(what)
            for _ in 0..<100 {
                GRunLoop.main.perform {}
                drain()
            }
            report.fact(what, true, "has ended, 100 times")
        }
    }

    /// Makes a round trip, presents the window and runs a nested loop in each kind of callout.
    func checkCallouts() {
        let activities: [GRunLoop.Activity] = [.beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting]
        for activity in activities {
            check("\(activity) observer") { body in
                let observer = GRunLoop.Observer(activities: activity, repeats: false) { _, _ in body() }
                GRunLoop.main.add(observer, forMode: .default)
                GRunLoop.main.wakeUp()
            }
        }
        check("timer") { body in
            GRunLoop.main.add(
                GRunLoop.Timer(interval: .milliseconds(1), repeats: false) { _ in body() }, forMode: .default)
        }
        check("source") { body in
            let source = GRunLoop.Source { body() }
            GRunLoop.main.add(source, forMode: .default)
            source.signal()
            GRunLoop.main.wakeUp()
        }
        check("block") { body in GRunLoop.main.async { body() } }
        check("main-queue block") { body in DispatchQueue.main.async { body() } }
        check("descriptor source") { body in
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            let (readEnd, writeEnd) = (ends[0], ends[1])
            let source = GRunLoop.DescriptorSource(descriptor: readEnd) { source, _ in
                source.invalidate()
                close(readEnd)
                close(writeEnd)
                body()
            }
            do {
                try GRunLoop.main.add(source, forMode: .default)
            } catch {
                report.fact("descriptor source", false, "\(error)")
            }
            write(writeEnd, "x", 1)
        }
    }

    private func check(_ what: String, _ arrange: (@escaping @Sendable () -> Void) -> Void) {
        Watchdog.shared.feed("round trip, present and a nested loop in a \(what)")
        let isDone = Shared()
        arrange { [self] in
            toolkit.roundTrip()
            toolkit.present()
            toolkit.roundTrip()
            Host.run(milliseconds: 20)
            isDone.set()
        }
        while !isDone.isSet { g_main_context_iteration(nil, 1) }
        report.fact("\(what)", true, "round trip, present and a nested loop in it")
    }
}
