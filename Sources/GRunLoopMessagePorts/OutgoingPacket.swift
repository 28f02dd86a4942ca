// SPDX-License-Identifier: Apache-2.0
// A packet that a message port or its client sends.

import CGRun
import CGRunMessagePorts
import GRunLoop
import Glibc

enum PacketKind: UInt8 {
    case oneWay = 0, request, reply
    /// Tells the client that there is no reply, for example because the receiver released the request.
    case unanswered
}

/// A message that is sent in one or several tries. The caller owns the descriptors until ``keep()`` copies them.
final class OutgoingPacket: @unchecked Sendable {
    @exclusivity(unchecked) private(set) var header: cgrun_packet
    private let data: GRunLoop.MessageData
    /// The caller's descriptors, or copies that this packet owns.
    @exclusivity(unchecked) private var descriptors: [Int32]
    @exclusivity(unchecked) private var ownsDescriptors = false
    /// The descriptor of memory with the data, if there is too much data for a packet. It is -1 until the message is
    /// about to be sent, so that a waiting message needs no descriptor for its data.
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

    var size: Int { data.count }
    var descriptorCount: Int { descriptors.count }

    /// Whether the data is sent as memory, and not inside the packet.
    var isInMemory: Bool { header.flags & UInt16(CGRUN_PACKET_IN_MEMORY) != 0 }

    /// Copies the data to new memory, if the packet ``isInMemory`` and has no memory yet. The copy takes longer for
    /// larger data. Returns 0 or errno.
    func makeMemory() -> Int32 {
        guard isInMemory, memory < 0 else { return 0 }
        memory = data.withUnsafeBytes { cgrun_memory_new($0.baseAddress, $0.count) }
        return memory >= 0 ? 0 : errno
    }

    /// Duplicates the descriptors. The caller may then close the originals.
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

    /// Closes the descriptors that this packet owns. Call this function after the packet was sent, or when it will
    /// never be sent.
    func close() {
        closeMemory()
        if ownsDescriptors {
            for descriptor in descriptors { cgrun_close(descriptor) }
            ownsDescriptors = false
        }
    }

    /// Closes the memory. A later call of ``send(by:)`` makes the memory again.
    func closeMemory() {
        if memory >= 0 { cgrun_close(memory) }
        memory = -1
    }

    /// Turns a reply that cannot be sent into a packet which says that there is no reply.
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
        // EMSGSIZE means that the socket's queue is smaller than this packet, for example because the system's limits
        // are low. The data is then sent as memory.
        guard error == EMSGSIZE, data.count > 0 else { return .init(error, of: .send) }
        header.flags = UInt16(CGRUN_PACKET_IN_MEMORY)
        return send(by: socket)
    }
}
