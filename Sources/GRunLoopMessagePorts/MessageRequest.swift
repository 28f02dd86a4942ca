// SPDX-License-Identifier: Apache-2.0
// Requests whose outcome a loop passes to a closure, while neither a thread nor a task waits.

import GRunLoop

/// Sends a request, and calls a closure with its outcome on a loop's thread.
///
/// A source in the loop's mode keeps this object alive. The loop performs the source each time the request makes
/// progress. If the loop ends before the request, this object is released, and the closure is not called.
final class MessageRequest: @unchecked Sendable {
    private let port: GRunLoop.RemoteMessagePort
    private let reader: ReplyReceiver
    private let mode: GRunLoop.Mode
    private weak var source: GRunLoop.Source?
    private var exchange: MessageExchange?
    // After `start` has returned, the properties below are used on the loop's thread only.
    private var limits: MessageLimits
    private var limit = GRunLoop.PerformName.none
    private var limitEnd: Nanoseconds?
    /// Nil once the closure was called.
    private var completion: (@Sendable (MessageExchange.Outcome) -> Void)?

    /// Sends a request. `completion` is called once on the loop's thread, and not before this function has returned.
    /// Returns the number for ``GRunLoop/RemoteMessagePort/cancelRequest(_:)``, which is not 0.
    static func start(
        _ id: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32], _ sendTimeout: Duration,
        _ receiveTimeout: Duration, to port: GRunLoop.RemoteMessagePort, on loop: GRunLoop, _ mode: GRunLoop.Mode,
        completion: @escaping @Sendable (MessageExchange.Outcome) -> Void
    ) throws(GRunLoop.MessageRequestError) -> UInt32 {
        if loop.isDead { throw .loopEnded }
        guard let reader = port.reader(on: loop) else { throw .isInvalid }
        let request = MessageRequest(
            to: port, reader, mode, MessageLimits(sendTimeout, receiveTimeout, at: loop.time), completion)
        let source = GRunLoop.Source { request.look() }
        request.source = source
        let exchange = try port.prepare(.request, id, data, descriptors) { [weak source] in
            source?.signal()
            loop.wakeUpEveryRun()
        }
        try port.begin(exchange, by: reader, in: mode, keeps: true)
        // From this assignment on, deinit cancels the exchange and ends the wait if the request is not done.
        request.exchange = exchange
        loop.add(source, forMode: mode)
        // Makes the loop perform the source in its next pass. The source schedules the time limits, and the exchange
        // may already be done.
        exchange.progress()
        return exchange.conversation
    }

    private init(
        to port: GRunLoop.RemoteMessagePort, _ reader: ReplyReceiver, _ mode: GRunLoop.Mode, _ limits: MessageLimits,
        _ completion: @escaping @Sendable (MessageExchange.Outcome) -> Void
    ) {
        self.port = port
        self.reader = reader
        self.mode = mode
        self.limits = limits
        self.completion = completion
    }

    deinit {
        guard let exchange, completion != nil, !Fork.isChild else { return }
        port.giveUp(exchange, .loopEnded)
        leave()
    }

    private func leave() {
        reader.end(in: mode)
        reader.loop.removePerform(limit)
        source?.invalidate()
    }

    private func look() {
        guard let exchange, let completion else { return }
        while let (end, error) = limits.next(port.stage(of: exchange), at: reader.loop.time) {
            // A receive timeout counts only after a delayed perform was scheduled for it, so that the loop first
            // receives a reply that has already come.
            let isOver = end <= reader.loop.time && (error == .sendTimeout || limitEnd == end)
            guard isOver else { return wait(until: end) }
            port.giveUp(exchange, error)
        }
        guard case .done(let outcome) = port.stage(of: exchange) else { return }
        self.completion = nil
        leave()
        completion(outcome)
    }

    private func wait(until end: Nanoseconds) {
        guard limitEnd != end else { return }
        reader.loop.removePerform(limit)
        limitEnd = end
        guard end != .never else { return }
        limit = reader.loop.addPerform(at: end, inModes: [mode]) { [weak self] in self?.look() }
    }
}
