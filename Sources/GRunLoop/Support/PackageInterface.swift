// SPDX-License-Identifier: Apache-2.0
// What the core offers to the other products of this package beside its public interface. All of it is here, so that
// the rest can change without them; only the seams of tests are declared where they are used (scripts/check-rules).
// The oracle is in the package Tools, to which `package` declarations are closed: it asks for `@_spi(Oracle)` ones.
//
// What is public needs no door here: a run's wait is extended by a descriptor (`DescriptorSource`), by a whole context
// (`add(context:forMode:)`) or by a date (`Timer`), and `addEndHandler` tells of a thread's end.

package import CGRun

// MARK: Who calls

extension GRunLoop {
    /// Whether `call` may go on, which belongs to the loop's own thread; if not, a message says why.
    package func isCalledOnOwnThread(by call: StaticString) -> Bool {
        !Fork.refuses(call) && requireOwnThread(call)
    }

    /// Whether `call` can do nothing since this process was forked and did not exec(); a message says so then. Asked
    /// before a lock is taken, or anything waited for.
    package static func refusesInForkedChild(_ call: StaticString) -> Bool { Fork.refuses(call) }
}

// MARK: What else runs on the thread

extension GRunLoop {
    /// Whether this process was forked and did not exec().
    package static var isForkedChild: Bool { Fork.isChild }

    /// Prints the message to standard error and ends the process, in every build.
    package static func endProcess(_ message: String) -> Never { Log.fatal(message) }

    /// How many runs are on the stack, a host's among them. The loop's own thread.
    package var runDepth: Int { lock.withLock { runCountLocked } }

    /// How many sources of whatever kind the loop has handled. The loop's own thread.
    package var handledCount: UInt64 { handledSources }

    /// How often the rest of a step has waited because a slice was used up and other kinds had their turn. The loop's
    /// own thread.
    @_spi(Oracle) public var cutCount: Int { lock.withLock { cuts } }

    /// ``wakeUp()`` for every run on the stack, and not the innermost one alone. Any thread.
    package func wakeUpAllRuns() { wakeUpEveryRun() }

    /// Whether what somebody else is about to make finds its descriptors. Any thread.
    package static var hasDescriptorsLeft: Bool { cgrun_has_descriptors_left() }

    /// Whether the main thread is in a drain of the main queue.
    package static var isDrainingMainQueue: Bool { MainQueue.isDraining }

    /// The main queue is drained by another loop of the main thread, which calls `drain` for it.
    package static func drainMainQueue(by drain: @convention(c) () -> Void) {
        if MainQueue.isDraining { drain() } else { MainQueue.drain(by: drain) }
    }
}

// MARK: Time

extension Duration {
    /// In nanoseconds, as a loop counts them: the nearest one, at least one of a span that is longer than none; what
    /// does not fit is the longest or the shortest there is.
    package var wholeNanoseconds: Int64 { Nanoseconds(saturating: self) }
}

extension GRunLoop.Instant {
    /// That many nanoseconds of `CLOCK_MONOTONIC`; `Int64.max` is ``GRunLoop/distantFuture``.
    package init(wholeNanoseconds: Int64) { self = wholeNanoseconds.instant }

    /// In nanoseconds of `CLOCK_MONOTONIC`, as a loop counts them: the nearest one. What does not fit is the last or
    /// the first there is.
    package var wholeNanoseconds: Int64 { Nanoseconds(saturating: self) }
}

extension GRunLoop.VirtualTime {
    /// The time of a loop of ``GRunLoop/withVirtualTime(from:_:)``; nil for one whose time is the system's.
    package convenience init?(of loop: GRunLoop) {
        guard let clock = loop.virtualTime else { return nil }
        self.init(loop, clock)
    }
}

// MARK: What is taken back by number, or by another name than a target's

extension GRunLoop {
    /// ``addEndHandler(_:)`` for a caller that keeps a number, which is not 0.
    package func addNumberedEndHandler(_ body: @escaping @Sendable () -> Void) throws(LoopEndedError) -> UInt64 {
        try addEndHandler(body).id
    }

