// SPDX-License-Identifier: Apache-2.0
// Creating a port, and sending to it.

extension GRunLoop.Port {
    /// Creates a port that is in no loop yet. You can already send messages, but they wait until the port is in a loop.
    ///
    /// - Parameters:
    ///   - capacity: the largest number of messages that can wait. Zero and negative values mean one; `Int.max` means
    ///     no limit.
    ///   - handler: a closure that is called with each message, on the loop's thread. The handler may run the loop,
    ///     send messages, and invalidate the port. If `handler` is nil, and no task awaits the messages
    ///     (``messages(on:inModes:)``), the loop drops each message instead of handling it.
    ///
    /// Threads: any. The corresponding Foundation functions are `Port.init` and `Port.setDelegate`.
    public convenience init(
        capacity: Int = .max, handler: (@Sendable (GRunLoop.PortMessage) -> Void)? = nil
    ) {
        self.init(PortChannel(capacity: capacity), confined: nil, handler: handler)
    }

    /// Sends a message if there is room, and never waits. You can also call this function in the handler and in an
    /// async function. To wait for room, call ``send(_:before:)`` or ``send(_:)``.
    ///
    /// The message's arrays are not copied.
    ///
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid. If the port is
    ///   invalidated while the message waits, the message is not delivered.
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

    /// Sends a message. While the port is full, blocks the thread, until `limit` at most. On the thread of the port's
    /// own loop, the call does not wait, because no other thread can make room. Waiting threads and tasks get room in
    /// the order in which they began to wait.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - limit: when to stop waiting for room, on the system's clock, even in virtual time. If this date has passed,
    ///     the thread does not wait.
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid.
    ///
    /// Threads: any; not from a signal handler. In a task, call ``send(_:)`` instead, which suspends the task. The
    /// corresponding Foundation function is `Port.send(before:msgid:components:from:reserved:)`.
    @available(*, noasync, message: "it blocks the thread; use await send(_:)")
    public func send(_ message: consuming GRunLoop.PortMessage, before limit: GRunLoop.Instant) -> Bool {
        send(message, until: Nanoseconds(saturating: limit))
    }

    /// Sends a message, and blocks the thread while the port is full, for `timeout` at most. Everything else is as in
    /// ``send(_:before:)``.
    ///
    /// - Parameters:
    ///   - message: the message to send.
    ///   - timeout: how long to wait for room. Zero and negative values mean no wait.
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid.
    ///
    /// Threads: any; not from a signal handler. In a task, call ``send(_:)`` instead, which suspends the task.
    @available(*, noasync, message: "it blocks the thread; use await send(_:)")
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
    /// Unlike ``send(_:before:)``, this function also waits on the thread of the port's loop. Threads: any.
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

    /// Calls `noteMessages()` after a send that has waited, because no other thread may have called it for this
    /// message. The call is not necessary if the loop has taken all messages already.
    private func noteSent(_ isSent: Bool) -> Bool {
        if isSent, inbox.count > 0 { noteMessages() }
        return isSent
    }

    /// The largest number of messages that can wait; at least one. Threads: any.
    public var capacity: Int { inbox.capacity }

    /// How many messages wait. Other threads may change the number before the caller uses it. Threads: any.
    public var count: Int { Fork.isChild ? 0 : inbox.count }
}
