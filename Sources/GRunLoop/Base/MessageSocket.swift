// SPDX-License-Identifier: Apache-2.0
// One end of a connection between message ports: packets go out, packets come in.

import CGRun
import Glibc

/// What a packet means.
enum PacketKind: UInt8 {
    case oneWay = 0, request, reply
    /// A request was let go of without a reply.
    case unanswered
}

/// Descriptors that came with a message: closed with it, unless somebody takes them.
final class ReceivedDescriptors: @unchecked Sendable {
    private let lock = Lock.take()
    private var descriptors: [Int32]

    init(_ descriptors: [Int32]) { self.descriptors = descriptors }

    deinit {
        for descriptor in descriptors { cgrun_close(descriptor) }
        Lock.giveBack(lock)
    }

    var count: Int { lock.withLock { descriptors.count } }

    func take() -> [Int32] {
        lock.withLock {
            let taken = descriptors
            descriptors = []
            return taken
        }
    }
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
    fileprivate func send(by socket: Int32) -> Int32 {
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

/// A message that has come.
struct IncomingPacket {
    let kind: PacketKind
    let id: Int32
    let conversation: UInt32
    let data: GRunLoop.MessageData
    let descriptors: ReceivedDescriptors?
}

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
        if !Fork.isChild { cgrun_kept_close(descriptor) }
    }

    enum Sent {
        case sent, full
        /// The other end is not there any more.
        case gone
        /// This message cannot be sent.
        case failed(errno: Int32)
    }

    func send(_ packet: OutgoingPacket) -> Sent {
        switch packet.send(by: descriptor) {
        case 0: .sent
        case EAGAIN: .full
        case EPIPE, ECONNRESET, ENOTCONN, ECONNREFUSED: .gone
        case let error: .failed(errno: error)
        }
    }

    enum Received {
        case packet(IncomingPacket)
        case nothing
        /// The other end is not there any more, or sends what is none of our packets.
        case end
        /// What has come could not be received: no descriptor or no memory is left.
        case lost(errno: Int32)
    }

    func receive() -> Received {
        withUnsafeTemporaryAllocation(
            byteCount: MemoryLayout<cgrun_packet>.size + Int(CGRUN_PACKET_INLINE), alignment: 1
        ) { buffer in
            withUnsafeTemporaryAllocation(of: Int32.self, capacity: Int(CGRUN_PACKET_DESCRIPTORS)) { numbers in
                var count: UInt32 = 0
                let size = cgrun_packet_receive(
                    descriptor, buffer.baseAddress, buffer.count, numbers.baseAddress, &count)
                guard size >= 0 else {
                    switch errno {
                    case EAGAIN: return .nothing
                    case EMFILE, ENOMEM, ENOBUFS: return .lost(errno: errno)
                    default: return .end
                    }
                }
                return parse(
                    UnsafeRawBufferPointer(rebasing: buffer[..<size]), count > 0 ? Array(numbers[..<Int(count)]) : [])
            }
        }
    }

    /// What is wrong in any bit is not of ours.
    private func parse(_ bytes: UnsafeRawBufferPointer, _ numbers: [Int32]) -> Received {
        var numbers = numbers[...]
        var body: ReceivedDescriptors?
        guard bytes.count >= MemoryLayout<cgrun_packet>.size else { return refuse(numbers) }
        let header = bytes.loadUnaligned(as: cgrun_packet.self)
        let isInMemory = header.flags == CGRUN_PACKET_IN_MEMORY
        guard header.magic == CGRUN_PACKET_MAGIC, header.version == CGRUN_PACKET_VERSION,
            let kind = PacketKind(rawValue: header.kind), header.flags == 0 || isInMemory
        else { return refuse(numbers) }
        let inline = UnsafeRawBufferPointer(rebasing: bytes[MemoryLayout<cgrun_packet>.size...])
        let data: GRunLoop.MessageData
        if isInMemory {
            guard inline.isEmpty, header.length > 0, header.length <= Self.longest, let memory = numbers.popFirst()
            else { return refuse(numbers) }
            body = ReceivedDescriptors([memory])
            guard let mapping = MappedMemory(memory, Int(header.length)) else {
                return errno == EBADMSG ? refuse(numbers) : lose(numbers, errno)
            }
            data = GRunLoop.MessageData(mapping)
        } else {
            guard header.length == inline.count, numbers.count < CGRUN_PACKET_DESCRIPTORS else {
                return refuse(numbers)
            }
            data = GRunLoop.MessageData([UInt8](inline))
        }
        withExtendedLifetime(body) {}
        return .packet(
            IncomingPacket(
                kind: kind, id: header.id, conversation: header.conversation, data: data,
                descriptors: numbers.isEmpty ? nil : ReceivedDescriptors(Array(numbers))))
    }

    private func refuse(_ numbers: ArraySlice<Int32>) -> Received {
        for number in numbers { cgrun_close(number) }
        return .end
    }

    private func lose(_ numbers: ArraySlice<Int32>, _ error: Int32) -> Received {
        for number in numbers { cgrun_close(number) }
        return .lost(errno: error)
    }

    /// Whether the other end is there, or something that it has sent.
    var isConnected: Bool { cgrun_packet_is_connected(descriptor) }

    /// No more packets. The other end is told.
    func end() { cgrun_packet_shut(descriptor) }
}
