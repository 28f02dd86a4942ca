// SPDX-License-Identifier: Apache-2.0
// Channels, which carry values from any thread to a loop: the generic part. ChannelCore does the work.

extension GRunLoop {
    /// The result of sending an element to a channel.
    ///
    /// There is no corresponding Core Foundation type.
    public enum SendResult: Hashable, Sendable {
        /// The channel accepted the element. The element is delivered once, or is passed to `undelivered` if the
        /// channel ends first.
        case enqueued
        /// The channel is full: as many elements wait as its capacity allows. The element was not accepted.
        case full
        /// The channel accepts no more elements: it was closed or invalidated, or its loop has ended. The element was
        /// not accepted.
        case closed
    }

    /// Carries values from any thread to a loop: the fast path between threads.
    ///
    /// ```swift
    /// let readings = GRunLoop.Channel<Reading>(capacity: 1024)
    /// readings.receive(on: .main) { reading in show(reading) }
    /// // On any thread:
    /// if readings.trySend(reading) == .full { dropped += 1 }
    /// ```
    ///
    /// To wait for room in a task, call `await readings.send(reading)`: see ``send(_:)``.
    ///
    /// One loop receives the elements, in one of three ways:
    ///
    /// - a closure is called with each element: ``receive(on:inModes:_:)``;
    /// - a closure is called with many elements at a time: ``receiveBatches(on:inModes:_:)``;
    /// - a task awaits an asynchronous sequence of the elements: ``elements(on:inModes:)``.
    ///
    /// Elements that one thread sends arrive in the order in which it sent them. A burst of elements wakes the loop
    /// once. No element costs an allocation of its own, unless a task waits for room to send it.
    ///
    /// In a pass, the channel is a version-0 ``Source``. It is performed in the channel's modes, in stage 5, and counts
    /// as a handled source. A pass delivers the elements that wait when the channel's turn comes. After
    /// ``GRunLoop/timeSlice``, other ready work has its turn, and a later pass delivers the rest. If the closure runs
    /// the loop in one of the channel's modes, the nested run delivers the rest.
    ///
    /// A channel ends in one of two ways:
    ///
    /// - ``close()``: the channel accepts no more elements, delivers those that it has, and then becomes invalid.
    ///   Releasing the last reference to the channel also closes it. If the channel is then in no mode, nobody would
    ///   receive its elements, so it is invalidated.
    /// - ``invalidate()``: the channel accepts and delivers no more elements, and leaves its modes. The end of the
    ///   loop's thread also invalidates the channel.
    ///
    /// An accepted element that can no longer be delivered is passed to the closure `undelivered`, once.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. The corresponding GLib type is `GAsyncQueue`,
    /// which wakes no context.
    public final class Channel<Element>: @unchecked Sendable {
        @usableFromInline let core: ChannelCore

        /// Creates a channel that has no receiver yet. Elements can be sent already, and wait.
        ///
        /// - Parameters:
        ///   - capacity: how many elements may wait. Elements that the loop has taken for delivery no longer count.
        ///     Zero and negative values mean one; `Int.max` means no limit. Memory is allocated as it is needed.
        ///   - undelivered: called with each element that was accepted and not delivered, in order. It is called on the
        ///     thread that invalidates or releases the channel, or on the ending thread of the loop. If the loop or a
        ///     task is delivering at that time, it is called on that thread instead. That happens once the closure has
        ///     returned, or when the task asks for the next element. If `undelivered` is nil, the elements are released
        ///     there. The channel keeps this closure for its whole life, also after its end. So capture anything that
        ///     holds the channel weakly.
        ///
        /// Threads: any. The corresponding GLib function is `g_async_queue_new_full`.
        @inlinable public init(
            capacity: Int = .max, undelivered: (@Sendable (sending Element) -> Void)? = nil
        ) {
            core = ChannelCore(
                capacity: capacity,
                ChannelElementType(
                    size: MemoryLayout<Element>.stride, alignment: MemoryLayout<Element>.alignment,
                    move: { from, to, count in
                        to.moveInitializeMemory(
                            as: Element.self, from: from.assumingMemoryBound(to: Element.self), count: count)
                    },
                    giveUp: { first, count in
                        let elements = first.assumingMemoryBound(to: Element.self)
                        guard let undelivered else { return _ = elements.deinitialize(count: count) }
                        for index in 0..<count {
                            nonisolated(unsafe) let element = (elements + index).move()
                            undelivered(element)
                        }
                    }))
        }

