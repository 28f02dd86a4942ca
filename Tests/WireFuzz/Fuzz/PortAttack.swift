// SPDX-License-Identifier: Apache-2.0
// One connection to a port. The peer sends arbitrary packets and may leave at any time.

import CWire
import Glibc

/// A difference from the expected behaviour.
struct Finding: Error { let text: String }

struct PortAttack {
    /// The messages that the port must have handled before it closes the connection, and those that it may have
    /// handled.
    private(set) var sure: [Handled] = []
    private(set) var perhaps: [Handled] = []
    /// A connection that is still open and on which nothing was sent.
    private(set) var idle: Int32?
    private let socket: Int32

    init(_ path: String, _ random: inout UInt64) throws(Finding) {
        socket = wire_connect(path)
        guard socket >= 0 else { throw Finding(text: "no connection (\(errno))") }
        defer { if idle == nil { close(socket) } }
        switch wire_below(&random, 16) {
        case 0: idle = socket
        case 1: break
        case 2: flood(&random)
        case 3:
            shutdown(socket, Int32(SHUT_RD))
            _ = try send(&random, isDeaf: true)
            (perhaps, sure) = (sure, [])
        // The peer leaves, and the port handles its messages nevertheless.
        case 4...6: _ = try send(&random)
        case let way:
            let sent = try send(&random)
            if way < 9 { shutdown(socket, Int32(SHUT_WR)) }
            try receive(sent, ends: way < 9)
        }
    }

    fileprivate struct Reply: Hashable {
        let conversation: UInt32
        let kind: UInt8
        let hash: UInt64
    }

    private struct Sent {
        var replies: [Reply: Int] = [:]
        /// Replies that come later, unless the connection ends before.
        var late: [Reply: Int] = [:]
        /// Whether a packet was not sound, so that the connection ends.
        var isEnded = false
    }

    /// Sends up to 8 packets.
    private mutating func send(_ random: inout UInt64, isDeaf: Bool = false) throws(Finding) -> Sent {
        var sent = Sent()
        for _ in 0...wire_below(&random, 8) {
            var packet = wire_packet()
            wire_make(&random, true, &packet)
            defer { wire_free(&packet) }
            let error = wire_send(socket, &packet)
            guard error == 0 else {
                guard sent.isEnded || isDeaf else { throw Finding(text: "a sound connection has ended (\(error))") }
                return sent
            }
            if !packet.is_sound { sent.isEnded = true }
            if sent.isEnded { continue }
            let header = packet.header
            sure.append(Handled(header, packet))
            guard Int(header.kind) == WIRE_REQUEST else { continue }
            let action = Action(header.id)
            let kind = UInt8(action == .letsGo ? WIRE_UNANSWERED : WIRE_REPLY)
            let reply = Reply(
                conversation: header.conversation, kind: kind, hash: action == .letsGo ? 0 : packet.hash)
            if action == .answersLater {
                sent.late[reply, default: 0] += 1
            } else {
                sent.replies[reply, default: 0] += 1
            }
        }
        return sent
    }

    /// Receives the replies, and the end of the connection if one must come.
    private func receive(_ sent: Sent, ends: Bool) throws(Finding) {
        var sent = sent
        let ends = ends || sent.isEnded
        while ends || !sent.replies.isEmpty || !sent.late.isEmpty {
            var header = wire_header()
            var hash: UInt64 = 0
            let size = withUnsafeMutableBytes(of: &hash) {
                wire_receive(socket, &header, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 10_000)
            }
            guard size != 0 else {
                guard ends else { throw Finding(text: "a sound connection has ended, and \(sent) was to come") }
                guard sent.replies.isEmpty else { throw Finding(text: "replies are missing: \(sent.replies)") }
                return
            }
            guard size > 0 else { throw Finding(text: "neither a reply nor an end came: \(sent)") }
            let reply = Reply(conversation: header.conversation, kind: header.kind, hash: hash)
            guard sent.replies.take(reply) || sent.late.take(reply) else {
                throw Finding(text: "a reply without a request: \(reply), not \(sent)")
            }
        }
    }

    /// Sends many requests, and receives no reply.
    private mutating func flood(_ random: inout UInt64) {
        var packet = wire_packet()
        repeat {
            wire_free(&packet)
            wire_make(&random, true, &packet)
        } while !packet.is_sound || packet.size > 4096
        defer { wire_free(&packet) }
        packet.header.id &= ~3
        packet.header.kind = UInt8(WIRE_REQUEST)
        for _ in 0..<wire_below(&random, 1500) where wire_send(socket, &packet) == 0 {
            perhaps.append(Handled(packet.header, packet))
        }
    }
}

extension Handled {
    init(_ header: wire_header, _ packet: wire_packet) {
        self.init(id: header.id, length: header.length, hash: packet.hash, descriptors: packet.with)
    }
}

extension Dictionary<PortAttack.Reply, Int> {
    /// Removes one of these replies. Returns false if there is none.
    fileprivate mutating func take(_ reply: Key) -> Bool {
        guard let count = self[reply] else { return false }
        self[reply] = count == 1 ? nil : count - 1
        return true
    }
}
