// SPDX-License-Identifier: Apache-2.0
// Message ports: the receiving side, which other processes find by a name.

import CGRun
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Receives messages from processes of the same user, which find the port by its name.
    ///
    /// ```swift
    /// let port = try GRunLoop.MessagePort("org.example.clock") { message in
    ///     try? message.reply?.send(GRunLoop.MessageData("12:00".utf8))
    /// }
    /// try GRunLoop.main.add(port, forMode: .default)
    /// ```
    ///
    /// Clients send messages by a ``RemoteMessagePort``. Messages wait in the kernel until the loop runs in a mode of
    /// the port. A pass that serves the port calls the handler with one message, or only handles new and ended
    /// connections. Messages of one sender arrive in the order in which they were sent. To reply later, keep
    /// ``Message/reply``.
    ///
    /// In the modes of a loop, a ``DescriptorSource`` represents the port, and a ``Trace`` shows this source. The modes
    /// keep the port alive. If you add a port without a name, the loop does not add it, because no process could find
    /// the port. This mistake is logged.
    ///
    /// A name belongs to one port of a user at a time. The name is free again when the port is invalidated or released,
    /// and when the process ends in any way. The names are in `$XDG_RUNTIME_DIR`. `SECURITY.md` describes which
    /// processes can connect. A forked child has neither the name nor the connections.
    ///
    /// A child of `posix_spawn()` or `vfork()` shares the name's lock and the connections until it calls `exec()`. If
    /// the port's process is killed before the child calls `exec()`, the name stays taken until the child calls
    /// `exec()` or ends. ``invalidate()`` frees the name in any case.
    ///
    /// A port is in one loop at a time, and in any number of the loop's modes. It serves up to 4,096 senders at a time,
    /// and closes the connections of further senders. If the handler runs the loop in a mode of the port, the port
    /// calls the handler recursively, up to ``maximumHandlerDepth``.
    ///
    /// A handler may keep messages. Data of more than 65,536 bytes is a separate piece of memory. While a sender's
    /// messages hold 1,024 such pieces, 4 GiB of memory or 64 descriptors, the port does not read from this sender.
    /// There is also a limit for all senders together: 8,192 pieces of memory, 64 GiB or 512 descriptors. At this limit
    /// the port stops reading from every sender whose messages hold memory or descriptors.
    ///
    /// Threads: any. The corresponding Core Foundation type is a local `CFMessagePort`.
    public final class MessagePort: Item, @unchecked Sendable {
        let depth = HandlerDepth()
        private let watch: MessageWatch
        private let untaken = UntakenReplies()
        private let holdings = MessageHoldings()
        /// Holds the handler and its actor, if the handler belongs to an actor; otherwise nil.
        private let confined: Confined?
        private let standIn = StandIn()
        private let lock: Lock
        @exclusivity(unchecked) private var state = State()

        /// Guarded by the lock.
        private struct State {
            var isValid = true
            var claim: PortClaim?
            var connections: [UInt64: MessageConnection] = [:]
            /// The number of the newest connection. Connections have numbers from 1, because 0 (``listening``) is the
            /// number of the listener.
            var lastNumber = MessagePort.listening
            var handler: (@Sendable (Message) -> Void)?
            var invalidationHandlers: [@Sendable () -> Void] = []
            /// The reports that the port has already logged.
            var logged: Set<Report> = []
        }

        private static let listening: UInt64 = 0
        private static let mostConnections = 4096
        /// The largest number of peers to accept after one event of the listener. Also the largest number of events
        /// without a message to handle in one pass. The next pass handles the other peers and events.
        private static let maximumEventsPerCall = 64

        /// Creates a port that receives messages under a name.
        ///
        /// Other processes find the port immediately. Their messages wait until the port is in a loop.
        ///
        /// - Parameters:
        ///   - name: 1 to 128 bytes of UTF-8 without a NUL. Nil makes a port without a name: see ``setName(_:)``.
        ///   - handler: called on the loop's thread with each message. It is released when the port is invalidated.
        /// - Throws: ``MessagePortError``; ``MessagePortError/taken(_:)`` if a port of this or another process has the
        ///   name. In that case Core Foundation returns the existing port if this port is in the same process.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
        public convenience init(
            _ name: String?, handler: @escaping @Sendable (Message) -> Void
        ) throws(MessagePortError) {
            try self.init(name, confined: nil)
            lock.withLock { state.handler = handler }
        }

        /// Creates a port whose handler returns the reply to each message, as in Core Foundation.
        ///
        /// - Parameters:
        ///   - name: see ``init(_:handler:)``.
        ///   - handler: called on the loop's thread with each message, and returns the reply. If it returns nil, the
        ///     reply has no data. For a message that wants no reply, the returned data is dropped. The handler is
        ///     released when the port is invalidated.
        /// - Throws: ``MessagePortError``.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
        public convenience init(
            replying name: String?, handler: @escaping @Sendable (Message) -> MessageData?
        ) throws(MessagePortError) {
            try self.init(name) { Self.reply(to: $0, by: handler) }
        }

        init(_ name: String?, confined: Confined?) throws(MessagePortError) {
            if Fork.isChild { throw .forked }
            // Usually the process's first loop starts the watch for fork(), but the process may have no loop yet.
            cgrun_watch_fork()
            let name = try name.map { text throws(MessagePortError) in try PortName(text) }
            watch = try MessageWatch()
            self.confined = confined
            // The lock is taken last. If init throws before every property is set, deinit does not run, and cannot
            // return the lock.
            lock = Lock.take()
            if let name { try take(name) }
        }

        deinit {
            if !Fork.isChild { end() }
            Lock.giveBack(lock)
        }

        /// Calls the handler, and sends the data that it returns. If the handler ends its thread, the sender gets
        /// ``MessageRequestError/unanswered``.
        static func reply(to message: Message, by handler: (Message) -> MessageData?) {
            let data = GRunLoop.whileWaited(by: message.reply) { handler(message) }
            guard let reply = message.reply else { return }
            do throws(MessageRequestError) { try reply.send(data ?? []) } catch {
                Log.warning("a message port's reply was not sent: \(error)")
            }
        }

        // MARK: Its name

        /// The name by which other processes find the port. Nil if the port has no name or is invalid, and in a forked
        /// child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
        public var name: String? { Fork.isChild ? nil : lock.withLock { state.claim?.name.text } }

        /// Sets the port's name, which replaces the former name. Processes that found the port by its former name stay
        /// connected. It is not an error to set the current name again.
        ///
        /// - Parameter name: 1 to 128 bytes of UTF-8 without a NUL.
        /// - Throws: ``MessagePortError``. The port then keeps its former name.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortSetName`.
        public func setName(_ name: String) throws(MessagePortError) {
            guard !Fork.isChild else { throw .forked }
            let wanted = try PortName(name)
            guard isValid else { throw .invalidPort }
            if !hasName(wanted) { try take(wanted) }
        }

        /// Compares hashes of the bytes. Names that are equal as Swift strings may have different bytes, and are then
        /// different names.
        private func hasName(_ name: PortName) -> Bool { lock.withLock { state.claim?.name.file == name.file } }

        private func take(_ name: PortName) throws(MessagePortError) {
            let claim: PortClaim
            do throws(MessagePortError) { claim = try PortClaim(name) } catch {
                // Another thread may have given the port this name just now.
                if case .taken = error, hasName(name) { return }
                throw error
            }
            let taken = lock.withLock { () -> Result<PortClaim?, MessagePortError> in
                guard state.isValid else { return .failure(.invalidPort) }
                let error = watch.add(claim.listener, Self.listening)
                guard error == 0 else { return .failure(.init(errno: error, of: "epoll_ctl(2)")) }
                defer { state.claim = claim }
                return .success(state.claim)
            }
            guard let former = try taken.get() else { return }
            // Accept the peers that connected by the former name, because release() disconnects peers that were not
            // accepted.
            former.hide()
            while accept(from: former) == nil {}
            watch.remove(former.listener)
            former.release()
        }

        // MARK: Its end

        /// Whether the port is valid. False after ``invalidate()`` was called, and in a forked child. Threads: any. The
        /// corresponding Core Foundation function is `CFMessagePortIsValid`.
        public var isValid: Bool { !Fork.isChild && lock.withLock { state.isValid } }

        /// Ends the port permanently: releases its name, ends its connections and removes it from every mode. A second
        /// call does nothing.
        ///
        /// The port does the following in this order:
        ///
        /// - It releases the name, and ends all connections. Requests that wait for a reply get
        ///   ``MessageRequestError/becameInvalid``.
        /// - It calls the closures of ``onInvalidation(_:)``.
        /// - It releases the handler, unless the handler belongs to an actor.
        /// - It leaves every mode. Then it releases a handler that belongs to an actor.
        ///
        /// A handler that is running continues.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            guard end() else { return }
            // The port stays in its modes until the closures of ``onInvalidation(_:)`` were called.
            _ = standIn.end(lettingGoOf: confined)
        }

        /// Calls a closure once when the port becomes invalid, on the thread that invalidates the port or releases the
        /// last reference to the port.
        ///
        /// At that time the name is free, and the handler is not released yet. Several closures are called in the order
        /// in which they were given. If the port is already invalid, the closure is called immediately.
        ///
        /// The closure must not own a reference to the port, because that would be a reference cycle.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortSetInvalidationCallBack`.
        public func onInvalidation(_ body: @escaping @Sendable () -> Void) {
            guard !Fork.refuses("MessagePort.onInvalidation") else { return }
            let isValid = lock.withLock {
                if state.isValid { state.invalidationHandlers.append(body) }
                return state.isValid
            }
            if !isValid { body() }
        }

        @discardableResult private func end() -> Bool {
            let ended = lock.withLock { () -> State? in
                guard state.isValid else { return nil }
                let ended = state
                state = State()
                state.isValid = false
                return ended
            }
            guard let ended else { return false }
            // A socket that was shut down is always ready. If such a socket stayed in the epoll, and an invalidation
            // handler ran the loop, the loop would not sleep.
            watch.end()
            if let listener = ended.claim?.listener { watch.remove(listener) }
            ended.claim?.release()
            for connection in ended.connections.values { connection.abandon() }
            for handler in ended.invalidationHandlers { handler() }
            return true
        }

        // MARK: On the loop's thread

        /// Handles the next events, if the handler belongs to no actor.
        private func handleNext() {
            // If there is no handler, another thread has just invalidated the port.
            if let handler = lock.withLock({ state.handler }) { handleNext(handler) }
        }

        /// Handles the next events of the port that `source` represents. Called when the descriptor of `source` is
        /// readable.
        static func handleNext(of source: DescriptorSource, _ handler: (Message) -> Void) {
            let port = unsafeDowncast(source, to: OwnDescriptorSource.self).owner
            unsafeDowncast(port, to: MessagePort.self).handleNext(handler)
        }

        private func handleNext(_ handler: (Message) -> Void) {
            for _ in 0..<Self.maximumEventsPerCall {
                guard let ready = watch.next() else { return }
                switch ready {
                case .input(Self.listening): acceptAll()
                case .input(let number):
                    if let connection = connection(number), receive(by: connection, handler) { return }
                case .room(let number): sendWaiting(number)
                case .time: for number in watch.due() { sendWaiting(number) }
                }
            }
        }

        private func connection(_ number: UInt64) -> MessageConnection? { lock.withLock { state.connections[number] } }

        /// Sends the waiting replies of a connection. If `number` is the listener's, resumes accepting instead.
        private func sendWaiting(_ number: UInt64) {
            if number == Self.listening {
                if let claim = lock.withLock({ state.claim }) { watch.goOn(claim.listener, Self.listening) }
            } else if let connection = connection(number), connection.sendWaiting() {
                forget(connection)
            }
        }

        /// Receives one packet of a connection. Returns whether the packet was a message, for which the handler was
        /// called.
        private func receive(by connection: MessageConnection, _ handler: (Message) -> Void) -> Bool {
            let socket: MessageSocket
            switch connection.input {
            case .socket(let open): socket = open
            case .none: return false
            case .refused:
                drop(connection)
                return false
            }
            switch socket.receive(countedBy: connection.allowance) {
            case .nothing: return false
            case .packet(let packet) where packet.kind == .request || packet.kind == .oneWay:
                switch packet.open() {
                case .data(let data):
                    let reply = packet.kind == .request ? Reply(to: packet, by: connection) : nil
                    if packet.isCounted, connection.pauseIfUsedUp() { logPause() }
                    call(handler, Message(packet, data, reply))
                    return true
                case .unsound: break
                case .lost(let errno): logLoss(errno)
                }
            case .packet, .end: break
            case .lost(let errno): logLoss(errno)
            }
            drop(connection)
            return false
        }

        /// Problems that senders can cause repeatedly. A port logs each problem only once, so that no sender fills the
        /// log.
        private enum Report { case loss, pause, crowd }

        private func isFirst(_ report: Report) -> Bool { lock.withLock { state.logged.insert(report).inserted } }

        private func logLoss(_ errno: Int32) {
            guard isFirst(.loss) else { return }
            Log.warning(
                "a message port lost a message, because no descriptor or memory is left (\(errorMessage(errno))). The "
                    + "sender gets an error. Close descriptors or raise the limit")
        }

        private func logPause() {
            guard isFirst(.pause) else { return }
            Log.warning(
                "message port \((name ?? "").debugDescription) has stopped reading from a sender, because unreleased "
                    + "messages of that sender use too much memory or too many descriptors. Release messages, or take "
                    + "their descriptors")
        }

        private func drop(_ connection: MessageConnection) {
            if connection.drop() { forget(connection) }
        }

        private func forget(_ connection: MessageConnection) {
            _ = lock.withLock { state.connections.removeValue(forKey: connection.number) }
        }

        private func acceptAll() {
            guard let claim = lock.withLock({ state.claim }) else { return }
            for _ in 0..<Self.maximumEventsPerCall {
                switch accept(from: claim) {
                case nil: continue
                case .room, .gone: return
                // Without this pause of the listener, it would be ready in every pass.
                case .shortage: return watch.pause(claim.listener, Self.listening)
                case .permanent, .defect: return watch.remove(claim.listener)
                }
            }
        }

        /// Accepts the next peer. Returns nil if another peer may wait, and otherwise the reason to stop accepting.
        private func accept(from claim: PortClaim) -> MessageFault? {
            if let socket = claim.accept() {
                admit(socket)
                return nil
            }
            let (error, fault) = (errno, MessageFault.of(errno, in: .accept))
            switch fault {
            case .gone: return nil
            case .room, .shortage: break
            case .permanent, .defect:
                Log.warning(
                    "message port \((name ?? "").debugDescription) accepts no more senders, because accept4(2) has "
                        + "failed (\(errorMessage(error))). If a sandbox forbids this call, allow it; then create the "
                        + "port again")
            }
            return fault
        }

        private func admit(_ socket: MessageSocket) {
            let isLast = lock.withLock { () -> Bool in
                guard state.isValid, state.connections.count < Self.mostConnections else { return false }
                let number = state.lastNumber + 1
                guard watch.add(socket.descriptor, number) == 0 else { return false }
                state.lastNumber = number
                state.connections[number] = MessageConnection(number, socket, watch, untaken, holdings)
                return state.connections.count == Self.mostConnections
            }
            guard isLast, isFirst(.crowd) else { return }
            Log.warning(
                "message port \((name ?? "").debugDescription) has \(Self.mostConnections) senders, which is the "
                    + "limit, and refuses others until one disconnects. Use one connection in each process")
        }

        /// The number of connections that the port has accepted and not closed.
        var connectionCount: Int { lock.withLock { state.connections.count } }

        /// The bytes of the replies that wait, and of the memory that peers had not taken at the last recount.
        var untakenBytes: Int { untaken.total }

        // MARK: Its modes

        /// Adds the port to a loop's mode, removes it from the mode, or returns whether it is in the mode. The loop
        /// calls this function: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
        ///
        /// - Throws: ``GRunLoop/SystemError`` if the port cannot be watched.
        ///
        /// Threads: any.
        @discardableResult public func carryOut(
            _ operation: MembershipOperation, of loop: GRunLoop, forMode mode: Mode
        ) throws(SystemError) -> Bool {
            if case .add = operation, !mayBeAdded(to: loop) { return false }
            defer { if case .add = operation, !Fork.isChild { watchUnlessTooDeep() } }
            return try standIn.carryOut(operation, of: loop, forMode: mode, for: self, "MessagePort", makeSource)
        }

        private func mayBeAdded(to loop: GRunLoop) -> Bool {
            if Fork.isChild { return true }
            forgetFormerHandlers(unlessOn: loop)
            if name == nil, isValid {
                Log.misuse(
                    "add(MessagePort)",
                    "the port was not added, because no process can find a message port without a name; call setName() "
                        + "first")
                return false
            }
            return isValid
        }

        private func makeSource() -> OwnDescriptorSource {
            // The source keeps the port alive while the source calls the handler.
            let port = Unmanaged.passUnretained(self)
            let handler: @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void =
                if let confined { confined.descriptorHandler } else {
                    { _, _ in port._withUnsafeGuaranteedRef { $0.handleNext() } }
                }
            let source = OwnDescriptorSource(
                descriptor: watch.epoll, of: "message port", ownedBy: self, confined: confined, handler: handler)
            if depth.isReached { source.change(to: []) }
            return source
        }

        /// The source that represents the port. Nil if the port was never in a mode. Also nil if the port has left its
        /// modes and its handler is not running, and in a forked child.
        var source: OwnDescriptorSource? { standIn.source }

        /// A label for people who read the port's ``description``, a ``Trace`` or a stall monitor's report. Nil, the
        /// default, means no label: see ``Item/label``.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        public var label: String? {
            get { Labels.get(self, "MessagePort.label") }
            set {
                Labels.set(newValue, of: self, "MessagePort.label")
                standIn.passOnLabel(of: self)
            }
        }
    }
}

extension GRunLoop.MessagePort: CustomStringConvertible {
    /// The port's validity, name and label, for people to read. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.MessagePort \(hexAddress(self))>{\(facts(of: source ?? self))valid = \(yesNo(isValid)), "
            + "message port = \(name ?? "(no name)")}"
    }
}
