// SPDX-License-Identifier: Apache-2.0
// To send to a message port and to ask it: on a loop, with a thread, or with a task.

import CGRun
import Glibc

extension GRunLoop.RemoteMessagePort {
    /// Sends a message and waits for the reply. Meanwhile the calling thread's loop is run in a mode, again and again
    /// until a source was handled: its other items go on, and so does a ``GRunLoop/MessagePort`` of this thread that is
    /// in that mode.
    ///
    /// - Parameters:
    ///   - id: what the message means.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16, which the receiver gets copies of. They stay the caller's.
    ///   - sendTimeout: how long to wait for room in the port's queue, or for memory and descriptors that are short.
    ///     Less than a millisecond: it is tried once. Ten days and more: no limit.
    ///   - receiveTimeout: how long to wait for the reply from then on. Zero or negative: one pass. 16 years and more:
    ///     no limit.
    ///   - replyMode: the mode to run in. ``GRunLoop/Mode/common`` cannot be run: that is logged.
    ///
    /// If nothing else may run while the thread waits, pass a mode of your own. Do so above all in the handler of a
    /// ``GRunLoop/MessagePort``: in a mode of that port, the port would call the handler recursively for the next
    /// message. See ``GRunLoop/MessagePort/maximumHandlerDepth``.
    ///
    /// ``invalidate()`` ends the wait. ``GRunLoop/stop()`` and ``GRunLoop/Thread/stop()`` do not, as Core Foundation's
    /// does not: choose limits that your program's end can wait for.
    ///
    /// - Returns: the reply, which may be without data.
    /// - Throws: ``GRunLoop/MessageRequestError``.
    ///
    /// Threads: any; not in a task, which ``request(_:_:descriptors:sendTimeout:receiveTimeout:on:replyMode:)``
    /// suspends. The corresponding Core Foundation function is `CFMessagePortSendRequest`.
    @available(*, noasync, message: "it runs the thread's loop; await request(_:_:on:)")
    public func request(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration,
        receiveTimeout: Duration, replyMode: GRunLoop.Mode = .default
    ) throws(GRunLoop.MessageRequestError) -> Reply {
        guard !Fork.refuses("RemoteMessagePort.request") else { throw .isInvalid }
        return try exchange(.request, id, data, descriptors, sendTimeout, receiveTimeout, replyMode)
    }

    /// Sends a message that wants no reply. While the port's queue is full the calling thread's loop is run in a mode.
    ///
    /// - Parameters:
    ///   - id: what the message means.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16, which the receiver gets copies of. They stay the caller's.
    ///   - sendTimeout: how long to wait for room in the port's queue, of some 200 messages of 100 bytes or 3 of 64
    ///     KiB, or for memory and descriptors that are short. Less than a millisecond: it is tried once. Ten days and
    ///     more: no limit.
    ///   - mode: the mode to run in. Nil: the loop is not run, and the thread is blocked.
    /// - Throws: ``GRunLoop/MessageRequestError``. Without an error the message is in the queue of the port.
    ///
    /// Threads: any; not in a task, which ``send(_:_:descriptors:sendTimeout:on:mode:)`` suspends. The corresponding
    /// Core Foundation function is `CFMessagePortSendRequest` without a reply mode.
    @available(*, noasync, message: "it may wait for room; await send(_:_:on:)")
    public func send(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration = .zero,
        mode: GRunLoop.Mode? = nil
    ) throws(GRunLoop.MessageRequestError) {
        guard !Fork.refuses("RemoteMessagePort.send") else { throw .isInvalid }
        if let mode {
            _ = try exchange(.oneWay, id, data, descriptors, sendTimeout, .zero, mode)
        } else {
            try sendBlocking(id, data, descriptors, sendTimeout)
        }
    }

