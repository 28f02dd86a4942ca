// SPDX-License-Identifier: Apache-2.0
// The client side of a message port: it finds a port by its name, and sends messages and requests to it.

import CGRun
import CGRunMessagePorts
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Sends messages to a ``MessagePort`` of another process, or of this process.
    ///
    /// ```swift
    /// let clock = try GRunLoop.RemoteMessagePort.lookUp("org.example.clock")
    /// let reply = try clock.request(1, [], sendTimeout: .seconds(1), receiveTimeout: .seconds(1))
    /// ```
    ///
    /// While your program holds a valid object for a name, all look-ups of this name in the process return that object,
    /// and share its connection. Messages that one thread sends through one object arrive in the order in which they
    /// were sent. Several threads may send requests: each reply is matched with its request. A reply that comes too
    /// late is dropped.
    ///
    /// The object needs one descriptor, and is in a loop only while a thread or a task waits on this loop. The object
    /// notices that the other side has gone only while a caller waits for a reply, when a message is sent, and in
    /// ``isValid``.
    ///
    /// Threads: any. The corresponding Core Foundation type is a remote `CFMessagePort`.
    public final class RemoteMessagePort: @unchecked Sendable {
        /// The data and the descriptors of a reply.
        public struct Reply: Sendable {
            /// The bytes of the reply; empty if none were sent. The caller may keep them. Threads: any.
            public let data: MessageData
            private let descriptors: ReceivedDescriptors?

            init(_ data: MessageData = [], _ descriptors: ReceivedDescriptors? = nil) {
                self.data = data
                self.descriptors = descriptors
            }

            /// The number of descriptors that came with the reply and were not taken yet. Threads: any.
            public var descriptorCount: Int { descriptors?.count ?? 0 }

            /// Takes the descriptors that came with the reply: see ``GRunLoop/MessagePort/Message/takeDescriptors()``.
            /// Threads: any.
            public func takeDescriptors() -> [Int32] { descriptors?.take() ?? [] }
        }

        /// The name by which the port was looked up. This property does not change if the port gets another name.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
        public let name: String

        private let portName: PortName
        /// The socket, for tests; nil after the port has become invalid.
        var socket: MessageSocket? { lock.withLock { state.socket } }
        private let lock: Lock
        /// Held while a thread receives a packet and finds the exchange that the packet belongs to. All other
        /// operations take only `lock`.
        let receiveLock: Lock
        @exclusivity(unchecked) private var state = State()

        /// Guarded by the lock.
        private struct State {
            var isValid = true
            /// Nil once the port is invalid. A thread that uses the socket in a system call holds its own reference.
            var socket: MessageSocket?
            /// False if the socket is not connected yet, because the port's queue of connections is full.
            var isConnected = false
            var lastConversation: UInt32 = 0
            var exchanges = MessageExchanges()
            /// One reader for each loop on which a thread, a task or a request has waited.
            var readers: [ReplyReceiver] = []
            var invalidationHandlers: [@Sendable () -> Void] = []

            /// The socket; nil before it is connected, and once the port is invalid.
            var connected: MessageSocket? { isConnected ? socket : nil }
        }

        private struct Known {
            weak var port: RemoteMessagePort?
        }
        private static let knownLock = Lock.take()
        /// The ports that were looked up, by the hashes of their names. The keys are hashes, because two strings that
        /// are equal in Swift can be two different names. Guarded by `knownLock`.
        nonisolated(unsafe) private static var known: [[CChar]: Known] = [:]

        /// Finds a port by its name, and connects to it.
        ///
        /// - Parameter name: 1 to 128 bytes of UTF-8 without a NUL.
        /// - Returns: the port. If the program still holds a valid object from a look-up of this name, this function
        ///   returns that object. The port may have another name by now.
        /// - Throws: ``MessagePortError``; ``MessagePortError/notFound(_:)`` if no port has the name.
        ///
        /// Threads: any; the call does not wait. The corresponding Core Foundation function is
        /// `CFMessagePortCreateRemote`.
        public static func lookUp(_ name: String) throws(MessagePortError) -> RemoteMessagePort {
            if Fork.isChild { throw .forked }
            let portName = try PortName(name)
            if let found = knownLock.withLock({ known[portName.file]?.port }), found.isValid { return found }
            let port = try RemoteMessagePort(portName)
            // Another thread may have looked up the name first. The object that is not used is released after
            // unlocking.
            return knownLock.withLock { () -> (used: RemoteMessagePort, found: RemoteMessagePort?) in
                let found = known[portName.file]?.port
                if let found, found.isOpen { return (found, port) }
                known[portName.file] = Known(port: port)
                return (port, found)
            }.used
        }

        private init(_ name: PortName) throws(MessagePortError) {
            cgrun_watch_fork()
            guard let socket = MessageSocket() else { throw .init(errno: errno, of: "socket(2)") }
            // The locks are not taken before this point. If init throws before every property is set, deinit does not
            // run, and cannot return the locks.
            lock = Lock.take()
            receiveLock = Lock.take()
            self.name = name.text
            portName = name
            state.isConnected = try name.connect(socket)
            state.socket = socket
        }

        deinit {
            if !Fork.isChild {
                Self.forget(portName)
                state.socket?.end()
                for handler in state.invalidationHandlers { handler() }
            }
            Lock.giveBack(lock)
            Lock.giveBack(receiveLock)
        }

        private static func forget(_ name: PortName) {
            // `other` may be a newer object of the same name. The closure returns `other`, so that it is released after
            // unlocking.
            _ = knownLock.withLock { () -> RemoteMessagePort? in
                let other = known[name.file]?.port
                if other == nil { known[name.file] = nil }
                return other
            }
        }

        // MARK: Its end

        /// Whether the port is valid. False after the other side has gone or ``invalidate()`` was called, and in a
        /// forked child.
        ///
        /// Each access to this property asks the kernel. If the other side has gone, the port first receives the
        /// replies that have already come, so that the waiting requests get them. Then the port becomes invalid.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortIsValid`.
        public var isValid: Bool {
            guard !Fork.isChild else { return false }
            let (isValid, socket) = lock.withLock { (state.isValid, state.connected) }
            guard isValid, let socket, !socket.isConnected else { return isValid }
            noteGone()
            return false
        }

        /// Ends the connection, and makes the port invalid. A second call does nothing.
        ///
        /// Requests that wait for a reply get ``MessageRequestError/becameInvalid``. Messages that were not sent get
        /// ``MessageRequestError/isInvalid``. Then the closures of ``onInvalidation(_:)`` are called. Messages that
        /// were sent are still delivered.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let (ended, exchanges) = lock.withLock { () -> (State, [MessageExchange]) in
                let exchanges = state.exchanges.endAll()
                defer {
                    state = State()
                    state.isValid = false
                }
                return (state, exchanges)
            }
            guard ended.isValid else { return }
            ended.socket?.end()
            for exchange in exchanges { exchange.progress() }
            for reader in ended.readers { reader.invalidate() }
            for handler in ended.invalidationHandlers { handler() }
        }

        /// Calls a closure once when the port becomes invalid. The closure is called on the thread that calls
        /// ``invalidate()``, notices that the other side has gone, or releases the last reference.
        ///
        /// Several closures are called in the order in which they were given. If the port is already invalid, the
        /// closure is called immediately.
        ///
        /// The closure must not own a reference to the port, because that would be a reference cycle.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortSetInvalidationCallBack`.
        public func onInvalidation(_ body: @escaping @Sendable () -> Void) {
            guard !Fork.refuses("RemoteMessagePort.onInvalidation") else { return }
            let isValid = lock.withLock {
                if state.isValid { state.invalidationHandlers.append(body) }
                return state.isValid
            }
            if !isValid { body() }
        }

        // MARK: Exchanges

        /// Makes the exchange for a message that is to be sent. For `progress`, see ``MessageExchange/progress``. Any
        /// thread may call `progress`.
        func prepare(
            _ kind: PacketKind, _ id: Int32, _ data: MessageData, _ descriptors: [Int32],
            progress: @escaping @Sendable () -> Void
        ) throws(MessageRequestError) -> MessageExchange {
            let (isValid, conversation) = lock.withLock { () -> (Bool, UInt32) in
                // The numbers wrap around, and a request without a time limit may still use an old number.
                repeat {
                    state.lastConversation = max(1, state.lastConversation &+ 1)
                } while state.exchanges.underWay(state.lastConversation) != nil
                return (state.isValid, state.lastConversation)
            }
            guard isValid else { throw .isInvalid }
            return MessageExchange(
                try OutgoingPacket(kind, id: id, conversation: conversation, data, descriptors), progress: progress)
        }

        /// Sends the message of an exchange, or queues the message. If `keeps` is true, copies the descriptors of a
        /// queued message, because the caller may close them before the message is sent.
        func start(_ exchange: MessageExchange, keeps: Bool = false) throws(MessageRequestError) {
            // By now there may be room for the queued messages and for this message, which is last in the queue.
            if isBlocked { send() } else { connect() }
            try prepareMemory(exchange.packet)
            let (isGone, isWaiting) = try lock.withLock { () throws(MessageRequestError) -> (Bool, Bool) in
                guard state.isValid else { throw .isInvalid }
                // The task that waits for the exchange was cancelled.
                guard case .sending = exchange.stage else { return (false, false) }
                let isGone = state.exchanges.begin(exchange, by: state.connected)
                guard case .sending = exchange.stage else { return (isGone, false) }
                do throws(MessageRequestError) { if keeps { try exchange.packet.keep() } } catch {
                    state.exchanges.give(up: exchange, error)
                }
                return (isGone, true)
            }
            if !isWaiting, exchange.packet.isInMemory { exchange.packet.close() }
            if isGone { noteGone() }
        }

        /// Copies the data of a message to memory, if the message can be sent now. Called without the lock, because the
        /// copy takes longer for larger data.
        private func prepareMemory(_ packet: OutgoingPacket) throws(MessageRequestError) {
            guard packet.isInMemory, lock.withLock({ state.isConnected && !state.exchanges.isBlocked }) else { return }
            let error = packet.makeMemory()
            // If memory or descriptors are short, the message is queued. A later attempt to send it makes the memory.
            if error != 0, MessageFault.of(error, in: .memory) != .shortage { throw .transportError(errno: error) }
        }

        private var isOpen: Bool { lock.withLock { state.isValid } }

        func stage(of exchange: MessageExchange) -> MessageExchange.Stage { lock.withLock { exchange.stage } }

        /// Cancels an exchange with an error, unless the exchange is done. Returns the outcome; nil if the exchange
        /// continues, because a send timeout does not cancel a message that was sent just now.
        @discardableResult func giveUp(
            _ exchange: MessageExchange, _ error: MessageRequestError
        ) -> MessageExchange.Outcome? {
            lock.withLock {
                state.exchanges.give(up: exchange, error)
                if case .done(let outcome) = exchange.stage { return outcome }
                return nil
            }
        }

        /// Returns the exchange of a conversation. Returns nil if that exchange is done, because another exchange may
        /// then use the conversation's number.
        func underWay(_ conversation: UInt32) -> MessageExchange? {
            lock.withLock { state.exchanges.underWay(conversation) }
        }

        /// Cancels an exchange for its caller. Returns false if the exchange is already done.
        func cancel(_ exchange: MessageExchange) -> Bool {
            let isCancelled = lock.withLock { () -> Bool in
                if case .done = exchange.stage { return false }
                state.exchanges.give(up: exchange, .cancelled)
                return true
            }
            if isCancelled { exchange.progress() }
            return isCancelled
        }

        /// Sends as many queued messages as there is room for. Any thread may call this function.
        func send() {
            connect()
            let (moved, isGone) = lock.withLock {
                state.connected.map { state.exchanges.send(by: $0) } ?? ([], false)
            }
            if isGone { noteGone() }
            for exchange in moved {
                exchange.packet.close()
                exchange.progress()
            }
            watchForRoom()
        }

        /// Tries again to connect, if the port's queue of connections was full.
        private func connect() {
            guard let socket = lock.withLock({ state.isConnected ? nil : state.socket }) else { return }
            do throws(MessagePortError) {
                guard try portName.connect(socket) else { return }
                let readers = lock.withLock {
                    state.isConnected = true
                    return state.readers
                }
                for reader in readers { reader.noteConnected() }
            } catch {
                // No descriptor is left now. The next call of connect() tries again.
                if case .limitReached = error { return }
                invalidate()
            }
        }

        /// Blocks the thread until there may be room, until `news` is signalled, or for at most the time `span`.
        func waitForRoom(_ span: Nanoseconds, or news: BlockedSender) {
            // Poll the socket only if messages wait for room. A socket with room is always ready, so otherwise the
            // thread would not wait.
            let socket = lock.withLock { state.exchanges.wait == .room ? state.connected : nil }
            // If no event can end the wait, the thread waits for at most 1 ms before the next try.
            let isWoken = socket != nil && news.event >= 0
            cgrun_packet_wait(socket?.descriptor ?? -1, news.event, isWoken ? span : min(span, 1_000_000))
            withExtendedLifetime(socket) {}
        }

        /// Whether messages wait to be sent.
        var isBlocked: Bool { lock.withLock { state.exchanges.isBlocked } }

        /// While messages wait to be sent, makes the readers' loops try again to send them, when there is room or every
        /// 2 ms.
        func watchForRoom() {
            // Another thread may change the condition meanwhile, so the loop repeats until the readers watch for the
            // present condition.
            while true {
                let (wait, readers) = lock.withLock { (state.exchanges.wait, state.readers) }
                for reader in readers { reader.watch(for: wait) }
                if readers.isEmpty || lock.withLock({ state.exchanges.wait == wait }) { return }
            }
        }

        private enum Match {
            case exchange(MessageExchange)
            /// No caller waits for the reply any more.
            case late
            /// No port sends such a packet to a client.
            case unsound
            case lost(errno: Int32)
        }

        /// Receives one packet, and returns whether another packet may follow. Late replies also count, so that many
        /// late replies take turns with the loop's other items.
        @discardableResult func receive() -> Bool {
            // This lock is held until the exchange of the received packet is found. A thread that notices the end of
            // the connection cancels every exchange, so all received packets must be matched before. The packet is
            // released after unlocking.
            let (received, match) = receiveLock.withLock { () -> (MessageSocket.Received, Match?) in
                guard let socket = lock.withLock({ state.socket }) else { return (.nothing, nil) }
                let received = socket.receive()
                guard case .packet(let packet) = received else { return (received, nil) }
                return (received, self.match(packet))
            }
            switch (received, match) {
            case (.nothing, _): return false
            case (_, .late): return true
            case (_, .exchange(let exchange)):
                exchange.progress()
                return true
            case (.lost(let errno), _), (_, .lost(let errno)):
                Log.warning(
                    "a reply of message port \(name.debugDescription) was lost, because no descriptor or memory is "
                        + "left (\(errorMessage(errno))). Close descriptors or raise the limit, and look up the port "
                        + "again")
            case (.packet, _), (.end, _): break
            }
            invalidate()
            return false
        }

        /// Finds the exchange that a packet belongs to.
        private func match(_ packet: IncomingPacket) -> Match {
            let outcome: MessageExchange.Outcome
            switch packet.kind {
            case .oneWay, .request: return .unsound
            case .unanswered: outcome = .failure(.unanswered)
            case .reply:
                // If no caller waits for a reply, its memory is not mapped.
                if packet.isInMemory, underWay(packet.conversation) == nil { return .late }
                switch packet.open() {
                case .data(let data): outcome = .success(Reply(data, packet.descriptors))
                case .unsound: return .unsound
                case .lost(let errno): return .lost(errno: errno)
                }
            }
            let exchange = lock.withLock { state.exchanges.reply(packet.conversation, outcome) }
            return exchange.map { .exchange($0) } ?? .late
        }

        /// Receives the replies that the other side sent before it went, and then invalidates the port.
        private func noteGone() {
            // End the socket first: if the other side is still there, it cannot send more while this thread receives.
            lock.withLock { state.socket }?.end()
            while receive() {}
            invalidate()
        }

        // MARK: Readers

        /// Returns the reader of a loop. The first call makes the reader. Returns nil if the port is invalid.
        func reader(on loop: GRunLoop) -> ReplyReceiver? {
            // The readers of loops that have ended are released after unlocking, because that also releases these
            // loops.
            lock.withLock { () -> (used: ReplyReceiver?, ended: [ReplyReceiver]) in
                if let reader = state.readers.first(where: { $0.loop === loop }) { return (reader, []) }
                guard let socket = state.socket else { return (nil, []) }
                let former = state.readers
                let reader = ReplyReceiver(of: self, socket, on: loop, isConnected: state.isConnected)
                state.readers = former.filter { !$0.loop.isDead } + [reader]
                return (reader, former)
            }.used
        }
    }
}

extension GRunLoop.RemoteMessagePort: CustomStringConvertible {
    /// The name of the port and whether it is valid, for people to read. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.RemoteMessagePort \(hexAddress(self))>{forked}" }
        return "<GRunLoop.RemoteMessagePort \(hexAddress(self))>{valid = \(yesNo(isValid)), name = \(name)}"
    }
}
