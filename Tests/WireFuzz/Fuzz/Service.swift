// SPDX-License-Identifier: Apache-2.0
// The port that is attacked. It handles each message as the message's id says, so the sender knows what happens.

import CWire
import GRunLoop
import GRunLoopMessagePorts
import Glibc
import TestSupport

/// A message as a port has received it.
struct Handled: Hashable, Sendable {
    let id: Int32
    let length: UInt64
    let hash: UInt64
    let descriptors: UInt32
}

/// How the port handles a message.
enum Action {
    /// It replies with the hash.
    case replies
    /// It releases the request without a reply.
    case letsGo
    /// It replies from another thread.
    case answersLater

    init(_ id: Int32) { self = id & 3 < 2 ? .replies : id & 3 == 2 ? .letsGo : .answersLater }
}

func hash(of data: GRunLoop.MessageData) -> UInt64 { data.withUnsafeBytes { wire_hash($0.baseAddress, $0.count) } }

final class Service: Sendable {
    static let name = "org.example.wire"
    /// How often each message was handled.
    let handled: Shared<[Handled: Int]>
    private let thread = LoopThread.running()
    private let later = LoopThread.running()
    private let port: GRunLoop.MessagePort

    init() throws {
        let handled = Shared<[Handled: Int]>([:])
        self.handled = handled
        let later = later.loop
        port = try GRunLoop.MessagePort(Self.name) { message in
            let hash = hash(of: message.data)
            let seen = Handled(
                id: message.id, length: UInt64(message.data.count), hash: hash,
                descriptors: UInt32(message.descriptorCount))
            handled.update { $0[seen, default: 0] += 1 }
            // The port takes and returns some descriptors. The others are closed with the message.
            let taken = message.id & 4 == 0 ? [] : message.takeDescriptors()
            @Sendable func reply() {
                let reply = GRunLoop.MessageData(withUnsafeBytes(of: hash) { Array($0) })
                _ = try? message.reply?.send(reply, descriptors: taken)
                for descriptor in taken { close(descriptor) }
            }
            switch Action(message.id) {
            case .replies: reply()
            case .letsGo: for descriptor in taken { close(descriptor) }
            case .answersLater: later.async { reply() }
            }
        }
        try thread.loop.add(port, forMode: .default)
    }

    func end() {
        port.invalidate()
        thread.finish()
        later.finish()
    }
}
