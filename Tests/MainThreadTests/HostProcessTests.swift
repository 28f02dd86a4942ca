// SPDX-License-Identifier: Apache-2.0
// Signals and children while a host drives.

import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostProcessTests: MainThreadTestCase {
    /// A signal and the end of a child wake a sleeping host, which serves them in the ambient mode.
    func testSignalsAndChildren() throws {
        let signal = queuedSignal(25)
        let trace = Recorder()
        let source = try GRunLoop.SignalSource(signal) { _, count in trace("\(count) signals") }
        try temporary(source)
        whenAsleep { sendToProcess(signal) }
        iterateHost { trace.lines.count == 1 }
        XCTAssertEqual(trace.take(), ["1 signals"])
        let child = startSleeper()
        let end = try GRunLoop.ChildSource(pid: child) { _, outcome in
            trace("\((try? outcome.get())?.signal ?? 0) in \(GRunLoop.main.currentMode?.rawValue ?? "none")")
        }
        try temporary(end)
        whenAsleep { kill(child, SIGTERM) }
        iterateHost { trace.lines.count == 1 }
        XCTAssertEqual(trace.take(), ["15 in kCFRunLoopDefaultMode"])
        XCTAssertFalse(exists(child))
        // The host does not serve other modes.
        let elsewhere = try GRunLoop.SignalSource(signal) { _, _ in trace("private") }
        try temporary(elsewhere, "private")
        sendToProcess(signal, times: 3)
        iterateHost { trace.lines.contains { $0.hasSuffix("signals") } }
        settleHost()
        XCTAssertFalse(trace.lines.contains("private"))
        loop.run(mode: "private", for: .zero)
        XCTAssertTrue(trace.lines.contains("private"))
    }
}
