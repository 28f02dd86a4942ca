// SPDX-License-Identifier: Apache-2.0
// The other side of a message port: found by its name, it sends and asks.

import CGRun
import Glibc

extension GRunLoop {
    /// A ``MessagePort`` of another process, or of this one, to which messages are sent.
    ///
    /// ```swift
    /// let clock = try GRunLoop.RemoteMessagePort.lookUp("org.example.clock")
    /// let reply = try clock.request(1, [], sendTimeout: .seconds(1), receiveTimeout: .seconds(1))
    /// ```
    ///
    /// All that look up a name in a process share one connection, and one object while somebody holds it. Messages
    /// of one thread come in the order in which they were sent by one object. Replies are matched with their
    /// requests, also of several threads; one that comes too late is dropped.
    ///
    /// Nothing of it is in a loop but while a request waits, and it needs one descriptor. That the other side has gone
    /// is noticed by who waits for a reply, by the next message and by ``isValid``.
    ///
    /// Threads: any. The corresponding Core Foundation type is a remote `CFMessagePort`.
    public final class RemoteMessagePort: @unchecked Sendable {
        /// What a reply brings.
        public struct Reply: Sendable {
            /// The bytes, none if none were sent. They can be kept. Threads: any.
            public let data: MessageData
            private let descriptors: ReceivedDescriptors?

            init(_ data: MessageData = [], _ descriptors: ReceivedDescriptors? = nil) {
                self.data = data
                self.descriptors = descriptors
            }

            /// How many descriptors came with it, and were not taken. Threads: any.
            public var descriptorCount: Int { descriptors?.count ?? 0 }

            /// The descriptors that came with it: see ``GRunLoop/MessagePort/Message/takeDescriptors()``. Threads: any.
            public func takeDescriptors() -> [Int32] { descriptors?.take() ?? [] }
        }

        /// The name by which it was looked up. It stays, also if the port itself gets another one.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
        public let name: String

        private let portName: PortName
        /// For tests.
        var socket: MessageSocket? { lock.withLock { state.socket } }
        private let lock: Lock
        /// Held while a thread receives a packet and matches it. All other operations take the other lock only.
        let receiveLock: Lock
        @exclusivity(unchecked) private var state = State()

        /// Guarded by the lock.
        private struct State {
            var isValid = true
            /// Nil once the port is invalid. Others that are in a system call with it hold it for as long.
            var socket: MessageSocket?
            /// False while too many others wait to be let in.
            var isConnected = false
            var lastConversation: UInt32 = 0
            var exchanges = MessageExchanges()
            /// One for each loop that has waited here.
            var readers: [MessageReader] = []
            var invalidationHandlers: [@Sendable () -> Void] = []

            /// Nil before it is connected, and once the port is invalid.
            var connected: MessageSocket? { isConnected ? socket : nil }
        }

        /// Those that are valid, by the files of their names: two texts that are equal may be two names.
        private struct Known {
            weak var port: RemoteMessagePort?
        }
        private static let knownLock = Lock.take()
        /// Guarded by that lock.
        nonisolated(unsafe) private static var known: [[CChar]: Known] = [:]

        /// Finds the port that has a name, and connects to it.
        ///
        /// - Parameter name: 1 to 128 bytes of UTF-8 without a NUL.
        /// - Returns: the port: the same one as before, as long as that is valid and somebody holds it, also if it has
        ///   another name by now.
        /// - Throws: ``MessagePortError``; ``MessagePortError/notFound(_:)`` if no port has the name.
        ///
        /// Threads: any; it does not wait. The corresponding Core Foundation function is `CFMessagePortCreateRemote`.
        public static func lookUp(_ name: String) throws(MessagePortError) -> RemoteMessagePort {
            if Fork.isChild { throw .forked }
            let portName = try PortName(name)
            if let found = knownLock.withLock({ known[portName.file]?.port }), found.isValid { return found }
            let port = try RemoteMessagePort(portName)
            // Another thread may have been quicker. What is not used goes after the lock.
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
            // Once it can be given back: deinit is not called of what throws before all is there.
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
            // Another one of the name goes after the lock, if this is the last to hold it.
            _ = knownLock.withLock { () -> RemoteMessagePort? in
                let other = known[name.file]?.port
                if other == nil { known[name.file] = nil }
                return other
            }
        }

