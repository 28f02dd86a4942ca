// SPDX-License-Identifier: Apache-2.0
// Making a port, and sending to it.

extension GRunLoop.Port {
    /// A port that is in no loop yet. Messages can be sent, and wait.
    ///
    /// - Parameters:
    ///   - capacity: how many messages may wait. Zero and negative mean one, `Int.max` is no limit.
    ///   - handler: gets each message, on the loop's thread. It may run the loop, send, and invalidate the port. Nil:
    ///     messages are dropped when their turn comes, unless a task awaits them (``messages(on:inModes:)``).
    ///
    /// Threads: any. The corresponding Foundation functions are `Port.init` and `Port.setDelegate`.
    public convenience init(
        capacity: Int = .max, handler: (@Sendable (GRunLoop.PortMessage) -> Void)? = nil
    ) {
        self.init(PortChannel(capacity: capacity), confined: nil, handler: handler)
    }

    /// Sends a message if there is room, and does not wait: also on the loop's own thread, in the handler, and in an
    /// async function. ``send(_:before:)`` and ``send(_:)`` wait for room.
    ///
    /// The receiver gets this message with its arrays, and not a copy of them.
    ///
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid. It is not delivered
    ///   if the port is invalidated before its turn.
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

    /// Sends a message. While the port is full the thread waits until `limit` at most; but not the thread of the port's
    /// own loop, where nobody else could make room. Threads and tasks that wait are served in the order in which they
    /// came.
    ///
    /// - Parameters:
    ///   - message: what to send.
    ///   - limit: until when to wait for room, on the system's clock. A date that has passed: not at all.
    /// - Returns: true if the message waits to be delivered; false if the port is full or invalid.
    ///
    /// Threads: any; not from a signal handler, and not in a task, which ``send(_:)`` suspends. The corresponding
    /// Foundation function is `Port.send(before:msgid:components:from:reserved:)`.
    @available(*, noasync, message: "it blocks the thread; await send(_:)")
    public func send(_ message: consuming GRunLoop.PortMessage, before limit: GRunLoop.Instant) -> Bool {
        guard !Fork.refuses("Port.send") else { return false }
        message.receivePort = nil
        switch inbox.begin() {
        case .at(let slot):
            slot.initialize(to: message)
            if inbox.commit() { noteMessages() }
            return true
        case .closed: return false
        case .full:
            let limit = Nanoseconds(saturating: limit)
            guard limit > .now(), !isOnItsLoop else { return false }
            return noteSent(inbox.send(message, until: limit))
        }
    }

    /// Sends a message. While the port is full the task is suspended; tasks and threads that wait are served in the
    /// order in which they came.
    ///
    /// - Returns: false if the port is invalid, or if it is full and the task is cancelled.
    ///
    /// Threads: any. Otherwise it is ``send(_:before:)``. ``trySend(_:)`` does not wait.
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

    /// Who made the room may have taken the message, too, and told nobody.
    private func noteSent(_ isSent: Bool) -> Bool {
        if isSent, inbox.count > 0 { noteMessages() }
        return isSent
    }

    /// How many messages may wait, at least one. Threads: any.
    public var capacity: Int { inbox.capacity }

    /// How many messages wait. It may have changed when this returns. Threads: any.
    public var count: Int { Fork.isChild ? 0 : inbox.count }
}
