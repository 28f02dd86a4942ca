// SPDX-License-Identifier: Apache-2.0
// Functions of the core that only the other products of this package need. Functions that the core also uses are
// declared in their own files, with `package`. The oracle, which compares the loop with Core Foundation, is in another
// package (Tools). So it uses the declarations with `@_spi(Oracle)` instead.
//
// If a run must also wait for a descriptor, a context or a date, a product adds a `DescriptorSource`, a `Context` or a
// `Timer`. To notice the end of a thread, a product calls `addEndHandler`.

import CGRun
package import CGRunGLib

// MARK: Checks of a call

extension GRunLoop {
    /// Returns whether `call` may continue; false in a forked child. The call is allowed only on the loop's own thread.
    /// On another thread, ends the process.
    package func isCalledOnOwnThread(by call: StaticString) -> Bool {
        !Fork.refuses(call) && requireOwnThread(call)
    }
}

// MARK: The process and the thread

extension GRunLoop {
    /// The number of sources of any kind that the loop has handled. Threads: the loop's own thread.
    package var handledCount: UInt64 { handledSources }

    /// How often the loop cut a step short, because a time slice was used up and other kinds of items got a turn.
    /// Threads: the loop's own thread.
    @_spi(Oracle) public var cutCount: Int { lock.withLock { cuts } }

    /// Returns whether the environment has a variable. Always false if the program runs with more rights than its
    /// caller, for example set-user-ID.
    package static func isInEnvironment(_ name: String) -> Bool { cgrun_environment(name) != nil }

    /// Whether descriptors are left for an object that another library is about to make. Any thread.
    package static var hasDescriptorsLeft: Bool { cgrun_has_descriptors_left() }

    /// The reason why the main loop cannot serve the main queue; nil if it can.
    package static var mainQueueLoss: String? { MainQueue.isOurs ? nil : MainQueue.lossInWords }

    /// Whether the main thread is draining the main queue.
    package static var isDrainingMainQueue: Bool { MainQueue.isDraining }

    /// Calls `drain`, with which another loop on the main thread drains the main queue. Meanwhile
    /// ``isDrainingMainQueue`` is true.
    package static func drainMainQueue(by drain: @convention(c) () -> Void) {
        if MainQueue.isDraining { drain() } else { MainQueue.drain(by: drain) }
    }
}

// MARK: Time

extension Duration {
    /// The duration in whole nanoseconds, rounded to the nearest nanosecond. A positive duration becomes at least 1. A
    /// duration that does not fit becomes the largest or the smallest Int64.
    package var wholeNanoseconds: Int64 { Nanoseconds(saturating: self) }
}

extension GRunLoop.Instant {
    /// The instant at which `CLOCK_MONOTONIC` shows this number of nanoseconds; `Int64.max` means
    /// ``GRunLoop/distantFuture``.
    package init(wholeNanoseconds: Int64) { self = wholeNanoseconds.instant }

    /// The instant in nanoseconds of `CLOCK_MONOTONIC`, rounded to the nearest nanosecond. An instant that does not fit
    /// becomes the largest or the smallest Int64.
    package var wholeNanoseconds: Int64 { Nanoseconds(saturating: self) }
}

extension GRunLoop.VirtualTime {
    /// The virtual time of a loop of ``GRunLoop/withVirtualTime(from:_:)``; nil for a loop that uses the system's time.
    package convenience init?(of loop: GRunLoop) {
        guard let clock = loop.virtualTime else { return nil }
        self.init(loop, clock)
    }
}

// MARK: Operations by number, and performs by address

extension GRunLoop {
    /// Adds an end handler as ``addEndHandler(_:)`` does. Returns its number, which is not 0.
    package func addNumberedEndHandler(_ body: @escaping @Sendable () -> Void) throws(LoopEndedError) -> UInt64 {
        try addEndHandler(body).id
    }

    /// Removes an end handler by its number, as ``EndHandler/cancel()`` does. Any thread.
    package func removeEndHandler(numbered id: UInt64) -> Bool { removeEndHandler(id) }

    /// Pushes a mode as ``push(ambientMode:)`` does. Returns the number of the pushed mode, or 0 if the loop has ended
    /// and the mode was not pushed.
    package func pushNumbered(ambientMode mode: Mode) throws(SystemError) -> UInt32 {
        try push(ambientMode: mode).id
    }

    /// Pops a mode by its number, as ``PushedMode/pop()`` does. Returns false if no mode with this number is pushed.
    /// Threads: the loop's own thread.
    package func popAmbientMode(numbered id: UInt32) -> Bool {
        guard let token = pushedAmbientMode(id) else { return false }
        token.pop()
        return true
    }