        // MARK: Its end

        /// False once the other side has gone, and from the call of ``invalidate()`` on. It asks the kernel, and
        /// invalidates a port whose other side has gone; who waits for a reply that has come by then gets it.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortIsValid`.
        public var isValid: Bool {
            guard !Fork.isChild else { return false }
            let (isValid, socket) = lock.withLock { (state.isValid, state.connected) }
            guard isValid, let socket, !socket.isConnected else { return isValid }
            noteGone()
            return false
        }

        /// Ends the connection: who waits for a reply gets ``MessageRequestError/becameInvalid``, and those that
        /// asked for it are told. What was sent is still delivered. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let (ended, exchanges) = lock.withLock { () -> (State, [MessageExchange]) in
                let exchanges = state.exchanges.giveUpAll(.becameInvalid)
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

        /// Has the closure called once, when the port becomes invalid: on the thread that notices it. Several are
        /// called in the order in which they were given; on a port that is invalid already it is called at once.
        ///
        /// The closure must not hold the port: that would keep it.
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

        /// A message to be sent. `progress` is called without a lock, on any thread, each time that it gets on while
        /// somebody waits for it.
        func prepare(
            _ kind: PacketKind, _ id: Int32, _ data: MessageData, _ descriptors: [Int32],
            progress: @escaping @Sendable () -> Void
        ) throws(MessageRequestError) -> MessageExchange {
            let (isValid, conversation) = lock.withLock { () -> (Bool, UInt32) in
                // A request without a limit may have waited since the numbers began from 1.
                repeat {
                    state.lastConversation = max(1, state.lastConversation &+ 1)
                } while state.exchanges.underWay(state.lastConversation) != nil
                return (state.isValid, state.lastConversation)
            }
            guard isValid else { throw .isInvalid }
            return MessageExchange(
                try OutgoingPacket(kind, id: id, conversation: conversation, data, descriptors), progress: progress)
        }

        /// Sends it, or has it wait for its turn. `keeps`: its descriptors must be copied then, since the caller closes
        /// them while it waits.
        func start(_ exchange: MessageExchange, keeps: Bool = false) throws(MessageRequestError) {
            // There may be room by now for those that wait, and for this one behind them.
            if isBlocked { send() } else { connect() }
            try prepareMemory(exchange.packet)
            let (isGone, isWaiting) = try lock.withLock { () throws(MessageRequestError) -> (Bool, Bool) in
                guard state.isValid else { throw .isInvalid }
                // Its task was cancelled.
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

        /// Makes the memory of a message that is sent now: without the lock, since it takes as long as there are bytes.
        private func prepareMemory(_ packet: OutgoingPacket) throws(MessageRequestError) {
            guard packet.isInMemory, lock.withLock({ state.isConnected && !state.exchanges.isBlocked }) else { return }
            let error = packet.makeMemory()
            // A resource that is short now may be there when the message is sent. Otherwise the message waits.
            if error != 0, MessageFault.of(error, in: .memory) != .shortage { throw .transportError(errno: error) }
        }

        private var isOpen: Bool { lock.withLock { state.isValid } }

        func stage(of exchange: MessageExchange) -> MessageExchange.Stage { lock.withLock { exchange.stage } }

        /// Nothing more is expected of it, unless it is done. Returns how it ended; nil if it goes on, since what was
        /// not to wait for room any more was sent just now.
        @discardableResult func giveUp(
            _ exchange: MessageExchange, _ error: MessageRequestError
        ) -> MessageExchange.Outcome? {
            lock.withLock {
                state.exchanges.give(up: exchange, error)
                if case .done(let outcome) = exchange.stage { return outcome }
                return nil
            }
        }

        /// ``giveUp(_:_:)`` by the number of a conversation. Returns whether it was under way.
        func giveUp(conversation: UInt32, _ error: MessageRequestError) -> Bool {
            let exchange = lock.withLock { () -> MessageExchange? in
                let exchange = state.exchanges.underWay(conversation)
                if let exchange { state.exchanges.give(up: exchange, error) }
                return exchange
            }
            exchange?.progress()
            return exchange != nil
        }

        /// Sends what waits to be sent, as far as there is room. Any thread.
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

        /// Tries again to be let in.
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
                // Later there may be a descriptor again.
                if case .limitReached = error { return }
                invalidate()
            }
        }

