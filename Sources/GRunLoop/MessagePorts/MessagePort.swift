// SPDX-License-Identifier: Apache-2.0
// Message ports: what another process finds by a name.

import CGRun
import Glibc

extension GRunLoop {
    /// Receives messages from processes of the same user, which find it by its name, and replies to them: a
    /// ``DescriptorSource`` whose descriptor is its own.
    ///
    /// ```swift
    /// let port = try GRunLoop.MessagePort("org.example.clock") { message in
    ///     try? message.reply?.send(GRunLoop.MessageData("12:00".utf8))
    /// }
    /// try GRunLoop.main.add(port, forMode: .default)
    /// ```
    ///
    /// A ``RemoteMessagePort`` is the other side. Messages wait in the kernel while no mode of the port's is run, and
    /// come one a pass; of one sender in the order in which they were sent. A connection that comes or goes may be a
    /// pass without a message. A handler may reply later, by keeping ``Message/reply``.
    ///
    /// A name belongs to one port of the user's at a time. It is free again when the port is invalidated, when nobody
    /// holds it any more, and when the process ends, however that happens. The names are in `$XDG_RUNTIME_DIR`: see
    /// `SECURITY.md` for who is let in. A forked child has neither the name nor the connections.
    ///
    /// A child of `posix_spawn()` or `vfork()` has copies of both until it calls `exec()`. If the process is killed
    /// meanwhile, the name stays taken until then. ``invalidate()`` frees the name in any case.
    ///
    /// A port is in one loop at a time, and in any number of its modes. It serves up to 4,096 senders at a time; more
    /// are turned away. If the handler runs the loop in one of these modes, the port calls it recursively, up to
    /// ``maximumHandlerDepth``.
    ///
    /// A handler may keep messages. When those of one sender hold 1,024 pieces of memory (data of more than 65,536
    /// bytes), 4 GiB of memory or 64 descriptors, the port does not read from that sender until some are released.
    ///
    /// Threads: any. The corresponding Core Foundation type is a local `CFMessagePort`.
    public final class MessagePort: DescriptorSource, @unchecked Sendable {
        /// How deep the handler is in itself.
        let depth = HandlerDepth()
        private let watch: MessageWatch
        private let untaken = UntakenReplies()
        private let holdings = MessageHoldings()
        private let lock: Lock
        @exclusivity(unchecked) private var state = State()

        /// Guarded by the lock.
        private struct State {
            var isValid = true
            var claim: PortClaim?
            var connections: [UInt64: MessageConnection] = [:]
            /// The listener is ``listening``.
            var lastNumber = MessagePort.listening
            var handler: (@Sendable (Message) -> Void)?
            var invalidationHandlers: [@Sendable () -> Void] = []
            /// The reports that were logged already.
            var logged: Set<Report> = []
        }

        private static let listening: UInt64 = 0
        private static let mostConnections = 4096
        /// How many that come are let in at once, and how many comings and goings without a message are one call of the
        /// loop's: it looks again in the next pass.
        private static let mostLooks = 64

        /// A port with a name, which can be found at once: what is sent before it is in a loop waits.
        ///
        /// - Parameters:
        ///   - name: 1 to 128 bytes of UTF-8 without a NUL. Nil makes a port without a name: see ``setName(_:)``.
        ///   - handler: called on the loop's thread with each message. It is let go of when the port is invalidated.
        /// - Throws: ``MessagePortError``; ``MessagePortError/taken(_:)`` if a port of this or another process has the
        ///   name, where Core Foundation returns the existing one of this process.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
        public convenience init(
            _ name: String?, handler: @escaping @Sendable (Message) -> Void
        ) throws(MessagePortError) {
            try self.init(name, confined: nil) { source, _ in Self.perform(source) }
            keep(handler)
        }

        /// A port whose handler returns the reply to each message, as Core Foundation's does.
        ///
        /// - Parameters:
        ///   - name: see ``init(_:handler:)``.
        ///   - handler: called on the loop's thread with each message. Nil is a reply without data. What it returns
        ///     for a message that wants no reply is dropped. It is let go of when the port is invalidated.
        /// - Throws: ``MessagePortError``.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortCreateLocal`.
        public convenience init(
            replying name: String?, handler: @escaping @Sendable (Message) -> MessageData?
        ) throws(MessagePortError) {
            try self.init(name) { Self.reply(to: $0, by: handler) }
        }

        init(
            _ name: String?, confined: Confined?,
            _ handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) throws(MessagePortError) {
            if Fork.isChild { throw .forked }
            // There may be no loop yet.
            cgrun_watch_fork()
            let name = try name.map { text throws(MessagePortError) in try PortName(text) }
            watch = try MessageWatch()
            // Nothing throws between here and super.init(), from which on deinit gives it back.
            lock = Lock.take()
            super.init(watch.epoll, .readable, confined: confined, handler)
            if let name { try take(name) }
        }

        deinit {
            if !Fork.isChild { end() }
            Lock.giveBack(lock)
        }

        /// Before it is in a loop.
        private func keep(_ handler: @escaping @Sendable (Message) -> Void) {
            lock.withLock { state.handler = handler }
        }

        /// Calls the handler, and sends the data that it returns. If the handler ends the thread, the sender is told
        /// that there is no reply.
        static func reply(to message: Message, by handler: (Message) -> MessageData?) {
            let frame = ThreadLoops.peek?.frame
            frame?.called.waiter = message.reply
            let data = handler(message)
            frame?.called.waiter = nil
            guard let reply = message.reply else { return }
            do throws(MessageRequestError) { try reply.send(data ?? []) } catch {
                Log.warning("a message port's reply was not sent: \(error)")
            }
        }

        // MARK: Its name

