// SPDX-License-Identifier: Apache-2.0
// Ports: version-1 sources by which threads send messages to a loop.

extension GRunLoop {
    /// Brings messages from any thread to a loop, whose thread handles them.
    ///
    /// ```swift
    /// let port = GRunLoop.Port { message in show(message.id) }
    /// GRunLoop.main.add(port, forMode: .default)
    /// // On any thread:
    /// _ = port.trySend(GRunLoop.PortMessage(id: 7, [.bytes(data)], replyPort: mine))
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
        @exclusivity(unchecked) private var turns = Places<TurnPlace<Port>>()
        var isCommonItem = false
        var isValidLocked = true
        /// Some have come, and were not all taken.
        private var hasMessages = false
        /// The task that receives has not asked for the next message.
        private var isPaused = false
        private var task: (@Sendable (PortMessage) -> Void)?
        private var invalidationHandlers: [@Sendable () -> Void] = []

        let inbox: any PortInbox
        let confined: Confined?
        let handler: (@Sendable (PortMessage) -> Void)?

        init(_ inbox: any PortInbox, confined: Confined?, handler: (@Sendable (PortMessage) -> Void)?) {
            self.inbox = inbox
            self.confined = confined
            self.handler = handler
        }

        deinit {
            guard !Fork.isChild else { return }
            letGo(of: inbox.close())
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
            let isFirst = isValidLocked
            // First: once it is in no loop, the loop's lock guards it no more.
            let (handlers, former) = (invalidationHandlers, task)
            if isFirst { (invalidationHandlers, task) = ([], nil) }
            _ = endLocked(held)
            guardian.unlock(held)
            guard isFirst else { return }
            letGo(of: inbox.close())
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

        /// What was not delivered goes here, one after the other: a message may hold a port in whose queue another one
        /// holds a port, and so on, and a chain of them would take as much of the stack.
        private func letGo(of undelivered: consuming [PortMessage]) {
            var messages = undelivered
            while !messages.isEmpty {
                var ports = messages.flatMap(\.ports)
                messages = []
                while var port = ports.popLast() {
                    if isKnownUniquelyReferenced(&port) { messages += port.takeUndelivered() }
                }
            }
        }

        /// Nobody else holds it. Whom a weak reference still shows it to finds it invalid.
        private func takeUndelivered() -> [PortMessage] {
            guardian.withLock { isValidLocked = false }
            return inbox.close()
        }

        /// Some may have come.
        func noteMessages() {
            let held = guardian.lock()
            hasMessages = true
            let kick = noteReadinessLocked()
            guardian.unlock(held)
            kick?.send()
        }

        /// Has messages delivered to a task, each when it asks for one. False if there is a receiver.
        func setTask(_ body: @escaping @Sendable (PortMessage) -> Void) -> Bool {
            guardian.withLock {
                guard task == nil, handler == nil else { return false }
                // The task holds the port, and invalidating it was to end that.
                guard isValidLocked else { return true }
                (task, isPaused) = (body, true)
                _ = noteReadinessLocked()
                return true
            }
        }

        /// The task wants a message.
        func ask() {
            let held = guardian.lock()
            isPaused = false
            let kick = noteReadinessLocked()
            guardian.unlock(held)
            kick?.send()
        }

        /// Has a message handled, and lets go of it. What nobody handles is dropped.
        func deliver(_ taken: inout PortTaken) {
            guard var message = taken.message.take() else { return }
            message.receivePort = self
            if let handler { handler(message) } else { taken.task.take()?(message) }
        }

        // MARK: With the guardian held

        /// Takes the message whose turn it is. False if there is none, or if a task has not asked for it.
        func takeLocked(_ taken: inout PortTaken) -> Bool {
            guard hasMessages, !isPaused else { return false }
            hasMessages = inbox.takeNext(&taken)
            if taken.message != nil, let task { (taken.task, isPaused) = (task, true) }
            // The others come before its next message.
            eachTurnLocked { $0.ports.note($1, false) }
            if hasMessages { _ = noteReadinessLocked() }
            return taken.message != nil
        }

        /// A test has chosen it.
        func comeFirstLocked(in mode: ModeState) {
            if let place = turns[mode] { mode.ports.listFirst(place.turn) }
        }

        /// A message can be delivered, or none can: its modes note it, and a sleep in one of them ends.
        private func noteReadinessLocked() -> Kick? {
            let isReady = hasMessages && !isPaused && isValidLocked
            var kick: Kick?
            eachTurnLocked { mode, turn in
                mode.ports.note(turn, isReady)
                guard isReady, let loop = guardian.bound?.loop else { return }
                loop._withUnsafeGuaranteedRef { $0.owner.watchAnewLocked(mode, &kick) }
            }
            return kick
        }

        private func eachTurnLocked(_ body: (ModeState, Unmanaged<Turn<Port>>) -> Void) {
            if let place = turns.single { return place.turn.inMode(body) }
            turns.forEach { $0.turn.inMode(body) }
        }
    }
}

/// What waits behind a port. Carried out by a channel, which stands above.
protocol PortInbox: AnyObject, Sendable {
    /// Takes the message that has waited longest, if there is one. Returns whether more wait.
    func takeNext(_ taken: inout PortTaken) -> Bool
    /// Those whose messages have taken the room go on.
    func resumeSenders()
    /// Nothing is accepted any more. Returns what was not delivered.
    func close() -> [GRunLoop.PortMessage]
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

struct PortTaken: ~Copyable {
    var message: GRunLoop.PortMessage?
    /// Who receives it, if that is a task.
    var task: (@Sendable (GRunLoop.PortMessage) -> Void)?
    /// Somebody who waited has the room, and is to be told.
    var hasAdmitted = false
}

enum PortSlot {
    case at(UnsafeMutablePointer<GRunLoop.PortMessage>)
    case full, closed
}

extension GRunLoop.Port: ModeItem {
    static var kind: StaticString { "Port" }
    var asItem: Item { .port(self) }
    var homeLocked: Home? { confined?.home }
    var firstMode: Unmanaged<ModeState>? { turns.first }

    func isIn(_ mode: ModeState) -> Bool { turns.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) {
        turns.add(TurnPlace(of: self, in: mode))
        mode.ports.insert(self)
        if hasMessages { effects.kick.merge(noteReadinessLocked()) }
    }

    func leave(_ mode: ModeState, _ effects: inout Effects) {
        guard let place = turns.remove(mode) else { return }
        mode.ports.note(place.turn, false)
        place.end()
        mode.ports.remove(self)
    }
}

extension GRunLoop.Port: CustomStringConvertible {
    /// Whether it is valid, and how many messages wait, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Port \(hexAddress(self))>{forked}" }
        return "<GRunLoop.Port \(hexAddress(self))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "count = \(inbox.count), context = {version = 1, perform = \(handler == nil ? "none" : "closure")}}"
    }
}