        /// Waits with the thread: until there may be room, until there is news, and at most for that time.
        func waitForRoom(_ span: Nanoseconds, or news: BlockedSender) {
            // A socket that has room is ready all the time.
            let socket = lock.withLock { state.exchanges.wait == .room ? state.connected : nil }
            // What nobody tells of is looked for again in a moment.
            let isTold = socket != nil && news.event >= 0
            cgrun_packet_wait(socket?.descriptor ?? -1, news.event, isTold ? span : min(span, 1_000_000))
            withExtendedLifetime(socket) {}
        }

        /// Whether messages wait for room.
        var isBlocked: Bool { lock.withLock { state.exchanges.isBlocked } }

        /// Has the loops on which somebody waits try again as long as something is to be sent: when there is room, or
        /// after a while.
        func watchForRoom() {
            // Another thread may have changed it since: who changes it last has it right.
            while true {
                let (wait, readers) = lock.withLock { (state.exchanges.wait, state.readers) }
                for reader in readers { reader.watch(for: wait) }
                if readers.isEmpty || lock.withLock({ state.exchanges.wait == wait }) { return }
            }
        }

        /// The result of matching a packet.
        private enum Match {
            case exchange(MessageExchange)
            /// Nobody waits for it.
            case late
            /// No port sends such a packet to one who asks.
            case unsound
            case lost(errno: Int32)
        }

        /// Receives one packet, also if it is too late: so many of them take their turns with the loop's other items.
        /// Returns whether there was one after which others can come.
        @discardableResult func receive() -> Bool {
            // A thread that finds the end of the connection cancels every exchange, so no other thread may have a
            // packet that it did not match yet. The packet is released after the lock.
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
                    "a reply of message port \(name.debugDescription) was lost, since no descriptor or memory is "
                        + "left (\(errorMessage(errno))); close some or raise the limit")
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
                // Memory that nobody waits for is not mapped.
                if packet.isInMemory, !isUnderWay(packet.conversation) { return .late }
                switch packet.open() {
                case .data(let data): outcome = .success(Reply(data, packet.descriptors))
                case .unsound: return .unsound
                case .lost(let errno): return .lost(errno: errno)
                }
            }
            let exchange = lock.withLock { state.exchanges.reply(packet.conversation, outcome) }
            return exchange.map { .exchange($0) } ?? .late
        }

        private func isUnderWay(_ conversation: UInt32) -> Bool {
            lock.withLock { state.exchanges.underWay(conversation) } != nil
        }

        /// The other side has gone. What it has replied to before is received.
        private func noteGone() {
            // If the other side is still there, it cannot send more while this receives.
            lock.withLock { state.socket }?.end()
            while receive() {}
            invalidate()
        }

        // MARK: Who waits

        /// What waits on a loop, of which there is one.
        func reader(on loop: GRunLoop) -> MessageReader? {
            // Those of loops that have ended go after the lock, with their loops.
            lock.withLock { () -> (used: MessageReader?, ended: [MessageReader]) in
                if let reader = state.readers.first(where: { $0.loop === loop }) { return (reader, []) }
                guard let socket = state.socket else { return (nil, []) }
                let former = state.readers
                let reader = MessageReader(of: self, socket, on: loop, isConnected: state.isConnected)
                state.readers = former.filter { !$0.loop.isDead } + [reader]
                return (reader, former)
            }.used
        }
    }
}

extension GRunLoop.RemoteMessagePort: CustomStringConvertible {
    /// Its name and whether it is valid, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.RemoteMessagePort \(hexAddress(self))>{forked}" }
        return "<GRunLoop.RemoteMessagePort \(hexAddress(self))>{valid = \(yesNo(isValid)), name = \(name)}"
    }
}
