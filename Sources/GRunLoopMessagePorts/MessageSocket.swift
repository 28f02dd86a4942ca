// SPDX-License-Identifier: Apache-2.0
// The socket at one end of a connection between message ports. It sends and receives packets.

import CGRun
import CGRunMessagePorts
import GRunLoop
import Glibc

/// A socket for packets. The object can be made before the socket is connected. The descriptor stays open until this
/// object is released, because other threads may poll the descriptor. Threads: any; packets are sent and received
/// whole.
final class MessageSocket: Sendable {
    /// The largest number of bytes in a message, as in Core Foundation.
    static let longest = 0x6000_0000

    let descriptor: Int32

    /// Makes a socket that is not connected. On failure, returns nil and sets errno.
    convenience init?() { self.init(cgrun_port_socket()) }

    /// Takes ownership of a descriptor. Returns nil if the descriptor is negative; then errno holds the reason.
    init?(_ descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        if Fork.isChild { return }
        cgrun_packet_drain(descriptor)
        cgrun_kept_close(descriptor)
    }

    enum Sent {
        case sent
        /// There is no room for the packet until the other end takes packets or memory.
        case full
        /// A resource is short for now, and no event reports the end of the shortage.
        case short(errno: Int32)
        /// The other end has gone.
        case gone
        /// This message can never be sent.
        case failed(errno: Int32)

        /// The result of a call that returned 0 or errno. 0 means that the packet was sent.
        init(_ error: Int32, of call: MessageCall) {
            guard error != 0 else {
                self = .sent
                return
            }
            self =
                switch MessageFault.of(error, in: call) {
                case .room: .full
                case .shortage: .short(errno: error)
                case .gone: .gone
                case .permanent, .defect: .failed(errno: error)
                }
        }
    }

    func send(_ packet: OutgoingPacket) -> Sent { packet.send(by: descriptor) }

    enum Received {
        case packet(IncomingPacket)
        case nothing
        /// The other end has gone, or has sent bytes that are not a packet of this library.
        case end
        /// A packet has arrived but cannot be received, because no descriptor or memory is left. The packet is lost.
        case lost(errno: Int32)
    }

    /// Receives a packet, if there is one, without waiting. `allowance` counts the resources that the packet holds.
    func receive(countedBy allowance: MessageAllowance? = nil) -> Received {
        withUnsafeTemporaryAllocation(
            byteCount: MemoryLayout<cgrun_packet>.size + Int(CGRUN_PACKET_INLINE), alignment: 1
        ) { buffer in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(CGRUN_PACKET_DESCRIPTORS)) { numbers in
                var count: UInt32 = 0
                let size = cgrun_packet_receive(
                    descriptor, buffer.baseAddress, buffer.count, numbers.baseAddress, &count)
                guard size >= 0 else {
                    switch MessageFault.of(errno, in: .receive) {
                    case .room: return .nothing
                    case .shortage: return .lost(errno: errno)
                    case .permanent, .gone, .defect: return .end
                    }
                }
                return parse(
                    UnsafeRawBufferPointer(rebasing: buffer[..<size]), count > 0 ? Array(numbers[..<Int(count)]) : [],
                    allowance)
            }
        }
    }

    /// Checks the header of a packet. If any field is wrong, the packet is not from this library. Then the result is
    /// ``Received/end``.
    private func parse(
        _ bytes: UnsafeRawBufferPointer, _ numbers: [Int32], _ allowance: MessageAllowance?
    ) -> Received {
        var numbers = numbers[...]
        guard bytes.count >= MemoryLayout<cgrun_packet>.size else { return refuse(numbers) }
        let header = bytes.loadUnaligned(as: cgrun_packet.self)
        let isInMemory = header.flags == CGRUN_PACKET_IN_MEMORY
        guard header.magic == CGRUN_PACKET_MAGIC, header.version == CGRUN_PACKET_VERSION,
            let kind = PacketKind(rawValue: header.kind), header.flags == 0 || isInMemory
        else { return refuse(numbers) }
        let inline = UnsafeRawBufferPointer(rebasing: bytes[MemoryLayout<cgrun_packet>.size...])
        let body: IncomingPacket.Body
        if isInMemory {
            guard inline.isEmpty, header.length > 0, header.length <= Self.longest, let memory = numbers.popFirst()
            else { return refuse(numbers) }
            body = .memory(ReceivedDescriptors([memory], countedBy: allowance), size: Int(header.length))
        } else {
            guard header.length == inline.count, numbers.count < CGRUN_PACKET_DESCRIPTORS else {
                return refuse(numbers)
            }
            body = .bytes([UInt8](inline))
        }
        return .packet(
            IncomingPacket(
                kind: kind, id: header.id, conversation: header.conversation, body: body,
                descriptors: numbers.isEmpty
                    ? nil : ReceivedDescriptors(Array(numbers), countedBy: allowance),
                allowance: allowance))
    }

    private func refuse(_ numbers: ArraySlice<Int32>) -> Received {
        for number in numbers { cgrun_close(number) }
        return .end
    }

    /// Whether the other end is still there. If the other end has gone, packets that it sent before can still be
    /// received.
    var isConnected: Bool { cgrun_packet_is_connected(descriptor) }

    /// True if the other end has taken all packets, or if a sandbox forbids the query.
    var isAllTaken: Bool { cgrun_packet_all_taken(descriptor) }

    /// The id of the process that connected the other end; 0 if it is in another PID namespace.
    var peer: pid_t { cgrun_packet_peer(descriptor) }

    /// Whether the socket was connected. The other end may have gone since.
    var hasPeer: Bool {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout.size(ofValue: address))
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
        }
    }

    /// Shuts down the connection in both directions. The other end notices the end.
    func end() { cgrun_packet_shut(descriptor) }
}
