// SPDX-License-Identifier: Apache-2.0
// One message on its way, and the answer to it: from the first try to send it to its end.

/// Guarded by the lock of its port.
final class MessageExchange: @unchecked Sendable {
    typealias Outcome = Result<GRunLoop.RemoteMessagePort.Answer, GRunLoop.MessageRequestError>

    enum Stage {
        /// It stands in the port's queue.
        case sending(OutgoingPacket)
        case waiting
        case done(Outcome)
    }

    fileprivate(set) var stage: Stage
    let conversation: UInt32
    let wantsAnswer: Bool
    /// Called without a lock when it was sent, and when it is done.
    let progress: @Sendable () -> Void

    init(_ packet: OutgoingPacket, progress: @escaping @Sendable () -> Void) {
        stage = .sending(packet)
        conversation = packet.header.conversation
        wantsAnswer = packet.header.kind == PacketKind.request.rawValue
        self.progress = progress
    }
}

/// What a remote port has under way. Guarded by its lock; what is taken out is let go of after it.
struct MessageExchanges {
    /// In the order in which they are to be sent.
    private var sending: [MessageExchange] = []
    /// Sent, by their conversations.
    private var waiting: [UInt32: MessageExchange] = [:]

    /// Whether some wait until there is room.
    var isBlocked: Bool { !sending.isEmpty }

    mutating func append(_ exchange: MessageExchange) { sending.append(exchange) }

    /// Sends what can be sent. Those that have got on are to be told.
    mutating func send(by socket: MessageSocket) -> (moved: [MessageExchange], isGone: Bool) {
        var moved: [MessageExchange] = []
        loop: for exchange in sending {
            guard case .sending(let packet) = exchange.stage else { continue }
            switch socket.send(packet) {
            case .sent:
                exchange.stage = exchange.wantsAnswer ? .waiting : .done(.success(.init()))
                if exchange.wantsAnswer { waiting[exchange.conversation] = exchange }
            case .full: break loop
            case .gone: return (moved, true)
            case .failed(let errno): exchange.stage = .done(.failure(.transportError(errno: errno)))
            }
            moved.append(exchange)
        }
        sending.removeFirst(moved.count)
        return (moved, false)
    }

    /// Nil if nobody waits for it: it is late.
    mutating func answer(_ conversation: UInt32, _ outcome: MessageExchange.Outcome) -> MessageExchange? {
        guard let exchange = waiting.removeValue(forKey: conversation) else { return nil }
        exchange.stage = .done(outcome)
        return exchange
    }

    /// It is given up, unless it is done.
    mutating func give(up exchange: MessageExchange, _ error: GRunLoop.MessageRequestError) {
        switch exchange.stage {
        case .done: return
        case .sending: sending.removeAll { $0 === exchange }
        case .waiting: waiting[exchange.conversation] = nil
        }
        exchange.stage = .done(.failure(error))
    }

    /// All of them are given up. They are to be told.
    mutating func giveUpAll(_ error: GRunLoop.MessageRequestError) -> [MessageExchange] {
        let all = sending + waiting.values.sorted { $0.conversation < $1.conversation }
        for exchange in all { exchange.stage = .done(.failure(error)) }
        self = MessageExchanges()
        return all
    }
}