        /// The name by which the port is found; nil if it has none, and after its end.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortGetName`.
        public var name: String? { Fork.isChild ? nil : lock.withLock { state.claim?.name.text } }

        /// Gives the port another name, or its first one. Who has found it by the former one stays connected. The name
        /// that it has already is no error.
        ///
        /// - Parameter name: 1 to 128 bytes of UTF-8 without a NUL.
        /// - Throws: ``MessagePortError``. Then it has the name that it had.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortSetName`.
        public func setName(_ name: String) throws(MessagePortError) {
            guard !Fork.isChild else { throw .forked }
            let wanted = try PortName(name)
            guard isValid else { throw .invalidPort }
            if !hasName(wanted) { try take(wanted) }
        }

        /// By bytes: two texts that are equal may be two names.
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
            // Peers that have come by the former name are let in before that name is released.
            former.hide()
            while accept(from: former) == nil {}
            watch.remove(former.listener)
            former.release()
        }

        // MARK: Its end

        /// False from the call of ``invalidate()`` on. Threads: any. The corresponding Core Foundation function is
        /// `CFMessagePortIsValid`.
        override public var isValid: Bool { !Fork.isChild && lock.withLock { state.isValid } }

        /// Gives up the name, ends all connections, tells those that asked for it, lets go of the handler, and takes
        /// the port out of every mode, in this order and for good; a handler of an actor's goes last. Who waits for a
        /// reply gets ``MessageRequestError/becameInvalid``. A handler that is running goes on. The second time it does
        /// nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFMessagePortInvalidate`.
        override public func invalidate() {
            guard !Fork.isChild else { return }
            if end() { super.invalidate() }
        }

        /// Has the closure called once, when the port becomes invalid: on the thread that invalidates it or lets go of
        /// it. By then its name is free, and its handler is still there. Several are called in the order in which they
        /// were given; on a port that is invalid already it is called at once.
        ///
        /// The closure must not hold the port: that would keep it.
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
            // What has ended is ready for good: a handler that runs the loop would never see it sleep.
            watch.end()
            if let listener = ended.claim?.listener { watch.remove(listener) }
            ended.claim?.release()
            for connection in ended.connections.values { connection.abandon() }
            for handler in ended.invalidationHandlers { handler() }
            return true
        }

        // MARK: On the loop's thread

        private static func perform(_ source: DescriptorSource) {
            let port = unsafeDowncast(source, to: MessagePort.self)
            // None: another thread has invalidated the port just now.
            if let handler = port.lock.withLock({ port.state.handler }) { perform(source, handler) }
        }

        /// What its handler does as that of a descriptor source.
        static func perform(_ source: DescriptorSource, _ handler: (Message) -> Void) {
            unsafeDowncast(source, to: MessagePort.self).handleNext(handler)
        }

        private func handleNext(_ handler: (Message) -> Void) {
            for _ in 0..<Self.mostLooks {
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

        /// Sends replies that waited for room or for a resource.
        private func sendWaiting(_ number: UInt64) {
            if number == Self.listening {
                if let claim = lock.withLock({ state.claim }) { watch.goOn(claim.listener, Self.listening) }
            } else if let connection = connection(number), connection.sendWaiting() {
                forget(connection)
            }
        }

        /// Returns whether a message was handled.
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

        /// Problems that senders can cause again and again: each is logged once for a port, so that no sender fills the
        /// log.
        private enum Report { case loss, pause, crowd }

        private func isFirst(_ report: Report) -> Bool { lock.withLock { state.logged.insert(report).inserted } }

        private func logLoss(_ errno: Int32) {
            guard isFirst(.loss) else { return }
            Log.warning(
                "a message to a message port was lost, and its sender is told, since no descriptor or memory is "
                    + "left (\(errorMessage(errno))); close some or raise the limit")
        }

        private func logPause() {
            guard isFirst(.pause) else { return }
            Log.warning(
                "message port \((name ?? "").debugDescription) does not read from a sender whose messages hold too "
                    + "much memory or too many descriptors; release the messages, or take their descriptors")
        }

        private func drop(_ connection: MessageConnection) {
            if connection.drop() { forget(connection) }
        }

        private func forget(_ connection: MessageConnection) {
            _ = lock.withLock { state.connections.removeValue(forKey: connection.number) }
        }

        private func acceptAll() {
            guard let claim = lock.withLock({ state.claim }) else { return }
            for _ in 0..<Self.mostLooks {
                switch accept(from: claim) {
                case nil: continue
                case .room, .gone: return
                // The listener would be reported in every pass.
                case .shortage: return watch.pause(claim.listener, Self.listening)
                case .permanent, .defect: return watch.remove(claim.listener)
                }
            }
        }

        /// Lets in the next peer. Returns the reason if there is no other one.
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
                    "message port \((name ?? "").debugDescription) lets in no more senders: "
                        + KernelRefusal.message("accept4(2)", error))
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
                "message port \((name ?? "").debugDescription) serves \(Self.mostConnections) senders, and turns "
                    + "others away until one of them goes; have each process keep one connection")
        }

        /// How many are let in.
        var connectionCount: Int { lock.withLock { state.connections.count } }

        /// Bytes of replies that wait or were not taken, as far as is known.
        var untakenBytes: Int { untaken.total }

        override var subject: (kind: String, number: Int32) { ("message port", descriptor) }
        override var ownsDescriptor: Bool { true }
        override func willBeAdded(to loop: GRunLoop) -> Bool {
            if !Fork.isChild { forgetFormerHandlers(unlessOn: loop) }
            guard name == nil, isValid else { return true }
            Log.misuse(
                "add(DescriptorSource)",
                "a message port without a name is not added, since nobody can find it; call setName() first")
            return false
        }
    }
}
