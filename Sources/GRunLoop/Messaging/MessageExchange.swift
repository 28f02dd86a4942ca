// SPDX-License-Identifier: Apache-2.0
// One message on its way, and the reply to it: from the first try to send it to its end.

/// Guarded by the lock of its port.
final class MessageExchange: @unchecked Sendable {
    typealias Outcome = Result<GRunLoop.RemoteMessagePort.Reply, GRunLoop.MessageRequestError>

    enum Stage {
        /// It stands in the port's queue.
        case sending
        case waiting
        case done(Outcome)
    }

    @exclusivity(unchecked) fileprivate(set) var stage = Stage.sending
    /// As long as this is there: what it holds may be the program's, and goes without a lock.
    let packet: OutgoingPacket
    /// Called without a lock when it was sent, and when it is done.
    let progress: @Sendable () -> Void

    init(_ packet: OutgoingPacket, progress: @escaping @Sendable () -> Void) {
        self.packet = packet
        self.progress = progress
    }

    var conversation: UInt32 { packet.header.conversation }
    var wantsReply: Bool { packet.header.kind == PacketKind.request.rawValue }
}

/// What a remote port has under way. Guarded by its lock; what is taken out is let go of after it.
struct MessageExchanges {
    /// In the order in which they are to be sent.
    private var sending: [MessageExchange] = []
    /// In the order in which they were sent, which is as a rule that of their replies.
    private var waiting: [MessageExchange] = []

    /// Whether some wait until there is room.
    var isBlocked: Bool { !sending.isEmpty }

    /// Sends a message, or has it wait behind others for room. Returns whether the other end is gone.
    mutating func begin(_ exchange: MessageExchange, by socket: MessageSocket?) -> Bool {
        guard let socket, sending.isEmpty else {
            sending.append(exchange)
            return false
        }
        let result = send(exchange, by: socket)
        if result != .moved { sending.append(exchange) }
        return result == .isGone
    }

    /// Sends what can be sent. Those that have got on are to be told.
    mutating func send(by socket: MessageSocket) -> (moved: [MessageExchange], isGone: Bool) {
        var moved: [MessageExchange] = []
        while moved.count < sending.count {
            let result = send(sending[moved.count], by: socket)
            guard result == .moved else {
                sending.removeFirst(moved.count)
                return (moved, result == .isGone)
            }
            moved.append(sending[moved.count])
        }
        sending = []
        return (moved, false)
    }

    private enum Result { case moved, isBlocked, isGone }

    private mutating func send(_ exchange: MessageExchange, by socket: MessageSocket) -> Result {
        switch socket.send(exchange.packet) {
        case .sent where exchange.wantsReply:
            exchange.stage = .waiting
            waiting.append(exchange)
        case .sent: exchange.stage = .done(.success(.init()))
        case .failed(let errno): exchange.stage = .done(.failure(.transportError(errno: errno)))
        case .full: return .isBlocked
        case .gone: return .isGone
        }
        return .moved
    }

    /// Nil if nobody waits for it: it is late.
    mutating func reply(_ conversation: UInt32, _ outcome: MessageExchange.Outcome) -> MessageExchange? {
        guard let index = waiting.firstIndex(where: { $0.conversation == conversation }) else { return nil }
        let exchange = waiting.remove(at: index)
        exchange.stage = .done(outcome)
        return exchange
    }

    func underWay(_ conversation: UInt32) -> MessageExchange? {
        sending.first { $0.conversation == conversation } ?? waiting.first { $0.conversation == conversation }
    }

    /// It is given up, unless it is done.
    mutating func give(up exchange: MessageExchange, _ error: GRunLoop.MessageRequestError) {
        switch exchange.stage {
        case .done: return
        // It was sent just now.
        case .waiting where error == .sendTimeout: return
        case .sending: sending.removeAll { $0 === exchange }
        case .waiting: waiting.removeAll { $0 === exchange }
        }
        exchange.stage = .done(.failure(error))
    }

    /// All of them are given up. They are to be told.
    mutating func giveUpAll(_ error: GRunLoop.MessageRequestError) -> [MessageExchange] {
        let all = sending + waiting
        for exchange in all { exchange.stage = .done(.failure(error)) }
        self = MessageExchanges()
        return all
    }
}
