// SPDX-License-Identifier: Apache-2.0
// A packet that is sent by a message port or to one.

import CGRun
import Glibc

/// The meaning of a packet.
enum PacketKind: UInt8 {
    case oneWay = 0, request, reply
    /// A request was released without a reply.
    case unanswered
}

/// A message to be sent, once or after several tries. The descriptors are the caller's until ``keep()``.
final class OutgoingPacket: @unchecked Sendable {
    @exclusivity(unchecked) private(set) var header: cgrun_packet
    private let data: GRunLoop.MessageData
    /// The caller's, or copies that are ours.
    @exclusivity(unchecked) private var descriptors: [Int32]
    @exclusivity(unchecked) private var ownsDescriptors = false
    /// Where the bytes are, if there are too many for a packet: -1 until it is about to be sent, so that a message that
    /// waits behind others has no descriptor.
    @exclusivity(unchecked) private var memory: Int32 = -1

    init(
        _ kind: PacketKind, id: Int32, conversation: UInt32, _ data: GRunLoop.MessageData, _ descriptors: [Int32]
    ) throws(GRunLoop.MessageRequestError) {
        guard data.count <= MessageSocket.longest, descriptors.count < CGRUN_PACKET_DESCRIPTORS else {
            throw .transportError(errno: EMSGSIZE)
        }
        self.data = data
        self.descriptors = descriptors
        header = cgrun_packet(
            magic: UInt32(CGRUN_PACKET_MAGIC), version: UInt8(CGRUN_PACKET_VERSION), kind: kind.rawValue,
            flags: data.count > CGRUN_PACKET_INLINE ? UInt16(CGRUN_PACKET_IN_MEMORY) : 0, id: id,
            conversation: conversation, length: UInt64(data.count))
    }

    deinit { close() }

    /// How much of the sender's memory it holds, and how many of its descriptors.
    var size: Int { data.count }
    var descriptorCount: Int { descriptors.count }

    /// Whether its bytes go as memory of their own.
    var isInMemory: Bool { header.flags & UInt16(CGRUN_PACKET_IN_MEMORY) != 0 }

    /// Copies the bytes of one that ``isInMemory`` to its memory, which takes as long as there are bytes. Returns 0 or
    /// errno.
    func makeMemory() -> Int32 {
        guard isInMemory, memory < 0 else { return 0 }
        memory = data.withUnsafeBytes { cgrun_memory_new($0.baseAddress, $0.count) }
        return memory >= 0 ? 0 : errno
    }

    /// Copies the descriptors, which the caller may close from now on.
    func keep() throws(GRunLoop.MessageRequestError) {
        guard !ownsDescriptors, !descriptors.isEmpty else { return }
        var copies: [Int32] = []
        for descriptor in descriptors {
            let copy = cgrun_duplicate(descriptor)
            guard copy >= 0 else {
                let error = errno
                for copy in copies { cgrun_close(copy) }
                throw .transportError(errno: error)
            }
            copies.append(copy)
        }
        descriptors = copies
        ownsDescriptors = true
    }

    /// It was sent, or never will be: closes what is ours.
    func close() {
        closeMemory()
        if ownsDescriptors {
            for descriptor in descriptors { cgrun_close(descriptor) }
            ownsDescriptors = false
        }
    }

    /// The memory is made again when the message is about to be sent.
    func closeMemory() {
        if memory >= 0 { cgrun_close(memory) }
        memory = -1
    }

    /// A reply that cannot be sent: from now on it says that there is none.
    func decline() {
        header.kind = PacketKind.unanswered.rawValue
        (header.flags, header.length) = (0, 0)
    }

    func send(by socket: Int32) -> MessageSocket.Sent {
        if header.kind == PacketKind.unanswered.rawValue {
            return .init(cgrun_packet_send(socket, &header, nil, 0, nil, 0), of: .send)
        }
        if isInMemory {
            let error = makeMemory()
            guard error == 0 else { return .init(error, of: .memory) }
            let all = [memory] + descriptors
            return .init(cgrun_packet_send(socket, &header, nil, 0, all, UInt32(all.count)), of: .send)
        }
        let error = data.withUnsafeBytes {
            cgrun_packet_send(socket, &header, $0.baseAddress, $0.count, descriptors, UInt32(descriptors.count))
        }
        // Somebody has made the system's queues shorter than a packet.
        guard error == EMSGSIZE, data.count > 0 else { return .init(error, of: .send) }
        header.flags = UInt16(CGRUN_PACKET_IN_MEMORY)
        return send(by: socket)
    }
}