    /// ``EndHandler/remove()`` by the number. Any thread.
    package func removeEndHandler(numbered id: UInt64) -> Bool { removeEndHandler(id) }

    /// ``push(ambientMode:)`` for a caller that keeps a number, which is not 0.
    package func pushNumbered(ambientMode mode: Mode) throws(DescriptorError) -> UInt32 {
        try push(ambientMode: mode).id
    }

    /// ``PushedMode/pop()`` by the number; false if no such mode is pushed. The loop's own thread.
    package func popAmbientMode(numbered id: UInt32) -> Bool {
        guard let token = pushedAmbientMode(id) else { return false }
        token.pop()
        return true
    }

    /// A ``StallMonitor`` for a caller that keeps a number, which is not 0. Without a closure stalls are logged; the
    /// closure is let go of on any thread.
    package func watchStalls(
        threshold: Duration, _ handler: (@Sendable (StallReport) -> Void)?
    ) throws(StallMonitor.StartError) -> UInt64 {
        let monitor =
            if let handler { try StallMonitor(self, threshold: threshold, handler: handler) } else {
                try StallMonitor(logging: self, threshold: threshold)
            }
        return NumberedStallMonitors.add(monitor, of: self)
    }

    /// ``StallMonitor/end()`` by the number; false if it has ended already, or is another loop's. Any thread.
    package func unwatchStalls(numbered id: UInt64) -> Bool {
        guard !Fork.refuses("unwatchStalls"), let monitor = NumberedStallMonitors.take(id, of: self) else {
            return false
        }
        monitor.end()
        return true
    }

    /// The ``Timeline`` of programs in C and of `GRUN_TIMELINE`: ``Timeline/start()``.
    package static func startTimeline() { Timeline.ofProcess.start() }

    /// ``Timeline/stop()`` of it.
    package static func stopTimeline() { Timeline.ofProcess.stop() }

    /// ``Timeline/write(to:as:)`` of it, as the file's name says.
    package static func writeTimeline(to path: UnsafePointer<CChar>) throws(Timeline.WriteError) {
        try Timeline.ofProcess.write(to: OutputFile(path))
    }

    /// ``perform(after:inModes:target:key:_:)`` whose target is the user data of a function of C, and whose key is the
    /// address of that function.
    package func perform(
        after delay: Duration, inModes names: [Mode], data: UInt, function: UInt, _ body: @escaping @Sendable () -> Void
    ) {
        _ = perform(
            after: delay, names, cancelledBy: Cancellables.Name(.data(data), key: function), heldBy: nil, body)
    }

    /// The same of ``perform(order:inModes:target:key:_:)``.
    package func perform(
        order: Int, inModes names: [Mode], data: UInt, function: UInt, _ body: @escaping @Sendable () -> Void
    ) {
        perform(order: order, names, cancelledBy: Cancellables.Name(.data(data), key: function), heldBy: nil, body)
    }

    /// The same of ``cancelPerforms(target:key:)``. The loop's own thread.
    package func cancelPerforms(data: UInt, function: UInt?) {
        takeBack(Cancellables.Name(.data(data), key: function.map { AnyHashable($0) }))
    }

    /// What records the loop; nil while nothing does. The loop's own thread.
    package var trace: Trace? { tracer }
}

// MARK: Notifications whose senders are addresses, and who observes by number

extension GRunLoop.Notification {
    /// Of a sender that is known by its address, and not kept; 0 is none.
    package init(name: Name, senderAt address: UInt, payload: Payload) {
        self.init(name: name, senderAddress: address, payload: payload)
    }

    /// The address of the sender; 0 if there is none.
    package var addressOfSender: UInt { senderAddress }
}

