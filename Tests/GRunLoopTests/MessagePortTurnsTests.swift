// SPDX-License-Identifier: Apache-2.0
// Message ports beside peers that send too much: the order of turns, and the depth of nested handler calls.

import GRunLoop
import Glibc
import TestSupport
import Testing

@testable import GRunLoopMessagePorts

private typealias Port = GRunLoop.MessagePort
private typealias Remote = GRunLoop.RemoteMessagePort

@Suite("Message ports: turns") struct MessagePortTurnsTests {
    @Test("20 senders with full queues each get one message handled before the message of another sender")
    func oneEach() async throws {
        try await onFreshThread { loop in
            let ids = Shared<[Int32]>([])
            let port = try Port(RuntimeDirectory.newName()) { message in ids.update { $0.append(message.id) } }
            try loop.add(port, forMode: .default)
            let data = GRunLoop.MessageData([UInt8](repeating: 1, count: 70_000))
            let floods = try (0..<20).map { (id: Int32) in
                let peer = try BarePeer(to: port.name ?? "")
                #expect(peer.fill(with: try OutgoingPacket(.oneWay, id: id, conversation: 1, data, [])) > 100)
                return peer
            }
            // Accepts all senders.
            loop.run(for: .seconds(30), returningAfterSourceHandled: true)
            while port.connectionCount < 20 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            let remote = try Remote.lookUp(port.name ?? "")
            let before = ids.value.count
            try remote.send(100)
            while !ids.value.contains(100) { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            // Each sender may have had two turns: one of them before the other sender was accepted.
            #expect(ids.value.count - before <= 42)
            withExtendedLifetime(floods) { port.invalidate() }
        }
    }

    @Test("each late reply is a call of its own, and the loop does other things between the calls")
    func lateReplies() async throws {
        let name = RuntimeDirectory.newName("late")
        let (claim, isOver, count) = (try PortClaim(PortName(name)), Flag(), 100)
        let server = startThread {
            guard let peer = try? BarePeer(of: claim), let request = try? peer.receive()
            else {
                Issue.record("no request came")
                return
            }
            for number in 1...count { peer.send(.reply, conversation: request.conversation + UInt32(number)) }
            peer.send(.reply, conversation: request.conversation, [1])
            _ = isOver.wait()
        }
        try await onFreshThread { loop in
            defer { isOver.set() }
            let (mode, passes) = (GRunLoop.Mode("reply"), Counter())
            loop.on(.beforeTimers, mode) { _ in passes.increment() }
            let remote = try Remote.lookUp(name)
            let reply = try remote.request(
                1, sendTimeout: .seconds(30), receiveTimeout: .seconds(30), replyMode: mode)
            #expect(Array(reply.data) == [1] && passes.value > count)
        }
        join(server)
    }

    @Test("sending, and checking whether a port is valid, do not wait for a thread that receives its replies")
    func sendsMeanwhile() throws {
        let port = try Port(RuntimeDirectory.newName()) { _ in }
        let remote = try Remote.lookUp(port.name ?? "")
        let isSent = Flag()
        remote.receiveLock.withLock {
            let thread = startThread {
                #expect(throws: Never.self) { try remote.send(1) }
                #expect(remote.isValid)
                isSent.set()
            }
            #expect(isSent.wait())
            join(thread)
        }
        port.invalidate()
    }

    // MARK: Depth

    @Test(
        "a handler that runs its port's mode is called within itself up to the set depth, by default 16, then waits",
        arguments: [(nil, 16), (3, 3), (1, 1), (0, 1), (-5, 1), (40, 40)] as [(Int?, Int)])
    func depth(set: Int?, most: Int) async throws {
        try await onFreshThread { loop in
            let (depth, deepest, passes, isLimitSeen) = (Shared(0), Shared(0), Counter(), Flag())
            let (ids, total) = (Shared<[Int32]>([]), Int32(2 * most + 3))
            let port = try Port(RuntimeDirectory.newName()) { message in
                ids.update { $0.append(message.id) }
                depth.update { $0 += 1 }
                deepest.update { $0 = max($0, depth.value) }
                if depth.value == most, !isLimitSeen.isSet {
                    isLimitSeen.set()
                    let before = passes.value
                    loop.run(for: .milliseconds(20))
                    #expect(passes.value - before < 5)
                } else if message.id < total - 1, depth.value <= 2 * most {
                    loop.run(for: isLimitSeen.isSet ? .zero : .seconds(30), returningAfterSourceHandled: true)
                }
                depth.update { $0 -= 1 }
            }
            if let set { port.maximumHandlerDepth = set }
            #expect(port.maximumHandlerDepth == most)
            try loop.add(port, forMode: .default)
            loop.on(.beforeTimers) { _ in passes.increment() }
            let remote = try Remote.lookUp(port.name ?? "")
            for id in 0..<total { try remote.send(id) }
            while ids.value.count < total { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(deepest.value == most && ids.value == Array(0..<total))
            port.invalidate()
        }
    }

    @Test("a handler that raises its port's depth is called within itself from then on")
    func raisedWithin() async throws {
        try await onFreshThread { loop in
            let (trace, box) = (Recorder(), Shared<Port?>(nil))
            let port = try Port(RuntimeDirectory.newName()) { message in
                trace("begin \(message.id)")
                if message.id == 1 {
                    loop.run(for: .zero)
                    trace("raised")
                    box.value?.maximumHandlerDepth = 2
                    loop.run(for: .seconds(30), returningAfterSourceHandled: true)
                }
                trace("end \(message.id)")
            }
            box.value = port
            port.maximumHandlerDepth = 1
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            for id: Int32 in 1...2 { try remote.send(id) }
            while trace.lines.last != "end 1" { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(trace.lines == ["begin 1", "raised", "begin 2", "end 2", "end 1"])
            box.value = nil
            port.invalidate()
        }
    }

    @Test("a nested call counts toward the depth, even if the handler has moved its port to another mode")
    func movedWithin() async throws {
        try await onFreshThread { loop in
            let (depth, deepest, box) = (Shared(0), Shared(0), Shared<Port?>(nil))
            let (ids, inner) = (Shared<[Int32]>([]), GRunLoop.Mode("inner"))
            let port = try Port(RuntimeDirectory.newName()) { message in
                ids.update { $0.append(message.id) }
                depth.update { $0 += 1 }
                deepest.update { $0 = max($0, depth.value) }
                if let port = box.value {
                    for mode in [.default, inner] { loop.remove(port, forMode: mode) }
                    try? loop.add(port, forMode: inner)
                    loop.run(mode: inner, for: .zero)
                    loop.remove(port, forMode: inner)
                    try? loop.add(port, forMode: .default)
                }
                depth.update { $0 -= 1 }
            }
            box.value = port
            port.maximumHandlerDepth = 3
            try loop.add(port, forMode: .default)
            let remote = try Remote.lookUp(port.name ?? "")
            for id: Int32 in 0..<20 { try remote.send(id) }
            while ids.value.count < 20 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            #expect(deepest.value == 3 && ids.value == Array(0..<20))
            box.value = nil
            port.invalidate()
        }
    }

    // The thread's stack is never released, so the address sanitizer reports a leak.
    @Test(
        "a handler that ends its thread does not block its port: another loop serves the port",
        .disabled(if: sanitizer == "address"))
    func endsItsThread() async throws {
        let (worker, handled) = (try GRunLoop.Thread(name: "ends"), Counter())
        let port = try Port(RuntimeDirectory.newName()) { message in
            if message.id == 1 { pthread_exit(nil) }
            handled.increment()
        }
        port.maximumHandlerDepth = 1
        try worker.loop.add(port, forMode: .default)
        let remote = try Remote.lookUp(port.name ?? "")
        let send: @Sendable (Int32) throws -> Void = { try remote.send($0) }
        try send(1)
        await worker.waitUntilEnded()
        try await onFreshThread { loop in
            try loop.add(port, forMode: .default)
            try send(2)
            let end = GRunLoop.now + Patience.normal
            while handled.value == 0, GRunLoop.now < end {
                loop.run(for: .seconds(1), returningAfterSourceHandled: true)
            }
            #expect(handled.value == 1)
        }
        port.invalidate()
    }
}
