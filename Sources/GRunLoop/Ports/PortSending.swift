// SPDX-License-Identifier: Apache-2.0
// Creating a port, and sending to it.

extension GRunLoop.Port {
    /// Creates a port that is in no loop yet. Messages can be sent already, and wait.
    ///
    /// - Parameters:
    ///   - capacity: how many messages may wait. Zero and negative values mean one; `Int.max` means no limit.
    ///   - handler: called with each message, on the loop's thread. It may run the loop, send, and invalidate the port.
    ///     If it is nil, messages are dropped when their turn comes, unless a task awaits them
    ///     (``messages(on:inModes:)``).
    ///
    /// Threads: any. The corresponding Foundation functions are `Port.init` and `Port.setDelegate`.
    public convenience init(
        capacity: Int = .max, handler: (@Sendable (GRunLoop.PortMessage) -> Void)? = nil
    ) {
        self.init(PortChannel(capacity: capacity), confined: nil, handler: handler)
    }

    /// Sends a message if there is room, and never waits. You can call it on the loop's own thread too, in the handler,
    /// and in an async function. To wait for room, call ``send(_:before:)`` or ``send(_:)``.
    ///
    /// The receiver gets this message with its arrays, not copies of them.
    ///
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid. A message is not
    ///   delivered if the port is invalidated before the message's turn.
    ///
    /// Threads: any; not from a signal handler. The corresponding Foundation function is
    /// `Port.send(before:msgid:components:from:reserved:)` with a date that has passed.
    public func trySend(_ message: consuming GRunLoop.PortMessage) -> Bool {
        guard !Fork.refuses("Port.trySend") else { return false }
        message.receivePort = nil
        switch inbox.begin() {
        case .at(let slot):
            slot.initialize(to: message)
            if inbox.commit() { noteMessages() }
            return true
        case .closed, .full: return false
        }
    }

    /// Sends a message, and blocks the thread while the port is full, until `limit` at most. On the thread of the
    /// port's own loop it does not wait, because nobody else could make room there. Waiting threads and tasks get room
    /// in the order in which they began to wait.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - limit: until when to wait for room, on the system's clock, also in virtual time. With a date that has
    ///     passed, the thread does not wait.
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid.
    ///
    /// Threads: any; not from a signal handler. In a task, call ``send(_:)`` instead, which suspends the task. The
    /// corresponding Foundation function is `Port.send(before:msgid:components:from:reserved:)`.
    @available(*, noasync, message: "it blocks the thread; await send(_:)")
    public func send(_ message: consuming GRunLoop.PortMessage, before limit: GRunLoop.Instant) -> Bool {
        send(message, until: Nanoseconds(saturating: limit))
    }

    /// Sends a message, and blocks the thread while the port is full, for `timeout` at most. Everything else is as in
    /// ``send(_:before:)``.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - timeout: how long to wait for room. Zero and negative mean not at all.
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid.
    ///
    /// Threads: any; not from a signal handler. In a task, call ``send(_:)`` instead, which suspends the task.
    @available(*, noasync, message: "it blocks the thread; await send(_:)")
    public func send(_ message: consuming GRunLoop.PortMessage, timeout: Duration) -> Bool {
        send(message, until: Nanoseconds.now().addingSaturating(Nanoseconds(saturating: timeout)))
    }

    private func send(_ message: consuming GRunLoop.PortMessage, until limit: Nanoseconds) -> Bool {
        guard !Fork.refuses("Port.send") else { return false }
        message.receivePort = nil
        switch inbox.begin() {
        case .at(let slot):
            slot.initialize(to: message)
            if inbox.commit() { noteMessages() }
            return true
        case .closed: return false
        case .full:
            guard limit > .now(), !isOnItsLoop else { return false }
            return noteSent(inbox.send(message, until: limit))
        }
    }

    /// Sends a message, and suspends the task while the port is full. Waiting tasks and threads get room in the order
    /// in which they began to wait.
    ///
    /// - Returns: true if the message waits to be delivered. False if the port is invalid, or if it is full and the
    ///   task is cancelled.
    ///
    /// Threads: any. Otherwise it works like ``send(_:before:)``. ``trySend(_:)`` does not wait.
    nonisolated(nonsending) public func send(_ message: consuming GRunLoop.PortMessage) async -> Bool {
        guard !Fork.refuses("Port.send") else { return false }
        message.receivePort = nil
        switch inbox.begin() {
        case .at(let slot):
            slot.initialize(to: message)
            if inbox.commit() { noteMessages() }
            return true
        case .closed: return false
        case .full: return noteSent(await inbox.wait(toSend: message))
        }
    }

    /// Tells the port of a message that was sent after a wait, because it may be that nobody else has told the port.
    /// The queue may be empty, because the loop may have taken the message already.
    private func noteSent(_ isSent: Bool) -> Bool {
        if isSent, inbox.count > 0 { noteMessages() }
        return isSent
    }

    /// How many messages may wait, at least one. Threads: any.
    public var capacity: Int { inbox.capacity }

    /// How many messages wait. The number may have changed when this returns. Threads: any.
    public var count: Int { Fork.isChild ? 0 : inbox.count }
}
