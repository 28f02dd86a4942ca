// SPDX-License-Identifier: Apache-2.0
// Observers while a host drives: beforeWaiting and afterWaiting bracket its sleeps, heads of passes come before them.

import CGLib
import Dispatch
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostObserverTests: MainThreadTestCase {
    /// The endless run's order is that of a run of ours: the wait between a head and a tail is the host's.
    func testOrder() {
        let trace = Recorder()
        freshHostedRun()
        observe(trace)
        source { trace("source") }.signal()
        loop.perform { trace("block") }
        after(.milliseconds(5)) {
            trace("timer")
            GRunLoop.main.perform { trace("tail block") }
        }
        iterateHost { trace.lines.contains("tail block") && trace.lines.last == "beforeWaiting" }
        XCTAssertEqual(
            trace.lines,
            [
                "entry", "beforeTimers", "beforeSources", "block", "source",
                "beforeTimers", "beforeSources", "beforeWaiting",
                "afterWaiting", "timer", "tail block", "beforeTimers", "beforeSources", "beforeWaiting",
            ])
    }
}
