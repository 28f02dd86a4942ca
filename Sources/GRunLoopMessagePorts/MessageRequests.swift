// SPDX-License-Identifier: Apache-2.0
// Sends messages and requests to a message port: from a thread that runs its loop or blocks, or from a task.

import CGRunMessagePorts
public import GRunLoop
import Glibc

extension GRunLoop.RemoteMessagePort {
    /// Sends a message, and runs the calling thread's loop in a mode until the reply arrives.
    ///
    /// The loop runs again after each handled source. So the other items in the mode continue to work, for example a
    /// ``GRunLoop/MessagePort`` of this thread in that mode.
    ///
    /// - Parameters:
    ///   - id: a number for the meaning of the message.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16. The receiver gets copies, and the caller keeps its descriptors.
    ///   - sendTimeout: how long to wait for room in the port's queue, or for memory and descriptors that are short. If
    ///     it is less than a millisecond, sending is tried once. If it is ten days or more, there is no limit.
    ///   - receiveTimeout: how long to wait for the reply after the message was sent. If it is zero or negative, the
    ///     loop makes one pass. If it is 16 years or more, there is no limit.
    ///   - replyMode: the mode to run in. No loop can run in ``GRunLoop/Mode/common``. If you pass that mode, the call
    ///     logs the mistake, sends nothing, and throws.
    ///
    /// If no other items may run while the thread waits, pass your own private mode. In the handler of a
    /// ``GRunLoop/MessagePort``, do not pass a mode of that port, because the port would call the handler recursively.
    /// See ``GRunLoop/MessagePort/maximumHandlerDepth``.
    ///
    /// ``invalidate()`` and ``cancelWait()`` end the wait. ``GRunLoop/stop()`` and ``GRunLoop/Thread/stop()`` do not
    /// end it, as in Core Foundation. So choose timeouts that your program can tolerate when it ends.
    ///
    /// - Returns: the reply, which may be without data.
    /// - Throws: ``GRunLoop/MessageRequestError``.
    ///
    /// Threads: any, but not in a task: there, await
    /// ``request(_:_:descriptors:sendTimeout:receiveTimeout:on:replyMode:)``. The corresponding Core Foundation
    /// function is `CFMessagePortSendRequest`.
    @available(*, noasync, message: "it blocks the thread; use await request(_:_:on:)")
    public func request(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration,
        receiveTimeout: Duration, replyMode: GRunLoop.Mode = .default
    ) throws(GRunLoop.MessageRequestError) -> Reply {
        guard !Fork.refuses("RemoteMessagePort.request") else { throw .isInvalid }
        return try exchange(.request, id, data, descriptors, sendTimeout, receiveTimeout, replyMode)
    }

    /// Sends a message that wants no reply. While the port's queue is full, runs the calling thread's loop or blocks
    /// the thread.
    ///
    /// - Parameters:
    ///   - id: a number for the meaning of the message.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16. The receiver gets copies, and the caller keeps its descriptors.
    ///   - sendTimeout: how long to wait for room in the port's queue, or for memory and descriptors that are short.
    ///     The queue has room for some 200 messages of 100 bytes or 3 of 64 KiB. If the timeout is less than a
    ///     millisecond, sending is tried once. If it is ten days or more, there is no limit.
    ///   - mode: the mode to run in. If it is nil, the loop does not run, and the call blocks the thread.
    /// - Throws: ``GRunLoop/MessageRequestError``. Without an error the message is in the queue of the port.
    ///
    /// Threads: any, but not in a task: there, await ``send(_:_:descriptors:sendTimeout:on:mode:)``. The corresponding
    /// Core Foundation function is `CFMessagePortSendRequest` without a reply mode.
    @available(*, noasync, message: "it may block the thread; use await send(_:_:on:)")
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

    /// Cancels the innermost wait of the calling thread. The waiting call of
    /// ``request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)``, or of
    /// ``send(_:_:descriptors:sendTimeout:mode:)`` with a mode, throws ``GRunLoop/MessageRequestError/cancelled``. A
    /// later reply is dropped. Call this function in a closure that the loop calls during the wait.
    ///
    /// - Returns: true if a wait was cancelled; false if the thread does not wait, or if the reply has already arrived.
    ///
    /// Threads: the thread that waits. There is no corresponding function in Core Foundation, where only timeouts and
    /// the end of the port end a wait.
    @discardableResult public static func cancelWait() -> Bool {
        guard !Fork.refuses("RemoteMessagePort.cancelWait"), let pointer = cgrun_waiting_exchange() else {
            return false
        }
        return Unmanaged<MessageNews>.fromOpaque(pointer).takeUnretainedValue().cancel()
    }

    /// Sends a message and suspends the task until the reply arrives. If the task is cancelled, a later reply is
    /// dropped.
    ///
    /// - Parameters:
    ///   - id: a number for the meaning of the message.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16. The receiver gets copies. The caller keeps its descriptors, and may close them once
    ///     this has returned.
    ///   - sendTimeout: see ``request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)``.
    ///   - receiveTimeout: how long to wait for the reply after the message was sent. If it is zero or negative, only a
    ///     reply that the loop finds in its next pass is returned.
    ///   - loop: the loop that receives the reply. A run or a host must drive this loop.
    ///   - replyMode: the mode in which the loop receives the reply; ``GRunLoop/Mode/common`` means all common modes.
    /// - Returns: the reply, which may be without data.
    /// - Throws: ``GRunLoop/MessageRequestError``; ``GRunLoop/MessageRequestError/cancelled`` as soon as the task is
    ///   cancelled.
    ///
    /// Threads: any. The task resumes as with ``GRunLoop/ItemSequence/Iterator/next()``. There is no corresponding Core
    /// Foundation function.
    nonisolated(nonsending) public func request(
        _ id: Int32, _ data: GRunLoop.MessageData = [], descriptors: [Int32] = [], sendTimeout: Duration,
        receiveTimeout: Duration, on loop: GRunLoop = .main, replyMode: GRunLoop.Mode = .common
    ) async throws(GRunLoop.MessageRequestError) -> Reply {
        guard !Fork.refuses("RemoteMessagePort.request") else { throw .isInvalid }
        return try await exchange(.request, id, data, descriptors, sendTimeout, receiveTimeout, loop, replyMode)
    }

