// SPDX-License-Identifier: Apache-2.0
// Channels, which carry values from any thread to a loop. This is the generic part; ChannelCore does the work.

extension GRunLoop {
    /// The result of sending an element to a channel.
    ///
    /// There is no corresponding Core Foundation type.
    public enum SendResult: Hashable, Sendable {
        /// The channel accepted the element, and will deliver it once. If the channel is invalidated first, the element
        /// is passed to `undelivered`.
        case enqueued
        /// The channel is full, and did not accept the element.
        case full
        /// The channel did not accept the element. The channel was closed or invalidated, or its loop has ended.
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
    /// One loop receives the elements, in one of three ways:
    ///
    /// - a closure is called with each element: ``receive(on:inModes:_:)``;
    /// - a closure is called with many elements at a time: ``receiveBatches(on:inModes:_:)``;
    /// - a task awaits an asynchronous sequence of the elements: ``elements(on:inModes:)``.
    ///
    /// A loop receives the elements of one thread in the order in which that thread sent them. A burst of elements
    /// wakes the loop once. Memory is not allocated for each element, unless a task waits for room to send it.
    ///
    /// The loop treats the channel as a version-0 ``Source``. The loop performs this source in stage 5, in the
    /// channel's modes, and counts it as a handled source. A pass delivers the elements that wait when the source is
    /// performed. If the delivery takes longer than ``GRunLoop/timeSlice``, the loop first handles other ready work,
    /// and a later pass delivers the rest. If the receiving closure runs the loop in one of the channel's modes, the
    /// nested run delivers the rest.
    ///
    /// A channel ends in one of two ways:
    ///
    /// - ``close()``: the channel accepts no more elements, delivers the accepted ones, and then becomes invalid.
    ///   Releasing the last reference to the channel also closes it. But if the channel is in no mode at that time, the
    ///   release invalidates the channel, because no loop would receive the elements.
    /// - ``invalidate()``: the channel accepts and delivers no more elements, and leaves its modes. The end of the
    ///   loop's thread also invalidates the channel.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. The corresponding GLib type is `GAsyncQueue`,
    /// which does not wake a `GMainContext`.
    public final class Channel<Element>: @unchecked Sendable {
        @usableFromInline let core: ChannelCore

        /// Creates a channel that has no receiver yet. You can already send elements; they wait for the receiver.
        ///
        /// - Parameters:
        ///   - capacity: the largest number of elements that can wait. An element that the loop has taken for delivery
        ///     does not count. Zero and negative values mean one; `Int.max` means no limit. Memory is allocated as it
        ///     is needed.
        ///   - undelivered: a closure that is called once with each accepted element that cannot be delivered. Elements
        ///     are passed in the order in which they were sent. If `undelivered` is nil, these elements are released.
        ///     The closure is called on the thread that invalidates or releases the channel, or on the loop's ending
        ///     thread. There are two exceptions. If the receiving closure is running when the channel is invalidated,
        ///     the loop's thread calls `undelivered` after the receiving closure has returned. If a task is using
        ///     elements that it has taken, the task calls `undelivered` when it asks for the next element. The channel
        ///     retains `undelivered` until the channel itself is released. To avoid a reference cycle, the closure must
        ///     capture owners of the channel weakly.
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

        /// Sends an element if there is room, and never waits. You can also call this function in the receiving closure
        /// and in an async function. To wait for room in a task, call ``send(_:)``.
        ///
        /// If the result is not ``SendResult/enqueued``, the element is released, unless the caller has kept a copy of
        /// it.
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

        /// Sends an element, and suspends the task while the channel is full. Tasks get room in the order in which they
        /// began to wait.
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

        /// Ends the channel after its elements are delivered. The channel accepts no more elements. Tasks that wait for
        /// room get ``SendResult/closed``. After the last element, the channel becomes invalid and leaves its modes,
        /// and an asynchronous sequence of its elements ends. This call wakes the loop. If the current mode has no
        /// other items, the run finishes. A second call does nothing.
        ///
        /// Threads: any. There is no corresponding Core Foundation function.
        public func close() { core.close() }

        /// Ends the channel immediately: it accepts and delivers no more elements, and leaves its modes. Accepted
        /// elements that were not delivered are passed to the closure `undelivered`. Tasks that wait for room get
        /// ``SendResult/closed``, and an asynchronous sequence of the elements ends. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`, which does not wake
        /// the loop; this function does.
        public func invalidate() { core.invalidate() }

        /// Whether the channel accepts elements. The value is false after ``close()`` or ``invalidate()``, after the
        /// end of the loop, and in a forked child.
        ///
        /// Threads: any. There is no corresponding Core Foundation function.
        public var isOpen: Bool { core.isOpen }

        /// Whether the channel can still deliver elements. After ``close()``, the value is true until the last element
        /// is delivered. False after ``invalidate()``, after the end of the loop, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { core.isValid }

        /// The program's name for the channel, for people who read diagnostics. A ``Trace``, a stall monitor's report
        /// and a loop's `description` show the label at the channel's ``Source``. Nil, which is the initial value,
        /// means no label; an empty text is a label. The text is stored whole, but shown on one line and cut to 120
        /// characters. You can set the label at any time, even after the channel is invalid.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        public var label: String? {
            get { Labels.get(core, "Channel.label") }
            set {
                Labels.set(newValue, of: core, "Channel.label")
                core.passOnLabel()
            }
        }

        /// The largest number of elements that can wait; at least one. Threads: any.
        public var capacity: Int { core.capacity }

        /// How many accepted elements the loop has not taken yet. Other threads may change the number before the caller
        /// uses it. Threads: any. The corresponding GLib function is `g_async_queue_length`.
        public var count: Int { core.waiting }
    }
}

extension ChannelCore {
    func passOnLabel() {
        guard Labels.isInUse, !Fork.isChild, let source = lock.withLock({ guarded.source }) else { return }
        Labels.pass(from: self, to: source)
    }
}
