// SPDX-License-Identifier: Apache-2.0
// Message ports beside peers that send too much: whose turn it is, and how deep a handler is called within itself.

import Glibc
import TestSupport
import Testing

@testable import GRunLoop

private typealias Port = GRunLoop.MessagePort
private typealias Remote = GRunLoop.RemoteMessagePort

@Suite("Message ports: turns") struct MessagePortTurnsTests {
    @Test("20 senders with full queues have one message each before the one of another sender")
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
            // All are let in.
            loop.run(for: .seconds(30), returningAfterSourceHandled: true)
            while port.connectionCount < 20 { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            let remote = try Remote.lookUp(port.name ?? "")
            let before = ids.value.count
            try remote.send(100)
            while !ids.value.contains(100) { loop.run(for: .seconds(30), returningAfterSourceHandled: true) }
            // Each of them may have been about to be served twice: once before the other was let in.
            #expect(ids.value.count - before <= 42)
            withExtendedLifetime(floods) { port.invalidate() }
        }
    }

    @Test("each late reply is a call of its own, between which the loop does other things")
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

    @Test("to send, and to look whether a port is valid, do not wait for a thread that receives its replies")
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
}
