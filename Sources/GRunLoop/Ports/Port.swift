// SPDX-License-Identifier: Apache-2.0
// Ports: version-1 sources through which any thread sends messages to a loop.

extension GRunLoop {
    /// Carries messages from any thread to a loop, whose thread handles them.
    ///
    /// ```swift
    /// let port = GRunLoop.Port { message in show(message.id) }
    /// GRunLoop.main.add(port, forMode: .default)
    /// // On any thread:
    /// _ = port.trySend(GRunLoop.PortMessage(id: 7, [.bytes(data)], replyPort: mine))
    /// ```
    ///
    /// The loop handles messages in the order in which they were sent, one in each pass, as the item of stage 10.
    /// Messages wait while the loop runs in none of the port's modes. A message wakes a loop that sleeps in one of
    /// these modes. If a handler runs the loop, the nested run handles the next message.
    ///
    /// A port is in one loop at a time, and in any number of that loop's modes. While a port is in a mode, a run in
    /// this mode does not return ``RunResult/finished``, even if no message ever arrives. So a port can keep a thread's
    /// loop running. When the loop's thread ends, the port leaves its modes and keeps its waiting messages. You can
    /// then add the port to another loop. A port uses no file descriptor.
    ///
    /// The program retains a port, and so do the port's modes and the messages that carry the port. A message that
    /// carries a port and waits in this same port makes a reference cycle. The cycle ends when the message is delivered
    /// or the port is invalidated.
    ///
    /// To send many values of one type, use a ``Channel``, which delivers any number of them in one pass.
    ///
    /// Threads: any. The corresponding Foundation type is `Port`. The Core Foundation type is `CFMachPort`.
    public final class Port: @unchecked Sendable {
        let guardian = Guardian()
        // Guarded by the guardian.
        @exclusivity(unchecked) private var turns = Places<TurnPlace<Port>>()
        var isCommonItem = false
        var isValidLocked = true
        /// True if `inbox` may have messages.
        private var hasMessages = false
        /// True while the receiving task has not asked for the next message.
        private var isPaused = false
        private var task: (@Sendable (PortMessage) -> Void)?
        private var invalidationHandlers: [@Sendable () -> Void] = []

        let inbox: any PortMessageQueue
        let confined: Confined?
        let handler: (@Sendable (PortMessage) -> Void)?

        init(_ inbox: any PortMessageQueue, confined: Confined?, handler: (@Sendable (PortMessage) -> Void)?) {
            self.inbox = inbox
            self.confined = confined
            self.handler = handler
        }

        deinit {
            guard !Fork.isChild else { return }
            letGo(of: inbox.close())
            // No lock is needed, because the port is in no mode, and no other code has a reference to it.
            for handler in invalidationHandlers { handler() }
        }

        /// Whether the port is valid. False after ``invalidate()`` was called, and in a forked child.
        ///
        /// Threads: any. The corresponding Foundation property is `Port.isValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the port from every mode, permanently. After that, sending to the port fails, even for threads and
        /// tasks that already wait for room. Undelivered messages are released on the calling thread. Then the closures
        /// from ``onInvalidation(_:)`` are called. A handler that is running continues. A second call does nothing.
        ///
        /// Threads: any. The corresponding Foundation function is `Port.invalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            let isFirst = isValidLocked
            // The handlers and the task are taken before the port leaves its loop, because afterwards the loop's lock
            // does not guard the port any more.
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

        /// Calls a closure once, when the port becomes invalid. The closure is called on the thread that invalidates or
        /// releases the port, after the port has left its modes. Several closures are called in the order in which they
        /// were added. If the port is already invalid, the closure is called immediately.
        ///
        /// The closure must not own a reference to the port, because that would be a reference cycle.
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

        var isOnItsLoop: Bool { guardian.withLock { guardian.loop?.isOfThisThread ?? false } }

        // MARK: Without a lock

        /// Releases undelivered messages without recursion. A message may hold a port whose queue has a message that
        /// holds another port, and so on. A recursive release of a long chain would overflow the stack.
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

        /// Closes a port to which the caller has the only strong reference, and returns its messages. Invalidates the
        /// port, because the program may still get the port from a weak reference.
        private func takeUndelivered() -> [PortMessage] {
            guardian.withLock { isValidLocked = false }
            return inbox.close()
        }

        /// Called when messages may have arrived. If a message can be delivered, marks the port as ready in its modes,
        /// and ends a sleep in these modes.
        func noteMessages() {
            let held = guardian.lock()
            hasMessages = true
            let kick = noteReadinessLocked()
            guardian.unlock(held)
            kick?.send()
        }

        /// Makes a task the port's receiver. Each time the task asks for a message, `body` delivers a message to the
        /// task. Returns false if the port has a receiver already.
        func setTask(_ body: @escaping @Sendable (PortMessage) -> Void) -> Bool {
            guardian.withLock {
                guard task == nil, handler == nil else { return false }
                // An invalid port must not keep `body`. If `body` retains the port, only ``invalidate()`` can break the
                // reference cycle, and ``invalidate()`` was called already.
                guard isValidLocked else { return true }
                (task, isPaused) = (body, true)
                _ = noteReadinessLocked()
                return true
            }
        }

