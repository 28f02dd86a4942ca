// SPDX-License-Identifier: Apache-2.0
// The main loop while a loop of virtual time hides it. For the rest see GRunLoopTests and Tests/Finder.

import GRunLoop
import TestSupport
import XCTest

final class MainVirtualTimeTests: MainThreadTestCase {
    /// The main loop stays the main loop: what is enqueued there waits until it runs, and what its thread waits for is
    /// performed at once.
    func testMainLoopMeanwhile() throws {
        let trace = Recorder()
        let main = loop
        let (_, messages) = capturingLog {
            GRunLoop.withVirtualTime { time in
                XCTAssertTrue(GRunLoop.main === main)
                XCTAssertTrue(GRunLoop.current === time.loop)
                GRunLoop.asyncOnMain { trace("block") }
                XCTAssertEqual(try? GRunLoop.main.performAndWait { threadID }, getpid())
                time.advance(by: .seconds(60))
                XCTAssertEqual(trace.lines, [])
                XCTAssertEqual(GRunLoop.main.run(for: .zero), .finished)
            }
        }
        XCTAssertEqual(messages.count, 1)
        XCTAssertTrue(messages[0].contains("this thread is in virtual time"), "\(messages)")
        loop.run(for: .zero)
        XCTAssertEqual(trace.lines, ["block"])
    }
}