extension GRunLoop.NotificationQueue {
    /// ``observe(_:sender:_:)`` for a caller that keeps a number, which is not 0. The closure is kept until it is
    /// removed, or the queue goes. 0 in a forked child.
    package func addNumberedObserver(
        _ name: Name?, senderAt address: UInt,
        _ body: @escaping @Sendable (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> UInt64 {
        Fork.refuses("NotificationQueue.observe") ? 0 : core.addObserver(name, nil, address, body)
    }

    /// ``GRunLoop/Observation/cancel()`` by the number; false if it was removed before.
    package func removeObserver(numbered number: UInt64) -> Bool { !Fork.isChild && core.removeObserver(number) }
}

// MARK: What a task awaits

extension GRunLoop {
    /// How something else that happens on a loop reaches the task that awaits it, as a timer does in
    /// ``sleep(for:tolerance:inModes:)`` and a descriptor in ``readiness(of:for:inModes:)``: for what other products
    /// wait for there, like an operation of GIO's.
    ///
    /// An actor of the loop, or a task that prefers its executor, goes on by a job of that loop alone: on the loop's
    /// thread nothing leaves it. Elements that come while no task awaits are merged into one.
    ///
    /// Threads: any, where nothing else is said.
    package struct Awaited<Element: Sendable>: Sendable {
        private let mailbox: Mailbox<Element>

        /// - Parameters:
        ///   - merge: makes one element of an older one, which no task has awaited yet, and a newer.
        ///   - cease: called once, when nothing is awaited any more: after ``end()``, when the task is cancelled, or
        ///     when the loop's thread ends, before its last jobs. On the thread on which that happens.
        package init(
            on loop: GRunLoop, merging merge: @escaping @Sendable (Element, Element) -> Element,
            ceasing cease: @escaping @Sendable () -> Void
        ) {
            mailbox = Mailbox(of: loop, merge: merge)
            mailbox.open(for: Ceasing(cease))
        }

        /// Brings an element. After the end, and in a forked child, it is dropped.
        package func send(_ element: Element) {
            if !Fork.isChild { mailbox.send(element) }
        }

        /// The next element; nil when there will be none. For one task at a time: two stop the program, with a message.
        /// Being cancelled is an end, at once.
        package func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
            await mailbox.next(isolation: isolation)
        }

        /// Nothing comes any more. The second time it does nothing.
        package func end() { mailbox.close(.done) }

        /// Whether nothing comes any more since the loop's thread has ended.
        package var hasLoopEnded: Bool { mailbox.reason == .loopEnded }
    }

    /// What is to be done when nothing is awaited any more, in the place of an item.
    private final class Ceasing: Invalidatable {
        private let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        func invalidate() { body() }
    }
}

// MARK: What a port carries

extension GRunLoop.PortMessage.Component {
    /// Bytes that an object keeps in their place: they are not copied on the way.
    package static func bytes(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) -> Self {
        Self(storage: .kept(keeper, Memory(bytes: bytes)))
    }

    /// Who keeps the bytes in their place; nil of an array and of a port.
    package var keeper: (any AnyObject & Sendable)? {
        if case .kept(let keeper, _) = storage { keeper } else { nil }
    }
}

extension GRunLoop.PortMessage {
    /// A message as an object, which threads may build, read and send at the same time: what C holds. Not in a forked
    /// child, which may find it locked.
    package final class Shared: @unchecked Sendable {
        package let id: UInt32
        package let receivePort: GRunLoop.Port?
        private let guardian = Guardian()
        // Guarded by the guardian.
        private var components: [Component]
        private var lockedReplyPort: GRunLoop.Port?

        package init(_ message: GRunLoop.PortMessage) {
            (id, receivePort) = (message.id, message.receivePort)
            (components, lockedReplyPort) = (message.components, message.replyPort)
        }

        /// What is sent: as it is now, and received nowhere yet.
        package var value: GRunLoop.PortMessage {
            guardian.withLock { GRunLoop.PortMessage(id: id, components, replyPort: lockedReplyPort) }
        }

        package var count: Int { guardian.withLock { components.count } }

        /// Nil if there are not so many.
        package func component(at index: Int) -> Component? {
            guardian.withLock { components.indices.contains(index) ? components[index] : nil }
        }

        package func append(_ component: Component) { guardian.withLock { components.append(component) } }

        package var replyPort: GRunLoop.Port? {
            get { guardian.withLock { lockedReplyPort } }
            set {
                // The former one is let go without the lock.
                var port = newValue
                guardian.withLock { swap(&lockedReplyPort, &port) }
            }
        }
    }
}

// MARK: What message ports carry, and to whom

extension GRunLoop.MessageData {
    /// Bytes that an object keeps in their place: they are not copied on the way.
    package static func bytes(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) -> Self {
        Self(bytes, keptBy: keeper)
    }

