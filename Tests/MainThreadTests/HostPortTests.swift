// SPDX-License-Identifier: Apache-2.0
// Ports under a host: a message ends the host's sleep, and each pass delivers one message.

import CGRunGLib
import GRunLoop
import Glibc
import TestSupport
import XCTest

final class HostPortTests: MainThreadTestCase {
    private func port(
        _ mode: GRunLoop.Mode = .default, _ handler: @escaping @Sendable (UInt32) -> Void
    ) -> GRunLoop.Port {
        let port = GRunLoop.Port { message in handler(message.id) }
        loop.add(port, forMode: mode)
        addTeardownBlock { port.invalidate() }
        return port
    }

    /// item 238: with observers, a message from another thread ends the sleep, and is the item of that pass.
    func testMessageEndsTheSleep() {
        let trace = Recorder()
        freshHostedRun()
        let port = port { trace("message \($0)") }
        observe(trace, .default, [.beforeTimers, .beforeWaiting, .afterWaiting])
        settleHost()
        _ = trace.take()
        whenAsleep { for id: UInt32 in 1...2 { _ = port.trySend(GRunLoop.PortMessage(id: id)) } }
        iterateHost { trace.lines.filter { $0.hasPrefix("message") }.count == 2 && trace.lines.last == "beforeWaiting" }
        let lines = trace.lines.filter { $0 != "afterWaiting" && $0 != "beforeWaiting" }
        XCTAssertEqual(lines, ["message 1", "beforeTimers", "message 2", "beforeTimers"])
        XCTAssertEqual(trace.lines.first, "afterWaiting")
    }

    /// Without observers, one host iteration delivers a backlog. Then the host has nothing to do.
    func testBacklog() {
        let found = Shared<[UInt32]>([])
        freshHostedRun()
        let port = port(.common) { id in found.update { $0.append(id) } }
        settleHost()
        join(startThread { for id: UInt32 in 0..<1000 { _ = port.trySend(GRunLoop.PortMessage(id: id)) } })
        settleHost()
        XCTAssertEqual(found.value, Array(0..<1000))
        XCTAssertEqual(settleHost(), 0)
        inHostCallback { _ = port.trySend(GRunLoop.PortMessage(id: 7)) }
        settleHost()
        XCTAssertEqual(found.value.last, 7)
    }

    /// item 239: a message waits while its port's modes are not the ambient mode.
    func testAmbientMode() throws {
        let found = Counter()
        freshHostedRun()
        let port = port("Private") { _ in found.increment() }
        _ = port.trySend(GRunLoop.PortMessage())
        settleHost()
        XCTAssertEqual(found.value, 0)
        try loop.withAmbientMode("Private") { _ = settleHost() }
        XCTAssertEqual(found.value, 1)
    }

    /// A port that is never empty leaves the host its turn.
    func testHostHasItsTurn() {
        let (messages, foreign) = (Counter(), Counter())
        loop.timeSlice = .milliseconds(4)
        freshHostedRun()
        let port = GRunLoop.Port { message in
            messages.increment()
            _ = message.receivePort?.trySend(GRunLoop.PortMessage())
        }
        loop.add(port, forMode: .default)
        let idle = GLibSource.idle(nil, priority: 200) {
            foreign.increment()
            return true
        }
        _ = port.trySend(GRunLoop.PortMessage())
        iterateHost { foreign.value >= 20 }
        XCTAssertGreaterThan(messages.value, 20)
        port.invalidate()
        idle.destroy()
        settleHost()
    }
}
