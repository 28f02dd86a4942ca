// SPDX-License-Identifier: Apache-2.0
// One request to a false service, which sends arbitrary packets before and after the request.

import CGRun
import CGRunMessagePorts
import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

struct ReplyAttack {
    private static let name = "org.example.false"

    private enum Outcome: Equatable {
        case reply(length: UInt64, hash: UInt64, descriptors: UInt32)
        case error(GRunLoop.MessageRequestError)
    }

    /// The packets, and whether each is sent as the reply to the request.
    private struct Script: @unchecked Sendable {
        var packets: [(packet: wire_packet, isAnswer: Bool)] = []
        var before = 0
        var closes = true
        /// Whether one late reply is sent repeatedly, by several threads, so that the client's queue is never empty.
        var floods = false

        func free() {
            for (packet, _) in packets {
                var packet = packet
                wire_free(&packet)
            }
        }

        /// The result that the client must get.
        var outcome: Outcome {
            for (packet, isAnswer) in packets {
                // The client does not read the memory of replies to other requests.
                let isRead = isAnswer && Int(packet.header.kind) == WIRE_REPLY
                guard isRead ? packet.is_sound : packet.is_sound_unread else { return .error(.becameInvalid) }
                guard isAnswer else { continue }
                if !isRead { return .error(.unanswered) }
                return .reply(length: packet.header.length, hash: packet.hash, descriptors: packet.with)
            }
            return .error(closes ? .becameInvalid : .receiveTimeout)
        }

        init(_ random: inout UInt64) {
            floods = wire_below(&random, 32) == 0
            closes = !floods && wire_below(&random, 4) > 0
            let count = floods ? 1 : Int(wire_below(&random, 7))
            while packets.count < count {
                var packet = wire_packet()
                wire_make(&random, false, &packet)
                if floods, !packet.is_sound || packet.header.length > 100 || packet.count > 0 {
                    wire_free(&packet)
                    continue
                }
                // The first request of a port has number 1.
                if packet.header.conversation == 1 { packet.header.conversation = 2 }
                packets.append((packet, !floods && wire_below(&random, 3) == 0))
            }
            before = floods ? 0 : Int(wire_below(&random, UInt64(count + 1)))
            for index in 0..<before { packets[index].isAnswer = false }
        }

        /// Sends the packets to the next client, until the client leaves or all are sent.
        func play(_ listener: Int32, _ isOver: Flag) {
            let socket = wire_accept(listener)
            defer { close(socket) }
            for (packet, _) in packets[..<before] where !send(packet, socket) { return }
            var (request, ignored) = (wire_header(), UInt64(0))
            let size = withUnsafeMutableBytes(of: &ignored) {
                wire_receive(socket, &request, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 10_000)
            }
            guard size > 0 else { return }
            for (packet, isAnswer) in packets[before...] {
                var packet = packet
                if isAnswer { packet.header.conversation = request.conversation }
                guard send(packet, socket) else { return }
                guard floods else { continue }
                nonisolated(unsafe) let late = packet
                let flooders = (0..<12).map { _ in startThread { while !isOver.isSet, send(late, socket) {} } }
                for flooder in flooders { join(flooder) }
            }
            if !closes { _ = isOver.wait(timeout: .seconds(30)) }
        }

        private func send(_ packet: wire_packet, _ socket: Int32) -> Bool {
            withUnsafePointer(to: packet) { wire_send(socket, $0) == 0 }
        }
    }

    /// Runs the whole attack. The directory of the names must exist.
    init(_ random: inout UInt64) throws {
        let script = Script(&random)
        defer { script.free() }
        var file = [CChar](repeating: 0, count: Int(CGRUN_PORT_FILE))
        cgrun_port_file(Self.name, &file)
        let name = String(decoding: file.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let path = RuntimeDirectory.path + "/grun-ports/" + name
        let listener = wire_listen(path)
        guard listener >= 0 else { throw Finding(text: "no false service (\(errno))") }
        defer {
            unlink(path)
            close(listener)
        }
        let isOver = Flag()
        let thread = startThread { script.play(listener, isOver) }
        defer {
            isOver.set()
            join(thread)
        }
        let remote = try GRunLoop.RemoteMessagePort.lookUp(Self.name)
        defer { remote.invalidate() }
        let limit: Duration = script.outcome == .error(.receiveTimeout) ? .milliseconds(20) : .seconds(20)
        let start = GRunLoop.now
        let outcome = Self.ask(remote, limit)
        guard GRunLoop.now - start < limit + .seconds(script.floods ? 1 : 10) else {
            throw Finding(text: "a limit of \(limit) was \(GRunLoop.now - start)")
        }
        guard outcome == script.outcome else {
            throw Finding(text: "the client got \(outcome), not \(script.outcome)")
        }
    }

    private static func ask(_ remote: GRunLoop.RemoteMessagePort, _ limit: Duration) -> Outcome {
        do throws(GRunLoop.MessageRequestError) {
            let reply = try remote.request(1, [1], sendTimeout: .seconds(20), receiveTimeout: limit)
            return .reply(
                length: UInt64(reply.data.count), hash: hash(of: reply.data),
                descriptors: UInt32(reply.descriptorCount))
        } catch { return .error(error) }
    }
}
