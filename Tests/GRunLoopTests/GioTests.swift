// SPDX-License-Identifier: Apache-2.0
// Sockets, tasks and D-Bus of GIO complete in the mode in which they were started (items 26 and 237).

import GRunLoop
import Glibc
import TestSupport
import Testing

@Suite struct GioTests {
    @Test("a read of a GIO socket that was started in a common mode completes in common modes, not in a private one")
    func socket() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pair = SocketPair()
            let connection = GioConnection(adopting: dup(pair.one))
            loop.keepAlive()
            loop.keepAlive("private")
            loop.perform { connection.read { trace("\($0) in \(loop.currentMode?.rawValue ?? "none")") } }
            loop.run(for: .zero)
            #expect(write(pair.other, "hello", 5) == 5)
            #expect(loop.run(mode: "private", for: .milliseconds(20)) == .timedOut)
            #expect(trace.lines == [])
            #expect(loop.run(for: .seconds(60), returningAfterSourceHandled: true) == .handledSource)
            #expect(trace.lines == ["hello in kCFRunLoopDefaultMode"])
        }
    }

    @Test("an operation that GIO starts inside a private run completes only while that mode runs")
    func startedInPrivateMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let pair = SocketPair()
            let connection = GioConnection(adopting: dup(pair.one))
            for mode: GRunLoop.Mode in [.default, "private", "other"] { loop.keepAlive(mode) }
            loop.perform(inModes: ["private"]) {
                connection.read { trace("\($0) in \(loop.currentMode?.rawValue ?? "none")") }
                startTask { trace("task in \(loop.currentMode?.rawValue ?? "none")") }
            }
            loop.run(mode: "private", for: .zero)
            #expect(write(pair.other, "hello", 5) == 5)
            let early = trace.take()
            for mode: GRunLoop.Mode in [.default, "other"] {
                #expect(loop.run(mode: mode, for: .milliseconds(30)) == .timedOut)
            }
            #expect(trace.lines == [])
            #expect(
                waitUntil {
                    loop.run(mode: "private", for: .milliseconds(20), returningAfterSourceHandled: true)
                    return (early + trace.lines).count == 2
                })
            #expect((early + trace.lines).sorted() == ["hello in private", "task in private"])
        }
    }

    @Test("items 26, 237: a wait for a flag ends when a GIO callback sets it, without a further wake-up")
    func flagSetByCallback() async throws {
        try await onFreshThread { loop in
            loop.keepAlive()
            let isDone = Flag()
            loop.perform { startTask { isDone.set() } }
            loop.run(for: .zero)
            let time = elapsed {
                while !isDone.isSet {
                    if !loop.run(mode: .default, before: GRunLoop.now.advanced(by: .seconds(30))) { break }
                }
            }
            #expect(isDone.isSet)
            #expect(time < .seconds(20))
        }
    }

    @Test("a D-Bus call and its reply, both ends on this loop, are served in a common mode and wait in a private one")
    func dBus() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let bus = DBusPair()
            loop.keepAlive()
            loop.keepAlive("private")
            loop.perform {
                bus.export { trace("asked in \(loop.currentMode?.rawValue ?? "none")") }
                bus.ask { trace("\($0) in \(loop.currentMode?.rawValue ?? "none")") }
            }
            loop.run(for: .zero)
            let early = trace.take()
            #expect(loop.run(mode: "private", for: .milliseconds(50)) == .timedOut)
            #expect(trace.lines == [])
            #expect(
                waitUntil {
                    loop.run(mode: .default, for: .milliseconds(50), returningAfterSourceHandled: true)
                    return (early + trace.lines).count == 2
                })
            #expect(early + trace.lines == ["asked in kCFRunLoopDefaultMode", "answer in kCFRunLoopDefaultMode"])
        }
    }

    @Test("a D-Bus call that was made inside a private run gets its reply while that mode runs")
    func dBusInPrivateMode() async throws {
        try await onFreshThread { loop in
            let trace = Recorder()
            let bus = DBusPair()
            loop.keepAlive()
            loop.keepAlive("private")
            loop.perform(inModes: ["private"]) {
                bus.export { trace("asked in \(loop.currentMode?.rawValue ?? "none")") }
                bus.ask { trace("\($0) in \(loop.currentMode?.rawValue ?? "none")") }
            }
            loop.run(mode: "private", for: .zero)
            let early = trace.take()
            #expect(loop.run(for: .milliseconds(50)) == .timedOut)
            #expect(trace.lines == [])
            #expect(
                waitUntil {
                    loop.run(mode: "private", for: .milliseconds(50), returningAfterSourceHandled: true)
                    return (early + trace.lines).count == 2
                })
            #expect(early + trace.lines == ["asked in private", "answer in private"])
        }
    }
}