        /// Called when the receiving task asks for a message.
        func ask() {
            let held = guardian.lock()
            isPaused = false
            let kick = noteReadinessLocked()
            guardian.unlock(held)
            kick?.send()
        }

        /// Passes a message to the handler or the task, and then releases the message. If the port has neither a
        /// handler nor a task, the message is dropped.
        func deliver(_ taken: inout PortTaken) {
            guard var message = taken.message.take() else { return }
            message.receivePort = self
            if let handler { handler(message) } else { taken.task.take()?(message) }
        }

        // MARK: With the guardian held

        /// Takes the next message. Returns false if no message waits, or if the receiving task has not asked for a
        /// message.
        func takeLocked(_ taken: inout PortTaken) -> Bool {
            guard hasMessages, !isPaused else { return false }
            hasMessages = inbox.takeNext(&taken)
            if taken.message != nil, let task { (taken.task, isPaused) = (task, true) }
            // The other ports have their turns before this port's next message.
            eachTurnLocked { $0.ports.note($1, false) }
            if hasMessages { _ = noteReadinessLocked() }
            return taken.message != nil
        }

        /// Gives the port the next turn in a mode, because a test has chosen this port.
        func moveToFrontLocked(in mode: ModeState) {
            if let place = turns[mode] { mode.ports.listFirst(place.turn) }
        }

        /// Records in each of the port's modes whether a message can be delivered. If a message can be delivered,
        /// returns a kick that ends a sleep in these modes.
        private func noteReadinessLocked() -> Kick? {
            let isReady = hasMessages && !isPaused && isValidLocked
            var kick: Kick?
            eachTurnLocked { mode, turn in
                mode.ports.note(turn, isReady)
                guard isReady, let loop = guardian.bound?.loop else { return }
                loop._withUnsafeGuaranteedRef { $0.restartSleepLocked(mode, &kick) }
            }
            return kick
        }

        private func eachTurnLocked(_ body: (ModeState, Unmanaged<Turn<Port>>) -> Void) {
            if let place = turns.single { return place.turn.inMode(body) }
            turns.forEach { $0.turn.inMode(body) }
        }
    }
}

/// The waiting messages of a port. ``PortChannel`` implements this protocol, so that a port does not depend on
/// channels.
protocol PortMessageQueue: AnyObject, Sendable {
    /// Takes the oldest message, if there is one. Returns whether more messages wait.
    func takeNext(_ taken: inout PortTaken) -> Bool
    /// Resumes the senders that ``takeNext(_:)`` has made room for.
    func resumeSenders()
    /// Accepts no more messages. Returns the undelivered messages.
    func close() -> [GRunLoop.PortMessage]
    var capacity: Int { get }
    var count: Int { get }

    /// Returns the address for a message, or the reason why the message is not accepted. The caller writes the message
    /// to the address, and calls ``commit()``.
    func begin() -> PortSlot
    /// Accepts the message that the caller has written. Returns whether the caller must call `noteMessages()`.
    func commit() -> Bool
    /// Sends a message to a full port: blocks the thread until the port has room, or until `end`. Returns whether the
    /// message was sent.
    func send(_ message: consuming GRunLoop.PortMessage, until end: Nanoseconds) -> Bool
    /// Sends a message to a full port: suspends the task until the port has room. Returns whether the message was sent.
    nonisolated(nonsending) func wait(toSend message: consuming GRunLoop.PortMessage) async -> Bool
}

/// A message that was taken from a port with the lock held, and is used without the lock.
struct PortTaken: ~Copyable {
    var message: GRunLoop.PortMessage?
    /// The closure that passes the message to the receiving task; nil if a handler receives.
    var task: (@Sendable (GRunLoop.PortMessage) -> Void)?
    /// True if waiting senders got room and must be resumed.
    var hasAdmitted = false
}

enum PortSlot {
    case at(UnsafeMutablePointer<GRunLoop.PortMessage>)
    case full, closed
}

extension GRunLoop.Port: ModeItem {
    /// Adds the port to a mode, removes it, or returns whether it is in the mode: see
    /// ``GRunLoop/Item/carryOut(_:of:forMode:)``. Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) -> Bool {
        carryOut(operation, loop, mode)
    }

    static var kind: StaticString { "Port" }
    var asCommonItem: CommonItem { .port(self) }
    var homeLocked: Home? { confined?.home }
    var firstMode: Unmanaged<ModeState>? { turns.first }

    func isIn(_ mode: ModeState) -> Bool { turns.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) {
        turns.add(TurnPlace(of: self, in: mode))
        mode.ports.insert(self)
        if hasMessages { effects.kick.merge(noteReadinessLocked()) }
    }

    func leave(_ mode: ModeState, _ effects: inout DeferredEffects) {
        guard let place = turns.remove(mode) else { return }
        mode.ports.note(place.turn, false)
        place.end()
        mode.ports.remove(self)
    }
}

extension GRunLoop.Port: CustomStringConvertible {
    /// Describes the port for people: whether it is valid, and how many messages wait. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Port \(hexAddress(self))>{forked}" }
        return "<GRunLoop.Port \(hexAddress(self))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "count = \(inbox.count), context = {version = 1, perform = \(handler == nil ? "none" : "closure")}}"
    }
}
