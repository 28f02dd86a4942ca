// SPDX-License-Identifier: Apache-2.0
// Foundation's own run loop on the main thread.

import Foundation
import GRunLoop
import TestSupport
import XCTest

final class FoundationLoopTests: MainThreadTestCase {
    /// Foundation's `RunLoop.main` is not served by the main loop; `OperationQueue.main` is
    func testFoundationsMainLoopIsNotServed() {
        let trace = Recorder()
        let timer = Foundation.Timer(timeInterval: 0.001, repeats: false) { _ in trace("Foundation's timer") }
        RunLoop.main.add(timer, forMode: .common)
        RunLoop.main.perform { trace("Foundation's block") }
        OperationQueue.main.addOperation { trace("operation") }
        let fires = Shared(0)
        temporary(
            GRunLoop.Timer(interval: .milliseconds(2), repeats: true) { _ in
                fires.update { $0 += 1 }
                if fires.value == 5 { GRunLoop.main.stop() }
            })
        XCTAssertEqual(loop.run(mode: .default, for: .seconds(60)), .stopped)
        XCTAssertEqual(trace.take(), ["operation"])

        while trace.lines.count < 2 { RunLoop.main.run(until: Date(timeIntervalSinceNow: 0.01)) }
        XCTAssertEqual(Set(trace.lines), ["Foundation's timer", "Foundation's block"])
    }
}
