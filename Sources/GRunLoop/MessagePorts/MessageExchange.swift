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
    private var sending = ExchangeLine()
    /// In the order in which they were sent.
    private var waiting = ExchangeLine()
    /// The errno of what was short when the first one was tried.
    private var lastShortage: Int32?

    /// Whether some wait to be sent.
    var isBlocked: Bool { !sending.isEmpty }

    /// Until when those that wait to be sent wait.
    enum Wait: Equatable {
        case nothing
        /// Until the other end takes some: the socket tells.
        case room
        /// Until something is not short any more: nothing tells.
        case shortage(errno: Int32)
    }
    var wait: Wait { !isBlocked ? .nothing : lastShortage.map { .shortage(errno: $0) } ?? .room }

    /// Sends a message, or has it wait behind others until it can be sent. Returns whether the other end is gone.
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
        while let next = sending.first {
            let result = send(next, by: socket)
            guard result == .moved else { return (moved, result == .isGone) }
            if let sent = sending.remove(next.conversation) { moved.append(sent) }
        }
        return (moved, false)
    }

    private enum Result { case moved, isBlocked, isGone }

    private mutating func send(_ exchange: MessageExchange, by socket: MessageSocket) -> Result {
        lastShortage = nil
        switch socket.send(exchange.packet) {
        case .sent where exchange.wantsReply:
            exchange.stage = .waiting
            waiting.append(exchange)
        case .sent: exchange.stage = .done(.success(.init()))
        case .failed(let errno): exchange.stage = .done(.failure(.transportError(errno: errno)))
        case .full: return .isBlocked
        case .short(let errno):
            lastShortage = errno
            return .isBlocked
        case .gone: return .isGone
        }
        return .moved
    }

    /// Nil if nobody waits for it: it is late.
    mutating func reply(_ conversation: UInt32, _ outcome: MessageExchange.Outcome) -> MessageExchange? {
        guard let exchange = waiting.remove(conversation) else { return nil }
        exchange.stage = .done(outcome)
        return exchange
    }

    func underWay(_ conversation: UInt32) -> MessageExchange? {
        sending[conversation] ?? waiting[conversation]
    }

    /// It is given up, unless it is done. If it could not be sent in time since something is short, the error is that.
    mutating func give(up exchange: MessageExchange, _ error: GRunLoop.MessageRequestError) {
        var error = error
        switch exchange.stage {
        case .done: return
        // It was sent just now.
        case .waiting where error == .sendTimeout: return
        case .sending:
            if error == .sendTimeout, case .shortage(let errno) = wait { error = .transportError(errno: errno) }
            _ = sending.remove(exchange.conversation)
        case .waiting: _ = waiting.remove(exchange.conversation)
        }
        exchange.stage = .done(.failure(error))
    }

    /// All of them are given up. They are to be told.
    mutating func giveUpAll(_ error: GRunLoop.MessageRequestError) -> [MessageExchange] {
        let all = sending.all + waiting.all
        for exchange in all { exchange.stage = .done(.failure(error)) }
        self = MessageExchanges()
        return all
    }
}

/// Exchanges in their order, found by their conversations.
private struct ExchangeLine {
    private var exchanges: [UInt32: MessageExchange] = [:]
    /// From `next` on. Those that have left are still there, until they are the greater part.
    private var order: [UInt32] = []
    private var next = 0

    var isEmpty: Bool { exchanges.isEmpty }
    var all: [MessageExchange] { order[next...].compactMap { exchanges[$0] } }

    subscript(_ conversation: UInt32) -> MessageExchange? { exchanges[conversation] }

    var first: MessageExchange? {
        mutating get {
            while next < order.count {
                if let exchange = exchanges[order[next]] { return exchange }
                next += 1
            }
            return nil
        }
    }

    mutating func append(_ exchange: MessageExchange) {
        exchanges[exchange.conversation] = exchange
        order.append(exchange.conversation)
    }

    mutating func remove(_ conversation: UInt32) -> MessageExchange? {
        let removed = exchanges.removeValue(forKey: conversation)
        if order.count > 2 * exchanges.count + 16 {
            order = order[next...].filter { exchanges[$0] != nil }
            next = 0
        }
        return removed
    }
}