    /// Sends a message and suspends the task until the reply is there. If the task is cancelled, a reply that comes
    /// later is dropped.
    ///
    /// - Parameters:
    ///   - id: what the message means.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16, which the receiver gets copies of. They stay the caller's, who may close them once
    ///     this has returned.
    ///   - sendTimeout: see ``request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)``.
    ///   - receiveTimeout: how long to wait for the reply once the message was sent. Zero or negative: what is there
    ///     when the loop next looks.
    ///   - loop: who receives the reply: it must run, or be hosted.
    ///   - replyMode: in which modes it does so.
    /// - Returns: the reply, which may be without data.
    /// - Throws: ``GRunLoop/MessageRequestError``; ``GRunLoop/MessageRequestError/cancelled`` as soon as the task is
    ///   cancelled.
    ///
    /// Threads: any. It is resumed as ``GRunLoop/ItemSequence/Iterator/next()`` is. There is no corresponding Core
    /// Foundation function.
    nonisolated(nonsending) public func request(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration,
        receiveTimeout: Duration, on loop: GRunLoop = .main, replyMode: GRunLoop.Mode = .common
    ) async throws(GRunLoop.MessageRequestError) -> Reply {
        guard !Fork.refuses("RemoteMessagePort.request") else { throw .isInvalid }
        return try await exchange(.request, id, data, descriptors, sendTimeout, receiveTimeout, loop, replyMode)
    }

    /// Sends a message that wants no reply. While the port's queue is full the task is suspended.
    ///
    /// - Parameters:
    ///   - id: what the message means.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16, which the receiver gets copies of. They stay the caller's, who may close them once
    ///     this has returned.
    ///   - sendTimeout: see ``request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)``.
    ///   - loop: who waits for room: it must run, or be hosted.
    ///   - mode: in which modes it does so.
    /// - Throws: ``GRunLoop/MessageRequestError``.
    ///
    /// Threads: any. There is no corresponding Core Foundation function.
    nonisolated(nonsending) public func send(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration = .zero,
        on loop: GRunLoop = .main, mode: GRunLoop.Mode = .common
    ) async throws(GRunLoop.MessageRequestError) {
        guard !Fork.refuses("RemoteMessagePort.send") else { throw .isInvalid }
        _ = try await exchange(.oneWay, id, data, descriptors, sendTimeout, .zero, loop, mode)
    }

    // MARK: How each of them waits

