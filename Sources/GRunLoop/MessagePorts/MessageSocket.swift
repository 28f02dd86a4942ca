// SPDX-License-Identifier: Apache-2.0
// One end of a connection between message ports: packets go out, packets come in.

import CGRun
import Glibc

/// A connected socket, or one to be connected. It is closed with this object, and not before: threads may be in a poll
/// with it. Threads: any; packets are sent and received whole.
final class MessageSocket: Sendable {
    /// Core Foundation's limit.
    static let longest = 0x6000_0000

    let descriptor: Int32

    /// One that is not connected. Nil and errno if there cannot be one.
    convenience init?() { self.init(cgrun_port_socket()) }

    /// Nil if it is none: errno says why.
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
        /// There is no room for it until the other end has taken some.
        case full
        /// Something is used up for now: no event tells when that is over.
        case short(errno: Int32)
        /// The other end is not there any more.
        case gone
        /// This message cannot be sent.
        case failed(errno: Int32)

        /// 0 is no error.
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
        /// The other end is not there any more, or sends what is none of our packets.
        case end
        /// What has come could not be received: no descriptor or no memory is left.
        case lost(errno: Int32)
    }

    /// The allowance, if there is one, counts the resources of the packet.
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

    /// What is wrong in any bit is not of ours.
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

    /// Whether the other end is there, or something that it has sent.
    var isConnected: Bool { cgrun_packet_is_connected(descriptor) }

    /// Whether the other end has taken all that was sent.
    var isAllTaken: Bool { cgrun_packet_all_taken(descriptor) }

    /// The process at the other end, when it connected; 0 if it is in another namespace of processes.
    var peer: pid_t { cgrun_packet_peer(descriptor) }

    /// Whether it was connected, though the peer may have gone.
    var hasPeer: Bool {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout.size(ofValue: address))
        return withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
        }
    }

    /// No more packets. The other end is told.
    func end() { cgrun_packet_shut(descriptor) }
}
