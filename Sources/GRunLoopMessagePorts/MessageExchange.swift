// SPDX-License-Identifier: Apache-2.0
// Exchanges and their queues. An exchange is one message and its reply, from the first try to send the message until
// the reply or an error.

import GRunLoop

/// One message, and the wait for its reply. Guarded by the lock of its port.
final class MessageExchange: @unchecked Sendable {
    typealias Outcome = Result<GRunLoop.RemoteMessagePort.Reply, GRunLoop.MessageRequestError>

    enum Stage {
        /// The message was not sent yet.
        case sending
        case waiting
        case done(Outcome)
    }

    @exclusivity(unchecked) fileprivate(set) var stage = Stage.sending
    /// Kept until the exchange is released. The packet may hold objects of the program, which must be released without
    /// a lock.
    let packet: OutgoingPacket
    /// Called without a lock when a queued message was sent, and when a reply or an error ends the exchange. Not called
    /// for a step that ``RemoteMessagePort/start(_:keeps:)`` or `giveUp(_:_:)` makes, because the callers of these
    /// functions check the stage.
    let progress: @Sendable () -> Void

    init(_ packet: OutgoingPacket, progress: @escaping @Sendable () -> Void) {
        self.packet = packet
        self.progress = progress
    }

    var conversation: UInt32 { packet.header.conversation }
    var wantsReply: Bool { packet.header.kind == PacketKind.request.rawValue }
}

/// The exchanges of a remote port that are not done. Guarded by the port's lock. The caller of a function that removes
/// exchanges releases them after unlocking.
struct MessageExchanges {
    /// The exchanges whose messages wait to be sent, in the order in which they are to be sent.
    private var sending = ExchangeQueue()
    /// The exchanges that wait for a reply, in the order in which their messages were sent.
    private var waiting = ExchangeQueue()
    /// If the last try to send a message failed because of a shortage, the errno of this shortage; otherwise nil.
    private var lastShortage: Int32?

    /// Whether messages wait to be sent.
    var isBlocked: Bool { !sending.isEmpty }

    /// The condition that lets unsent messages be sent.
    enum Wait: Equatable {
        case nothing
        /// The other end must take packets. The socket reports this event, so no timer is needed. The value is also
        /// `room` while the socket is not connected yet.
        case room
        /// A resource is short. No event reports the end of the shortage.
        case shortage(errno: Int32)
    }
    var wait: Wait { !isBlocked ? .nothing : lastShortage.map { .shortage(errno: $0) } ?? .room }

    /// Sends a message, or queues it until it can be sent. Returns whether the other end has gone.
    mutating func begin(_ exchange: MessageExchange, by socket: MessageSocket?) -> Bool {
        guard let socket, sending.isEmpty else {
            sending.append(exchange)
            return false
        }
        let result = send(exchange, by: socket)
        if result != .moved { sending.append(exchange) }
        return result == .isGone
    }

    /// Sends the queued messages in their order, until one of them cannot be sent now. The caller calls `progress` of
    /// each exchange in `moved`.
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

    /// Ends the exchange that a reply belongs to, and returns the exchange. Returns nil if the reply is late, so that
    /// no caller waits for it.
    mutating func reply(_ conversation: UInt32, _ outcome: MessageExchange.Outcome) -> MessageExchange? {
        guard let exchange = waiting.remove(conversation) else { return nil }
        exchange.stage = .done(outcome)
        return exchange
    }

    func underWay(_ conversation: UInt32) -> MessageExchange? {
        sending[conversation] ?? waiting[conversation]
    }

    /// Cancels an exchange with an error, unless the exchange is done. If the message was not sent before its timeout
    /// because of a shortage, the error is the errno of the shortage.
    mutating func give(up exchange: MessageExchange, _ error: GRunLoop.MessageRequestError) {
        var error = error
        switch exchange.stage {
        case .done: return
        // The message was sent just now, so its send timeout does not count any more.
        case .waiting where error == .sendTimeout: return
        case .sending:
            if error == .sendTimeout, case .shortage(let errno) = wait { error = .transportError(errno: errno) }
            _ = sending.remove(exchange.conversation)
        case .waiting: _ = waiting.remove(exchange.conversation)
        }
        exchange.stage = .done(.failure(error))
    }

    /// Ends all exchanges because the port has become invalid, and returns them. The caller calls `progress` of each.
    /// The error is `isInvalid` for a message that was not sent, and `becameInvalid` for a message that the port may
    /// have handled.
    mutating func endAll() -> [MessageExchange] {
        let (unsent, sent) = (sending.all, waiting.all)
        for exchange in unsent { exchange.stage = .done(.failure(.isInvalid)) }
        for exchange in sent { exchange.stage = .done(.failure(.becameInvalid)) }
        self = MessageExchanges()
        return unsent + sent
    }
}

/// A queue of exchanges, in which each exchange is also found by the number of its conversation.
private struct ExchangeQueue {
    private var exchanges: [UInt32: MessageExchange] = [:]
    /// The conversations in the order of their exchanges, from index `next` on. A removed conversation stays in the
    /// array until about half of the array consists of removed conversations.
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