    /// Sends a message that wants no reply. While the port's queue is full, the task is suspended.
    ///
    /// - Parameters:
    ///   - id: a number for the meaning of the message.
    ///   - data: up to 1,610,612,736 bytes.
    ///   - descriptors: up to 16. The receiver gets copies. The caller keeps its descriptors, and may close them once
    ///     this has returned.
    ///   - sendTimeout: see ``request(_:_:descriptors:sendTimeout:receiveTimeout:replyMode:)``.
    ///   - loop: the loop that waits for room. A run or a host must drive this loop.
    ///   - mode: the mode in which the loop waits for room; ``GRunLoop/Mode/common`` means all common modes.
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

    // MARK: Waiting for an exchange

    private func exchange(
        _ kind: PacketKind, _ id: Int32, _ data: GRunLoop.MessageData, _ descriptors: [Int32],
        _ sendTimeout: Duration, _ receiveTimeout: Duration, _ mode: GRunLoop.Mode
    ) throws(GRunLoop.MessageRequestError) -> Reply {
        guard mode != .common else {
            let function =
                kind == .request ? "RemoteMessagePort.request" : "RemoteMessagePort.send"
            Log.misuse(
                function,
                "the message was not sent, because no loop can wait in .common; pass one mode, such as .default")
            throw .transportError(errno: EINVAL)
        }
        let loop = GRunLoop.current
        guard let reader = reader(on: loop) else { throw .isInvalid }
        let news = MessageNews(to: reader, in: mode)
        // This statement also runs if the send fails because the port has gone. Otherwise the source of `news` would
        // stay in the mode.
        defer { news.end() }
        let exchange = try prepare(kind, id, data, descriptors) { news.tell() }
        if kind == .request, !loop.canRun(mode) { throw .transportError(errno: EMFILE) }
        guard try begin(exchange, by: reader, in: mode) else { return try outcome(of: exchange) }
        defer { reader.end(in: mode) }
        news.exchange = exchange
        let outer = cgrun_waiting_exchange()
        cgrun_set_waiting_exchange(Unmanaged.passUnretained(news).toOpaque())
        defer { cgrun_set_waiting_exchange(outer) }
        var limits = MessageLimits(sendTimeout, receiveTimeout, at: loop.time)
        while true {
            guard let (end, error) = limits.next(stage(of: exchange), at: loop.time) else { break }
            // As in Core Foundation, make a pass for the reply even with a timeout of zero.
            if error == .receiveTimeout || end > loop.time {
                let result = loop.runMode(mode, until: end, returningAfterSource: true)
                if result != nil, end > loop.time { continue }
            }
            // If the loop could not run although the limit has not passed, no descriptor is left to run the mode.
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
        // This statement also closes the mailbox if the task is cancelled before the task first suspends.
        defer { mailbox.close(.done) }
        let exchange = try prepare(kind, id, data, descriptors) { mailbox.send(()) }
        mailbox.open(for: ExchangeCancellation(of: exchange, from: self))
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

    /// Returns the reply of an exchange that is done, or throws the exchange's error.
    private func outcome(of exchange: MessageExchange) throws(GRunLoop.MessageRequestError) -> Reply {
        guard case .done(let outcome) = stage(of: exchange) else { throw .becameInvalid }
        return try outcome.get()
    }

    /// Sends the message of an exchange, and begins to wait for the exchange in a mode. Returns false if the exchange
    /// is already done, and no wait has begun. Otherwise the caller must end the wait with the reader's `end(in:)`.
    ///
    /// For a request the wait begins before the message is sent. So if the loop cannot wait for the reply, the request
    /// is not sent. For `keeps`, see ``start(_:keeps:)``.
    @discardableResult func begin(
        _ exchange: MessageExchange, by reader: ReplyReceiver, in mode: GRunLoop.Mode, keeps: Bool = false
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

/// The time limits of an exchange: one for sending the message, and then one for its reply.
struct MessageLimits {
    private let sendEnd: Nanoseconds
    private let receiveSpan: Nanoseconds
    private var receiveEnd: Nanoseconds?

    init(_ sendTimeout: Duration, _ receiveTimeout: Duration, at time: Nanoseconds) {
        let span = Nanoseconds(saturating: sendTimeout)
        // As in Core Foundation, a timeout of less than a millisecond means a single try, and ten days or more mean no
        // limit.
        sendEnd = span < 1_000_000 ? .min : span >= 10 * 86_400 * 1_000_000_000 ? .never : time.addingSaturating(span)
        receiveSpan = Nanoseconds(saturating: receiveTimeout)
    }

    /// Returns the time limit of the exchange's present stage, and the error to throw after this limit. Returns nil if
    /// the exchange is done.
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

/// Cancels an exchange when the mailbox of its task closes.
private final class ExchangeCancellation: Invalidatable {
    private let exchange: MessageExchange
    private let port: GRunLoop.RemoteMessagePort

    init(of exchange: MessageExchange, from port: GRunLoop.RemoteMessagePort) {
        self.exchange = exchange
        self.port = port
    }

    func invalidate() { port.giveUp(exchange, .cancelled) }
}