    private func exchange(
        _ kind: PacketKind, _ id: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32],
        _ sendTimeout: Duration, _ receiveTimeout: Duration, _ mode: GRunLoop.Mode
    ) throws(GRunLoop.MessageRequestError) -> Reply {
        guard mode != .common else {
            let function: StaticString =
                kind == .request ? "RemoteMessagePort.request" : "RemoteMessagePort.send"
            Log.misuse(function, "no loop can run in .common, so nothing was sent; give one mode")
            throw .transportError(errno: EINVAL)
        }
        let loop = ThreadLoops.current
        guard let reader = reader(on: loop) else { throw .isInvalid }
        let news = MessageNews(to: reader, in: mode)
        // Also where the port turns out to have gone when it is sent: nothing of it stays in the mode.
        defer { news.end() }
        let exchange = try prepare(kind, id, data, descriptors) { news.tell() }
        if kind == .request, !loop.canRun(mode) { throw .transportError(errno: EMFILE) }
        guard try begin(exchange, by: reader, in: mode) else { return try outcome(of: exchange) }
        defer { reader.end(in: mode) }
        var limits = MessageLimits(sendTimeout, receiveTimeout, at: loop.time)
        while true {
            guard let (end, error) = limits.next(stage(of: exchange), at: loop.time) else { break }
            // Core Foundation's makes a pass for a reply in any case.
            if error == .receiveTimeout || end > loop.time {
                let result = loop.runMode(mode, until: end, returningAfterSource: true)
                if result != nil, end > loop.time { continue }
            }
            // There was no run, though it is not time: no descriptor is left for a mode that has never run.
            let reason = loop.isDead ? .loopEnded : end > loop.time ? .transportError(errno: EMFILE) : error
            if let outcome = giveUp(exchange, reason) { return try outcome.get() }
        }
        return try outcome(of: exchange)
    }

    nonisolated(nonsending) private func exchange(
        _ kind: PacketKind, _ id: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32],
        _ sendTimeout: Duration, _ receiveTimeout: Duration, _ loop: GRunLoop, _ mode: GRunLoop.Mode
    ) async throws(GRunLoop.MessageRequestError) -> Reply {
        if Task.isCancelled { throw .cancelled }
        if loop.isDead { throw .loopEnded }
        guard let reader = reader(on: loop) else { throw .isInvalid }
        let mailbox = Mailbox<Void>(of: loop) { older, _ in older }
        // Closes the mailbox also if the task is cancelled before it first suspends.
        defer { mailbox.close(.done) }
        let exchange = try prepare(kind, id, data, descriptors) { mailbox.send(()) }
        mailbox.open(for: MessageWithdrawal(of: exchange, from: self))
        guard try begin(exchange, by: reader, in: mode) else { return try outcome(of: exchange) }
        defer { reader.end(in: mode) }
        var limits = MessageLimits(sendTimeout, receiveTimeout, at: loop.time)
        while true {
            guard let (end, error) = limits.next(stage(of: exchange), at: loop.time) else { break }
            if error == .sendTimeout, end <= loop.time {
                if let outcome = giveUp(exchange, error) { return try outcome.get() }
                continue
            }
            let limit =
                end == .never ? .none : loop.addPerform(at: end, inModes: [mode]) { mailbox.send(()) }
            defer { loop.removePerform(limit) }
            guard await mailbox.next(isolation: #isolation) != nil else {
                throw mailbox.reason == .loopEnded ? .loopEnded : .cancelled
            }
            if end <= loop.time, let outcome = giveUp(exchange, error) { return try outcome.get() }
        }
        return try outcome(of: exchange)
    }

    /// Of one that is done.
    private func outcome(of exchange: MessageExchange) throws(GRunLoop.MessageRequestError) -> Reply {
        guard case .done(let outcome) = stage(of: exchange) else { throw .becameInvalid }
        return try outcome.get()
    }

    /// Sends it and waits for it in that mode, until the reader's end there; false if it is done already. A request is
    /// waited for before: what nothing could be heard of is not sent. `keeps`: see ``start(_:keeps:)``.
    @discardableResult func begin(
        _ exchange: MessageExchange, by reader: MessageReader, in mode: GRunLoop.Mode, keeps: Bool = false
    ) throws(GRunLoop.MessageRequestError) -> Bool {
        if exchange.wantsReply {
            try reader.begin(in: mode)
            do throws(GRunLoop.MessageRequestError) { try start(exchange, keeps: keeps) } catch {
                reader.end(in: mode)
                throw error
            }
        } else {
            try start(exchange)
            guard case .sending = stage(of: exchange) else { return false }
            do throws(GRunLoop.MessageRequestError) { try reader.begin(in: mode) } catch {
                giveUp(exchange, error)
                return false
            }
        }
        if case .sending = stage(of: exchange) { watchForRoom() }
        return true
    }

    private func sendBlocking(
        _ id: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32], _ sendTimeout: Duration
    ) throws(GRunLoop.MessageRequestError) {
        let sender = BlockedSender()
        let exchange = try prepare(.oneWay, id, data, descriptors) { sender.tell() }
        try start(exchange)
        if case .sending = stage(of: exchange) { sender.begin() }
        var limits = MessageLimits(sendTimeout, .zero, at: .now())
        while let (end, error) = limits.next(stage(of: exchange), at: .now()) {
            let span = end.subtractingSaturating(.now())
            if span <= 0, giveUp(exchange, error) != nil { break }
            waitForRoom(span, or: sender)
            send()
        }
        _ = try outcome(of: exchange)
    }
}

/// Until when a message may wait to be sent, and then its reply.
struct MessageLimits {
    private let sendEnd: Nanoseconds
    private let receiveSpan: Nanoseconds
    private var receiveEnd: Nanoseconds?

    init(_ sendTimeout: Duration, _ receiveTimeout: Duration, at time: Nanoseconds) {
        let span = Nanoseconds(saturating: sendTimeout)
        // Core Foundation's limits.
        sendEnd = span < 1_000_000 ? .min : span >= 10 * 86_400 * 1_000_000_000 ? .never : time.addingSaturating(span)
        receiveSpan = Nanoseconds(saturating: receiveTimeout)
    }

    /// What the exchange waits for now: until when, and what it is if that is over. Nil if it is done.
    mutating func next(
        _ stage: MessageExchange.Stage, at time: Nanoseconds
    ) -> (end: Nanoseconds, error: GRunLoop.MessageRequestError)? {
        switch stage {
        case .done: return nil
        case .sending: return (sendEnd, .sendTimeout)
        case .waiting:
            let end = receiveEnd ?? (receiveSpan > .longest ? .never : time.addingSaturating(receiveSpan))
            receiveEnd = end
            return (end, .receiveTimeout)
        }
    }
}

/// A task does not wait for an exchange any more.
private final class MessageWithdrawal: Invalidatable {
    private let exchange: MessageExchange
    private let port: GRunLoop.RemoteMessagePort

    init(of exchange: MessageExchange, from port: GRunLoop.RemoteMessagePort) {
        self.exchange = exchange
        self.port = port
    }

    func invalidate() { port.giveUp(exchange, .cancelled) }
}