    /// Performs a closure later, as ``perform(after:inModes:target:key:_:)`` does. The target is a C function's user
    /// data, and the key is the function's address. Returns the number of the perform, or 0 if it was not added.
    package func performNumbered(
        after delay: Duration, inModes names: [Mode], data: UInt, function: UInt, _ body: @escaping @Sendable () -> Void
    ) -> UInt64 {
        guard canPerformLater() else { return 0 }
        let perform = addPerform(at: time.addingSaturating(Nanoseconds(ahead: delay)), inModes: names, body)
        guard perform != .none else { return 0 }
        return cancellables.add(perform, Cancellables.Name(.data(data), key: function), heldBy: nil)
    }

    /// Cancels a perform by its number, as ``DelayedPerform/cancel()`` does. Threads: the loop's own thread.
    package func cancelPerform(numbered number: UInt64) -> Bool {
        cancellables.removeDelayed(number).map { removePerform($0) } ?? false
    }

    /// Performs a closure in a later pass, as ``perform(order:inModes:target:key:_:)`` does. The target and the key are
    /// as in ``performNumbered(after:inModes:data:function:_:)``.
    package func perform(
        order: Int, inModes names: [Mode], data: UInt, function: UInt, _ body: @escaping @Sendable () -> Void
    ) {
        perform(order: order, names, cancelledBy: Cancellables.Name(.data(data), key: function), heldBy: nil, body)
    }

    /// Cancels performs as ``cancelPerforms(target:key:)`` does. The target is a C function's user data, and the key is
    /// the function's address. A `function` of nil means every function. Threads: the loop's own thread.
    package func cancelPerforms(data: UInt, function: UInt?) {
        takeBack(Cancellables.Name(.data(data), key: function.map { AnyHashable($0) }))
    }
}

// MARK: Notifications from addresses, and observers by number

extension GRunLoop.Notification {
    /// Makes a notification that stores the address of its sender, and does not retain the sender. An address of 0
    /// means no sender.
    package init(name: Name, senderAt address: UInt, payload: Payload) {
        self.init(name: name, senderAddress: address, payload: payload)
    }

    /// The address of the sender; 0 if there is none.
    package var addressOfSender: UInt { senderAddress }
}

extension GRunLoop.NotificationQueue {
    /// Adds an observer as ``observe(_:sender:_:)`` does. Returns its number, or 0 in a forked child. The queue retains
    /// the closure until the observer is removed.
    package func addNumberedObserver(
        _ name: Name?, senderAt address: UInt,
        _ body: @escaping @Sendable (GRunLoop.Notification<Name, Payload>) -> Void
    ) -> UInt64 {
        Fork.refuses("NotificationQueue.observe") ? 0 : core.addObserver(name, nil, address, body)
    }

    /// Removes an observer by its number, as ``GRunLoop/Observation/cancel()`` does. Returns false if the observer was
    /// removed before.
    package func removeObserver(numbered number: UInt64) -> Bool { !Fork.isChild && core.removeObserver(number) }
}

// MARK: The messages of ports

extension GRunLoop.PortMessage.Component {
    /// Makes a component of bytes that `keeper` keeps at their address, so that the bytes are not copied.
    package static func bytes(_ bytes: UnsafeRawBufferPointer, keptBy keeper: any AnyObject & Sendable) -> Self {
        Self(storage: .kept(keeper, Memory(bytes: bytes)))
    }

    /// The object that keeps the bytes at their address; nil for an array and for a port.
    package var keeper: (any AnyObject & Sendable)? {
        if case .kept(let keeper, _) = storage { keeper } else { nil }
    }
}

extension GRunLoop.PortMessage {
    /// A message as an object, for the C interface. Several threads may change, read and send the message at the same
    /// time. Do not use it in a forked child, where its lock may be held forever.
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

        /// A copy of the message with its present content, to send. The copy has no receive port, because it was not
        /// received anywhere yet.
        package var value: GRunLoop.PortMessage {
            guardian.withLock { GRunLoop.PortMessage(id: id, components, replyPort: lockedReplyPort) }
        }

        package var count: Int { guardian.withLock { components.count } }

        package func component(at index: Int) -> Component? {
            guardian.withLock { components.indices.contains(index) ? components[index] : nil }
        }

        package func append(_ component: Component) { guardian.withLock { components.append(component) } }

        package var replyPort: GRunLoop.Port? {
            get { guardian.withLock { lockedReplyPort } }
            set {
                // The former port is released after unlocking.
                var port = newValue
                guardian.withLock { swap(&lockedReplyPort, &port) }
            }
        }
    }
}

// MARK: One copy

extension GRunLoop {
    /// True if another copy of the library serves the process. Then the loops of this copy do nothing.
    package static var isServedByAnotherCopy: Bool { OneCopy.other != nil }

    /// The boxed type of a loop in GObject; 0 if another copy of the library serves the process. Any thread.
    package static var boxedType: GType { OneCopy.loopType }

    /// Registers a boxed type with this name for the objects of a class. Copying a boxed reference retains the object.
    /// Call this function once for each name, and only if ``boxedType`` is not 0.
    package static func registerBoxedType(named name: String) -> GType { Boxed.register(name) }
}
