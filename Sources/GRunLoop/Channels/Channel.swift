// SPDX-License-Identifier: Apache-2.0
// Values from any thread to a loop: what is generic of a channel. The rest is in ChannelCore.

extension GRunLoop {
    /// What became of an element that was sent.
    ///
    /// There is no corresponding Core Foundation type.
    public enum SendResult: Hashable, Sendable {
        /// It is on its way: it is delivered once, or given up as not delivered.
        case enqueued
        /// As many elements as the channel has room for wait already. The element was not taken.
        case full
        /// The channel takes nothing any more: it was finished or closed, or its loop has ended. The element was not
        /// taken.
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
    /// One loop receives, by a closure for each element (``receive(on:inModes:_:)``), by one for many at once
    /// (``receiveBatches(on:inModes:_:)``), or as a sequence (``elements(on:inModes:)``). What one thread sends arrives
    /// in that order. A burst wakes the loop once, and no element costs an allocation, unless a task waits for room.
    ///
    /// In a pass the channel is a version-0 ``Source``: it is performed in its modes, in stage 5, and counts as a
    /// handled source. A pass delivers what was there when its turn came. After ``GRunLoop/timeSlice`` whatever else is
    /// ready has its turn, and the rest comes in a later pass. A run that is nested in the closure goes on with the
    /// rest, if it is in a mode of the channel's.
    ///
    /// An end is one of these:
    ///
    /// - ``finish()``: nothing more is accepted, and the channel goes once all is delivered. Letting go of the channel
    ///   finishes it, too; if it is in no mode, nobody would receive: it is closed.
    /// - ``close()``: nothing more is accepted or delivered. The end of the loop's thread closes the channel, too.
    ///
    /// What was accepted and is not delivered then is given to the closure `undelivered`, each element once.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. GLib's is `GAsyncQueue`, which wakes no context.
    public final class Channel<Element>: @unchecked Sendable {
        @usableFromInline let core: ChannelCore

        /// A channel from which nothing receives yet. Elements can be sent, and wait.
        ///
        /// - Parameters:
        ///   - capacity: how many elements may wait; those that the loop has taken to deliver do not count any more.
        ///     Zero and negative mean one, `Int.max` is no limit. Memory is taken as it is needed.
        ///   - undelivered: gets what was accepted and not delivered, in order: on the thread that closes the channel
        ///     or lets go of it, on the ending thread of the loop, or, if the loop or a task is delivering just then,
        ///     on its thread once the closure has returned or the task looks again. Nil: it is let go there. It is kept
        ///     as long as the channel, beyond its end, too: capture what holds the channel weakly.
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

        /// Sends an element if there is room, and does not wait: also on the loop's own thread, in the closure that
        /// receives, and in an async function. A task that is to wait for room calls ``send(_:)``.
        ///
        /// What is not ``SendResult/enqueued`` was not taken: an element that is not `Sendable` is let go then.
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

        /// Sends an element. While the channel is full the task is suspended; tasks that wait are served in the order
        /// in which they came. ``trySend(_:)`` does not wait.
        ///
        /// - Returns: ``SendResult/enqueued`` or ``SendResult/closed``; ``SendResult/full`` if the channel is full and
        ///   the task is cancelled: such a task does not wait.
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

        /// Accepts nothing from now on. What was accepted is delivered; then the channel leaves its modes, or the
        /// sequence ends. A run in a mode without other items is finished then. Tasks that wait for room get
        /// ``SendResult/closed``. The second time it does nothing.
        ///
        /// Threads: any. There is no corresponding Core Foundation function.
        public func finish() { core.finish() }

        /// Accepts and delivers nothing from now on. What was accepted goes to the closure `undelivered`; tasks that
        /// wait for room get ``SendResult/closed``, the modes lose the channel, and the sequence ends. The second time
        /// it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func close() { core.close() }

        /// Whether elements are accepted: false from ``finish()``, ``close()`` or the end of the loop on.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isOpen: Bool { core.isOpen }

        /// What the program calls the channel, for people who read a ``Trace``, a stall monitor's report or a loop's
        /// `description`, where it stands at the ``Source`` by which the channel is in its modes. Nil: it has no label,
        /// as at first. Any text is one, the empty text too; it is kept whole, and shown on one line, 120 characters of
        /// it at most. It can be set at any time, also once the channel is closed.
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

        /// How many elements wait to be taken by the loop. It may have changed when this returns. Threads: any. The
        /// corresponding GLib function is `g_async_queue_length`.
        public var count: Int { core.waiting }
    }
}

extension ChannelCore {
    /// The source that receives is called what the channel is called. Who changes it last has it right, whichever of
    /// several threads that is.
    func passOnLabel() {
        guard Labels.isInUse, !Fork.isChild, let source = lock.withLock({ guarded.source }) else { return }
        while true {
            let text = Labels.of(self)
            Labels.set(text, of: source)
            if Labels.of(self) == text { return }
        }
    }
}
