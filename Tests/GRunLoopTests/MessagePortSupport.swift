// SPDX-License-Identifier: Apache-2.0
// Peers of message ports that send packets which no port of the library sends.

import CGRun
import CGRunMessagePorts
import Glibc
import TestSupport

@testable import GRunLoop
@testable import GRunLoopMessagePorts

/// Memory that can be sealed, with constants that Swift cannot import from Glibc.
enum SealableMemory {
    /// The seals against shrinking, growing and writing.
    static let needed: Int32 = 14

    static func make() -> Int32 {
        typealias Make = @convention(c) (UnsafePointer<CChar>, UInt32) -> Int32
        let (closeOnExec, allowSealing): (UInt32, UInt32) = (1, 2)
        return unsafeBitCast(dlsym(nil, "memfd_create"), to: Make.self)("test", closeOnExec | allowSealing)
    }

    static func seal(_ memory: Int32, _ seals: Int32) -> Bool {
        let addSeals: Int32 = 1033
        return fcntl(memory, addSeals, seals) == 0
    }

    static func allocateBehind(_ memory: Int32, _ size: Int) -> Bool {
        typealias Allocate = @convention(c) (Int32, Int32, Int, Int) -> Int32
        let keepSize: Int32 = 1
        return unsafeBitCast(dlsym(nil, "fallocate"), to: Allocate.self)(memory, keepSize, size, size) == 0
    }

    /// Makes memory that begins with these bytes, followed by zeros.
    static func make(_ bytes: [UInt8], size: Int, seals: Int32 = needed) -> Int32 {
        let memory = make()
        precondition(ftruncate(memory, size) == 0 && write(memory, bytes, bytes.count) == bytes.count)
        precondition(seal(memory, seals))
        return memory
    }
}

/// One end of a connection that uses the ports' protocol, and sends any packets.
struct BarePeer {
    let socket: MessageSocket

    init(to name: String) throws {
        socket = try require(MessageSocket())
        guard try PortName(name).connect(socket) else { throw Missing() }
    }

    /// Accepts the next client that connects to a name.
    init(of claim: PortClaim) throws {
        waitUntilReadable(claim.listener)
        socket = try require(claim.accept())
    }

    func receive() throws -> IncomingPacket {
        waitUntilReadable(socket.descriptor)
        guard case .packet(let packet) = socket.receive() else { throw Missing() }
        return packet
    }

    /// Returns 0 or the errno.
    @discardableResult func send(
        _ kind: PacketKind, conversation: UInt32, _ bytes: [UInt8] = [], memory: Int32 = -1, size: Int = 0
    ) -> Int32 {
        var header = cgrun_packet(
            magic: UInt32(CGRUN_PACKET_MAGIC), version: UInt8(CGRUN_PACKET_VERSION), kind: kind.rawValue,
            flags: memory >= 0 ? UInt16(CGRUN_PACKET_IN_MEMORY) : 0, id: 1, conversation: conversation,
            length: UInt64(memory >= 0 ? size : bytes.count))
        return cgrun_packet_send(
            socket.descriptor, &header, bytes, bytes.count, [memory], memory >= 0 ? 1 : 0)
    }

    /// Sends the packet until there is no room. Returns the number of packets.
    func fill(with packet: OutgoingPacket) -> Int {
        var count = 0
        while case .sent = socket.send(packet) { count += 1 }
        return count
    }
}

private struct Missing: Error {}

private func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

private func waitUntilReadable(_ descriptor: Int32) {
    var record = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    // Signals of other tests interrupt the poll.
    while poll(&record, 1, 120_000) < 0, errno == EINTR {}
}
