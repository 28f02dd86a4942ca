// SPDX-License-Identifier: Apache-2.0
// 50 hostile connections to a port, of one kind.

import CWire
import GRunLoop
import Glibc
import TestSupport

/// A packet that is sent repeatedly.
struct Packet {
    var header: wire_header
    var bytes: [UInt8] = []
    var descriptors: [Int32] = []

    init(_ kind: Int, _ request: Request = .read, size: Int = 100, conversation: UInt32 = 1) {
        header = wire_header(
            magic: 0x4E55_5247, version: 1, kind: UInt8(kind), flags: 0, id: request.rawValue,
            conversation: conversation, length: UInt64(size))
        bytes = [UInt8](repeating: 1, count: size)
    }

    /// The same packet with its data in memory.
    func inMemory(_ size: Int, written: Int) -> Packet {
        var packet = self
        packet.header.flags = 1
        packet.header.length = UInt64(size)
        packet.bytes = []
        packet.descriptors = [wire_memory(size, written)]
        return packet
    }

    /// The same packet with descriptors.
    func with(_ count: Int) -> Packet {
        var packet = self
        packet.descriptors = (0..<count).map { _ in EventDescriptor.kept.descriptor }
        return packet
    }

    /// Returns 0 or errno, without waiting.
    func send(by socket: Int32) -> Int32 {
        withUnsafePointer(to: header) { header in
            wire_try_send(socket, header, bytes, bytes.count, descriptors, UInt32(descriptors.count))
        }
    }
}

extension EventDescriptor { fileprivate static let kept = EventDescriptor() }

/// Attacks the port whose socket is at a path, until it is killed.
func visit(_ visitor: Visitor, _ path: String) {
    guard visitor == .deafProcesses else { return visit(visitor, path, connections: crowd) { say("ready") } }
    for _ in 0..<crowd {
        _ = fork {
            wire_end_with_parent()
            visit(visitor, path, connections: 1) {}
            return 0
        }
    }
    say("ready")
    while true { pause() }
}

private func visit(_ visitor: Visitor, _ path: String, connections: Int, isReady: () -> Void) {
    var random: UInt64 = 1
    let packet = visitor.packet
    var sockets = (0..<connections).map { _ in enter(path) }
    var nextRead = GRunLoop.now
    isReady()
    while true {
        var records = sockets.map { pollfd(fd: $0, events: Int16(visitor == .silent ? 0 : POLLOUT), revents: 0) }
        poll(&records, nfds_t(records.count), 20)
        let reads = visitor == .slowReader && GRunLoop.now >= nextRead
        if reads { nextRead = GRunLoop.now + .milliseconds(100) }
        for (index, record) in records.enumerated() {
            if reads { _ = drain(record.fd, atMost: 1) }
            var error: Int32 = record.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 ? EPIPE : 0
            if error == 0, record.revents & Int16(POLLOUT) != 0 {
                error = visitor == .garbage ? sendGarbage(record.fd, &random) : send(packet, record.fd)
            }
            // A visitor that has left, or whose connection was ended, connects again.
            guard visitor == .shortVisit || (error != 0 && error != EAGAIN) else { continue }
            close(record.fd)
            sockets[index] = enter(path)
        }
    }

    /// Sends as many packets as there is room for; one on a short visit.
    func send(_ packet: Packet, _ socket: Int32) -> Int32 {
        for _ in 0..<(visitor == .shortVisit ? 1 : 64) {
            let error = packet.send(by: socket)
            if error != 0 { return error }
        }
        return 0
    }
}

extension Visitor {
    fileprivate var packet: Packet {
        let (oneWay, request) = (Int(WIRE_ONE_WAY), Int(WIRE_REQUEST))
        return switch self {
        case .silent, .chatter, .garbage: Packet(oneWay)
        case .memory: Packet(oneWay).inMemory(Size.gibibyte, written: Size.gibibyte)
        case .readMemory: Packet(oneWay).inMemory(Size.mebibyte, written: Size.mebibyte)
        case .keptMemory: Packet(oneWay, .hold).inMemory(100_000, written: 100_000)
        case .readHole: Packet(oneWay).inMemory(Size.mebibyte, written: Size.mebibyte - 4096)
        case .sparse: Packet(oneWay).inMemory(Size.gibibyte, written: 0)
        case .hole: Packet(oneWay).inMemory(Size.gibibyte, written: Size.gibibyte - 4096)
        case .deaf, .deafProcesses, .slowReader: Packet(request, .large, size: 1)
        case .shortVisit: Packet(request, .keep)
        case .descriptors: Packet(oneWay).with(16)
        case .tooManyDescriptors: Packet(oneWay).with(250)
        case .nesting: Packet(oneWay, .nest)
        }
    }
}

private func enter(_ path: String) -> Int32 {
    let socket = wire_connect(path)
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    return socket
}

/// Receives packets, and drops them.
func drain(_ socket: Int32, atMost count: Int) -> Int {
    var taken = 0
    var (header, data) = (wire_header(), UInt64(0))
    while taken < count {
        let size = withUnsafeMutableBytes(of: &data) {
            wire_receive(socket, &header, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), 0)
        }
        guard size > 0 else { break }
        taken += 1
    }
    return taken
}

private func sendGarbage(_ socket: Int32, _ random: inout UInt64) -> Int32 {
    var packet = wire_packet()
    repeat {
        wire_free(&packet)
        wire_make(&random, true, &packet)
    } while packet.is_sound
    defer { wire_free(&packet) }
    return withUnsafePointer(to: packet) { wire_send_now(socket, $0) }
}