    /// Who keeps the bytes in their place; nil of an array.
    package var keeper: (any AnyObject & Sendable)? {
        switch storage {
        case .array: return nil
        case .kept(let keeper, _): return keeper
        case .received(let memory): return memory
        }
    }
}

extension GRunLoop.MessagePort {
    /// ``init(_:handler:)`` with a handler that gets the port, too, without holding it.
    package convenience init(
        _ name: String?, portHandler handler: @escaping @Sendable (GRunLoop.MessagePort, Message) -> Void
    ) throws(GRunLoop.MessagePortError) {
        let place = Place()
        // It is in no loop, which could call it, before this returns.
        try self.init(name) { message in
            if let port = place.port { handler(port, message) }
        }
        place.port = self
    }

    /// ``init(replying:handler:)`` with a handler that gets the port, too, without holding it.
    package convenience init(
        replying name: String?,
        portHandler handler: @escaping @Sendable (GRunLoop.MessagePort, Message) -> GRunLoop.MessageData?
    ) throws(GRunLoop.MessagePortError) {
        try self.init(name, portHandler: { port, message in Self.reply(to: message) { handler(port, $0) } })
    }

    private final class Place: @unchecked Sendable {
        weak var port: GRunLoop.MessagePort?
    }
}

// MARK: One copy

extension GRunLoop {
    /// The boxed type of a loop, as GObject knows it; 0 in a copy of the library that does not serve the process, since
    /// another one was there first. Any thread.
    package static var boxedType: GType { OneCopy.loopType }

    /// Registers a boxed type for objects of a class, by that name: a copy of a reference is another reference. Once a
    /// name, and only where ``boxedType`` is not 0.
    package static func registerBoxedType(named name: String) -> GType { Boxed.register(name) }
}

// MARK: Requests to message ports for which nobody waits

extension GRunLoop.RemoteMessagePort {
    /// ``request(_:_:descriptors:sendTimeout:receiveTimeout:on:replyMode:)`` whose end `completion` is told of, on the
    /// loop's thread, once, and not before this has returned. Returns the number of ``cancelRequest(_:)``, which is not
    /// 0. If the loop ends before the request, `completion` is let go of.
    package func startRequest(
        _ id: Int32, _ data: GRunLoop.MessageData, descriptors: [Int32], sendTimeout: Duration,
        receiveTimeout: Duration, on loop: GRunLoop, replyMode: GRunLoop.Mode,
        completion: @escaping @Sendable (Result<Reply, GRunLoop.MessageRequestError>) -> Void
    ) throws(GRunLoop.MessageRequestError) -> UInt32 {
        guard !Fork.refuses("RemoteMessagePort.startRequest") else { throw .isInvalid }
        return try MessageRequest.start(
            id, data, descriptors, sendTimeout, receiveTimeout, to: self, on: loop, replyMode, completion: completion)
    }

    /// Ends a request that was started by `startRequest`, with ``GRunLoop/MessageRequestError/cancelled``. Returns
    /// whether it was under way. Any thread.
    package func cancelRequest(_ number: UInt32) -> Bool {
        !Fork.refuses("RemoteMessagePort.cancelRequest") && giveUp(conversation: number, .cancelled)
    }
}
