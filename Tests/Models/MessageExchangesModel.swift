// SPDX-License-Identifier: Apache-2.0
// The exchanges of a remote port, over a real socket with a small buffer.

import CGRun
import CGRunMessagePorts
import Glibc

@testable import GRunLoop
@testable import GRunLoopMessagePorts

final class MessageExchangesModel: Model {
    static let name = "MessageExchanges"

    private let socket: MessageSocket
    private let peer: Int32
    private var exchanges = MessageExchanges()
    private var sending: [MessageExchange] = []
    private var waiting: [MessageExchange] = []
    private var conversation: UInt32

    init(_ random: inout Random) {
        // Conversation numbers that wrap around to 0.
        conversation = random.once(in: 2) ? 0 : .max - 40
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0 else {
            fatalError("socketpair: \(String(cString: strerror(errno)))")
        }
        var size: Int32 = 4608
        setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        // The library closes its sockets as descriptors that are kept.
        let kept = cgrun_port_socket()
        dup2(ends[0], kept)
        close(ends[0])
        guard let socket = MessageSocket(kept) else { fatalError("no descriptor is left for a socket") }
        self.socket = socket
        peer = ends[1]
    }

    deinit { close(peer) }

    func step(_ random: inout Random) throws {
        switch random.below(20) {
        case 0...6: try begin(wantsReply: random.once(in: 2), size: random.below(1500))
        case 7...10: drain(random.below(8))
        case 11, 12: try send()
        case 13...15:
            let known = random.once(in: 3) ? nil : random.element(of: waiting)?.conversation
            try reply(known ?? conversation &- UInt32(random.below(20)))
        case 16...18: try giveUp(random.element(of: sending + waiting), early: random.once(in: 2))
        default: if random.once(in: 10) { try endAll() }
        }
        try expect(exchanges.isBlocked, is: !sending.isEmpty, "whether some wait for room")
        for exchange in sending + waiting {
            try expect(exchanges.underWay(exchange.conversation) === exchange, "an exchange is not under way")
        }
    }

    func finish() throws {
        for _ in 0..<1000 where !sending.isEmpty {
            drain(8)
            try send()
        }
        try expect(sending.isEmpty, "a message is never sent")
        try endAll()
        try expect(Counted.count, is: 0, "exchanges that were not released")
    }

    // MARK: Operations

    private func begin(wantsReply: Bool, size: Int) throws {
        conversation &+= 1
        Journal.note("begin \(conversation) of \(size) bytes\(wantsReply ? ", which wants a reply" : "")")
        let data = GRunLoop.MessageData([UInt8](repeating: 7, count: size))
        let counted = Counted(Int(conversation))
        let packet = try OutgoingPacket(wantsReply ? .request : .oneWay, id: 1, conversation: conversation, data, [])
        let exchange = MessageExchange(packet) { withExtendedLifetime(counted) {} }
        let isBlocked = !sending.isEmpty
        try expect(!exchanges.begin(exchange, by: socket), "the other end is gone")
        if case .sending = exchange.stage { return sending.append(exchange) }
        try expect(!isBlocked, "a message has overtaken others")
        try noteSent(exchange)
    }

    private func noteSent(_ exchange: MessageExchange) throws {
        switch (exchange.stage, exchange.wantsReply) {
        case (.waiting, true): waiting.append(exchange)
        case (.done(.success), false): break
        default: throw Mismatch(text: "a message that was sent is in the wrong stage")
        }
    }

    private func drain(_ count: Int) {
        Journal.note("the other end takes \(count)")
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        for _ in 0..<count where recv(peer, &bytes, bytes.count, Int32(MSG_DONTWAIT)) <= 0 { return }
    }

    private func send() throws {
        Journal.note("send")
        let (moved, isGone) = exchanges.send(by: socket)
        try expect(!isGone, "the other end is gone")
        try expect(moved.count <= sending.count, "more messages were sent than waited")
        for exchange in moved {
            try expect(exchange === sending.removeFirst(), "messages were sent out of order")
            try noteSent(exchange)
        }
    }

    private func reply(_ conversation: UInt32) throws {
        Journal.note("a reply for \(conversation)")
        let index = waiting.firstIndex { $0.conversation == conversation }
        let found = exchanges.reply(conversation, .success(.init()))
        try expect(found === index.map { waiting[$0] }, "the exchange of the reply")
        guard let index, let found else { return }
        guard case .done(.success) = found.stage else { throw Mismatch(text: "a reply has not ended the exchange") }
        waiting.remove(at: index)
    }

    private func giveUp(_ exchange: MessageExchange?, early: Bool) throws {
        guard let exchange else { return }
        Journal.note("give up \(exchange.conversation), \(early ? "sendTimeout" : "receiveTimeout")")
        let isWaiting = waiting.contains { $0 === exchange }
        exchanges.give(up: exchange, early ? .sendTimeout : .receiveTimeout)
        if isWaiting, early {
            guard case .waiting = exchange.stage else { throw Mismatch(text: "given up although it was sent") }
            return
        }
        guard case .done(.failure) = exchange.stage else { throw Mismatch(text: "not given up") }
        sending.removeAll { $0 === exchange }
        waiting.removeAll { $0 === exchange }
    }

    private func endAll() throws {
        Journal.note("end all")
        let all = exchanges.endAll()
        try expect(
            all.map { ObjectIdentifier($0) }, is: (sending + waiting).map { ObjectIdentifier($0) }, "what has ended")
        let isUnsent = Array(repeating: true, count: sending.count) + Array(repeating: false, count: waiting.count)
        for (exchange, isUnsent) in zip(all, isUnsent) {
            guard case .done(.failure(isUnsent ? .isInvalid : .becameInvalid)) = exchange.stage else {
                throw Mismatch(text: "the error does not show whether the message was sent")
            }
        }
        (sending, waiting) = ([], [])
    }
}
