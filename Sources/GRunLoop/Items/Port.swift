// SPDX-License-Identifier: Apache-2.0
// Ports: version-1 sources by which threads send messages to a loop.

extension GRunLoop {
    /// Brings messages from any thread to a loop, whose thread handles them.
    ///
    /// ```swift
    /// let port = GRunLoop.Port { message in show(message.id) }
    /// GRunLoop.main.add(port, forMode: .default)
    /// // On any thread:
    /// _ = port.send(GRunLoop.PortMessage(id: 7, [.bytes(data)], replyPort: mine))
    /// ```
    ///
    /// Messages wait while no mode of the port's is run, and come in the order in which they were sent: one a pass, as
    /// the item of its stage 10. A message wakes a loop that sleeps in one of these modes. While a handler runs the
    /// loop, the nested run goes on with the next message.
    ///
    /// A port is in one loop at a time, and in any number of its modes. It keeps such a mode from being finished though
    /// no message ever comes: by that a thread can be kept alive. When the loop's thread ends the port leaves its modes
    /// with what waits, and can be added to another loop. It needs no descriptor.
    ///
    /// The program holds a port, and so do the modes that it is in, and messages that carry it. One that waits in its
    /// own queue holds itself, until it is delivered or the port is invalidated.
    ///
    /// For values of one type, and many of them, there is ``Channel``, which delivers any number in a pass.
    ///
    /// Threads: any. The corresponding Foundation type is `Port`, Core Foundation's is `CFMachPort`.
    public final class Port: @unchecked Sendable {
        let guardian = Guardian()
        // Guarded by the guardian.
        private var turns: [Turn<Port>] = []
        var isCommonItem = false
        var isValidLocked = true
        /// Some have come, and were not all taken.
        private var hasMessages = false
        /// The task that receives.
        private var reader = Reader.none
        private var invalidationHandlers: [@Sendable () -> Void] = []

        private enum Reader {
            case none
            /// Until it asks again nothing is delivered.
            case has(@Sendable (PortMessage) -> Void, asks: Bool)
        }

        let inbox: any PortInbox
        let confined: Confined?
        private let handler: (@Sendable (PortMessage) -> Void)?

        init(_ inbox: any PortInbox, confined: Confined?, handler: (@Sendable (PortMessage) -> Void)?) {
            self.inbox = inbox
            self.confined = confined
            self.handler = handler
        }

        deinit {
            guard !Fork.isChild else { return }
            inbox.close()
            // It is in no mode, and nobody else knows it.
            for handler in invalidationHandlers { handler() }
        }

        /// False from the call of ``invalidate()`` on.
        ///
        /// Threads: any. The corresponding Foundation property is `Port.isValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Takes the port out of every mode, for good. Nothing can be sent to it any more, who waits to send is told,
        /// and what was not delivered is let go, on this thread. A handler that is running goes on. Then those that
        /// asked for it are told: see ``onInvalidation(_:)``. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Foundation function is `Port.invalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            let isFirst = endLocked(held)
            let (handlers, former) = (invalidationHandlers, reader)
            if isFirst { (invalidationHandlers, reader) = ([], .none) }
            guardian.unlock(held)
            guard isFirst else { return }
            inbox.close()
            confined?.letGo()
            for handler in handlers { handler() }
            withExtendedLifetime(former) {}
        }

        /// Has the closure called once, when the port becomes invalid: on the thread that invalidates it or lets go of
        /// it, after the port has left its modes. Several are called in the order in which they were given; on a port
        /// that is invalid already it is called at once.
        ///
        /// The closure must not hold the port: that would keep it.
        ///
        /// Threads: any. The corresponding Foundation notification is `Port.didBecomeInvalidNotification`.
        public func onInvalidation(_ body: @escaping @Sendable () -> Void) {
            guard !Fork.refuses("Port.onInvalidation") else { return }
            let isValid = guardian.withLock {
                if isValidLocked { invalidationHandlers.append(body) }
                return isValidLocked
            }
            if !isValid { body() }
        }

        /// Whether the calling thread is that of the loop that the port is in.
        var isOnItsLoop: Bool { guardian.withLock { guardian.loop?.owner.isOfThisThread ?? false } }

        // MARK: Without a lock

        /// Some may have come.
        func noteMessages() {
            let held = guardian.lock()
            let kick = noteLocked(hasMessages: true)
            guardian.unlock(held)
            kick?.send()
        }

