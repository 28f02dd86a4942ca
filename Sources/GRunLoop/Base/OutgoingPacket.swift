// SPDX-License-Identifier: Apache-2.0
// A packet that is sent by a message port or to one.

import CGRun
import Glibc

/// What a packet means.
enum PacketKind: UInt8 {
    case oneWay = 0, request, reply
    /// A request was let go of without a reply.
    case unanswered
}

/// A message to be sent, once or after several tries. The descriptors are the caller's until ``keep()``.
final class OutgoingPacket: @unchecked Sendable {
    @exclusivity(unchecked) private(set) var header: cgrun_packet
    private let data: GRunLoop.MessageData
    /// The caller's, or copies that are ours.
    @exclusivity(unchecked) private var descriptors: [Int32]
    private var ownsDescriptors = false
    /// Where the bytes are, if there are too many for a packet.
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
            magic: UInt32(CGRUN_PACKET_MAGIC), version: UInt8(CGRUN_PACKET_VERSION), kind: kind.rawValue, flags: 0,
            id: id, conversation: conversation, length: UInt64(data.count))
        if data.count > CGRUN_PACKET_INLINE { try moveToMemory() }
    }

    deinit {
        if memory >= 0 { cgrun_close(memory) }
        if ownsDescriptors { for descriptor in descriptors { cgrun_close(descriptor) } }
    }

    /// How much of the sender's memory it holds, and how many of its descriptors.
    var size: Int { data.count }
    var descriptorCount: Int { descriptors.count + (memory >= 0 ? 1 : 0) }

    private func moveToMemory() throws(GRunLoop.MessageRequestError) {
        memory = data.withUnsafeBytes { cgrun_memory_new($0.baseAddress, $0.count) }
        guard memory >= 0 else { throw .transportError(errno: errno) }
        header.flags = UInt16(CGRUN_PACKET_IN_MEMORY)
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

    /// Returns 0 or errno.
    func send(by socket: Int32) -> Int32 {
        if memory >= 0 {
            return cgrun_packet_send(socket, &header, nil, 0, [memory] + descriptors, UInt32(descriptors.count + 1))
        }
        let error = data.withUnsafeBytes {
            cgrun_packet_send(socket, &header, $0.baseAddress, $0.count, descriptors, UInt32(descriptors.count))
        }
        // Somebody has made the system's queues shorter than a packet.
        guard error == EMSGSIZE, data.count > 0 else { return error }
        do throws(GRunLoop.MessageRequestError) { try moveToMemory() } catch {
            if case .transportError(let errno) = error { return errno }
            return EMSGSIZE
        }
        return send(by: socket)
    }
}