        @inlinable deinit {
            core.letGo()
        }

        /// Sends an element if there is room, and never waits. You can call it on the loop's own thread too, in the
        /// receiving closure, and in an async function. To wait for room in a task, call ``send(_:)``.
        ///
        /// If the result is not ``SendResult/enqueued``, the element was not accepted. An element that is not
        /// `Sendable` is then released, because the caller has given it away.
        ///
        /// Threads: any; not from a signal handler. The corresponding GLib function is `g_async_queue_push`.
        @inlinable @inline(__always) public func trySend(_ element: consuming sending Element) -> SendResult {
            switch core.begin() {
            case .at(let slot):
                slot.initializeMemory(as: Element.self, to: element)
                core.commit()
                return .enqueued
            case .full: return .full
            case .closed: return .closed
            }
        }

        /// Sends an element, and suspends the task while the channel is full. Waiting tasks get room in the order in
        /// which they began to wait. To send without waiting, call ``trySend(_:)``.
        ///
        /// - Returns: ``SendResult/enqueued`` or ``SendResult/closed``. If the channel is full and the task is
        ///   cancelled, the result is ``SendResult/full``, because a cancelled task does not wait.
        ///
        /// Threads: any. There is no corresponding GLib function.
        @inlinable nonisolated(nonsending) public func send(_ element: consuming sending Element) async -> SendResult {
            switch core.begin() {
            case .at(let slot):
                slot.initializeMemory(as: Element.self, to: element)
                core.commit()
                return .enqueued
            case .closed: return .closed
            case .full: return await wait(toSend: element)
            }
        }

        @usableFromInline nonisolated(nonsending) func wait(toSend element: sending Element) async -> SendResult {
            let memory = UnsafeMutablePointer<Element>.allocate(capacity: 1)
            memory.initialize(to: element)
            let result = await core.wait(toSend: UnsafeMutableRawPointer(memory))
            if result != .enqueued { memory.deinitialize(count: 1) }
            memory.deallocate()
            return result
        }

        /// Ends the channel after its elements are delivered. The channel accepts no more elements. Once the accepted
        /// elements are delivered, the channel becomes invalid and leaves its modes, or the sequence ends. A run in a
        /// mode without other items then finishes. Tasks that wait for room get ``SendResult/closed``. A second call
        /// does nothing.
        ///
        /// Threads: any. There is no corresponding Core Foundation function.
        public func close() { core.close() }

        /// Ends the channel immediately: it accepts and delivers no more elements. Accepted elements that were not
        /// delivered are passed to the closure `undelivered`. Tasks that wait for room get ``SendResult/closed``, the
        /// channel leaves its modes, and the sequence ends. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() { core.invalidate() }

        /// Whether the channel accepts elements. False after ``close()``, ``invalidate()`` or the end of the loop.
        ///
        /// Threads: any. There is no corresponding Core Foundation function.
        public var isOpen: Bool { core.isOpen }

        /// Whether the channel delivers elements, or may still deliver some. After ``close()`` it is true until the
        /// elements are delivered. False after ``invalidate()``, after the end of the loop, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { core.isValid }

        /// The program's name for the channel, for people who read diagnostics. A ``Trace``, a stall monitor's report
        /// and a loop's `description` show it at the ``Source`` that stands for the channel in its modes. Nil means no
        /// label, which is the initial value. Any text is a label, also the empty text. The text is kept whole, and is
        /// shown on one line, cut to 120 characters. It can be set at any time, also after the channel is invalid.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        public var label: String? {
            get { Labels.get(core, "Channel.label") }
            set {
                Labels.set(newValue, of: core, "Channel.label")
                core.passOnLabel()
            }
        }

        /// How many elements may wait, at least one. Threads: any.
        public var capacity: Int { core.capacity }

        /// How many elements wait to be taken by the loop. The number may have changed when this returns. Threads: any.
        /// The corresponding GLib function is `g_async_queue_length`.
        public var count: Int { core.waiting }
    }
}

extension ChannelCore {
    /// Copies the channel's label to its source.
    func passOnLabel() {
        guard Labels.isInUse, !Fork.isChild, let source = lock.withLock({ guarded.source }) else { return }
        Labels.pass(from: self, to: source)
    }
}