        /// Has messages delivered to a task, if it has asked for one. False if another task receives.
        func setReader(_ body: @escaping @Sendable (PortMessage) -> Void) -> Bool {
            guardian.withLock {
                guard case .none = reader, handler == nil else { return false }
                reader = .has(body, asks: false)
                return true
            }
        }

        /// The task wants a message.
        func ask() {
            let held = guardian.lock()
            var kick: Kick?
            if case .has(let body, false) = reader {
                reader = .has(body, asks: true)
                kick = noteLocked(hasMessages: hasMessages)
            }
            guardian.unlock(held)
            kick?.send()
        }

        /// Takes the next message, and has it handled. Returns whether there was one. What nobody handles is dropped.
        func deliverNext(_ willCall: () -> Void) -> Bool {
            let task = handler == nil ? takeReader() : nil
            let next = inbox.takeNext()
            if next.isLeft { noteMessages() }
            guard var message = next.message else {
                if task != nil { ask() }
                return false
            }
            message.receivePort = self
            willCall()
            if let handler { handler(message) } else { task?(message) }
            return true
        }

        /// What was asked for is on its way.
        private func takeReader() -> (@Sendable (PortMessage) -> Void)? {
            guardian.withLock {
                guard case .has(let body, _) = reader else { return nil }
                reader = .has(body, asks: false)
                return body
            }
        }

        // MARK: With the guardian held

        /// Whether a message can be delivered.
        private var isReadyLocked: Bool {
            if case .has(_, false) = reader { return false }
            return hasMessages
        }

        private func noteLocked(hasMessages: Bool) -> Kick? {
            self.hasMessages = hasMessages && isValidLocked
            var kick: Kick?
            let isReady = isReadyLocked
            for turn in turns where turn.isListed != isReady {
                turn.mode.ports.note(turn, isReady)
                if isReady { kick.merge(guardian.loop?.owner.watchAnewLocked(turn.mode)) }
            }
            return kick
        }

        /// The next message is about to be taken: ``noteMessages()`` follows if there are more.
        func beginTurnLocked() {
            _ = noteLocked(hasMessages: false)
        }
    }
}

/// What waits behind a port. Carried out by a channel, which stands above.
protocol PortInbox: AnyObject, Sendable {
    /// The message that has waited longest, and whether more wait.
    func takeNext() -> (message: GRunLoop.PortMessage?, isLeft: Bool)
    /// Nothing is accepted any more, and what waits is let go.
    func close()
    var capacity: Int { get }
    var count: Int { get }

    /// Where a message is to be put, if it is accepted: ``commit()`` follows.
    func begin() -> PortSlot
    /// The message is there. Returns whether the loop is to be told.
    func commit() -> Bool
    /// Sends to a full port, with a thread that waits until `end`.
    func send(_ message: consuming GRunLoop.PortMessage, until end: Nanoseconds) -> Bool
    /// The same with a task that waits.
    nonisolated(nonsending) func wait(toSend message: consuming GRunLoop.PortMessage) async -> Bool
}

enum PortSlot {
    case at(UnsafeMutablePointer<GRunLoop.PortMessage>)
    case full, closed
}

extension GRunLoop.Port: ModeItem {
    static var kind: StaticString { "Port" }
    var asItem: Item { .port(self) }
    var homeLocked: Home? { confined?.home }
    var firstMode: Unmanaged<ModeState>? { turns.first.map { .passUnretained($0.mode) } }

    func isIn(_ mode: ModeState) -> Bool { turns.contains { $0.mode === mode } }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) {
        let turn = Turn(of: self, in: mode)
        turns.append(turn)
        mode.ports.insert(turn)
        guard isReadyLocked else { return }
        mode.ports.note(turn, true)
        effects.kick.merge(loop.owner.watchAnewLocked(mode))
    }

    func leave(_ mode: ModeState, _ effects: inout Effects) {
        guard let index = turns.firstIndex(where: { $0.mode === mode }) else { return }
        let turn = turns.remove(at: index)
        mode.ports.note(turn, false)
        mode.ports.remove(turn)
    }
}

extension GRunLoop.Port: CustomStringConvertible {
    /// Whether it is valid, and how many messages wait, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Port \(hexAddress(self))>{forked}" }
        return "<GRunLoop.Port \(hexAddress(self))>{valid = \(yesNo(isValid)), count = \(inbox.count), "
            + "context = {version = 1, perform = \(handler == nil ? "none" : "closure")}}"
    }
}
