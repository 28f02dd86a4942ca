// SPDX-License-Identifier: Apache-2.0
// Events of a connection as an AsyncSequence, with a bounded buffer.

import CGRunGIO
import GRunLoop

extension DBus {
    /// Events of a connection, such as signals, for `for try await`.
    ///
    /// The events are collected from the call that returns the sequence on. If the buffer is full, the oldest event is
    /// dropped, and ``droppedCount`` counts it. Ending the iteration, or releasing the sequence, cancels the
    /// subscription. One task may iterate, once.
    ///
    /// Threads: any, one task at a time. Events, and then the end of the connection, come while the loop runs on which
    /// the sequence was made.
    public struct Events<Element: Sendable>: AsyncSequence, Sendable {
        let buffer: EventBuffer<Element>
        private let owner: Owner

        /// Closes the buffer when the sequence and its iterators are released.
        fileprivate final class Owner: Sendable {
            let close: @Sendable () -> Void
            init(_ close: @escaping @Sendable () -> Void) { self.close = close }
            deinit { close() }
        }

        init(on delivery: Delivery, capacity: Int) {
            let buffer = EventBuffer<Element>(on: delivery, capacity: capacity)
            self.buffer = buffer
            owner = Owner { buffer.close() }
        }

        /// The number of events that were dropped until now, because the buffer was full. Threads: any.
        public var droppedCount: Int { buffer.droppedCount }

        /// Returns the iterator. Threads: any.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: self, owner: Owner { [buffer] in buffer.close() })
        }

        func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? { try await buffer.next() }

        /// The iterator over the events.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let events: Events
            fileprivate let owner: Owner

            /// Waits for the next event. If an event is in the buffer, the task is not suspended.
            ///
            /// - Returns: the event; nil after an error was thrown.
            /// - Throws: a ``GLibError`` if the connection has ended, and the buffer is empty; `CancellationError` if
            ///   the task is cancelled; `GRunLoop.LoopEndedError` if the loop has ended.
            ///
            /// Threads: any, one task at a time.
            nonisolated(nonsending) public mutating func next() async throws -> Element? {
                try await events.next(isolation: #isolation)
            }

            /// Waits for the next event, as ``next()`` does; called by `for try await`.
            ///
            /// - Throws: the errors of ``next()``.
            ///
            /// Threads: any, one task at a time.
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
                try await events.next(isolation: actor)
            }
        }
    }
}

extension ConnectionState {
    /// Ends a buffer with the connection. `closed` is called when the buffer is closed, even if it is closed already.
    func add<Element>(_ buffer: EventBuffer<Element>, closed: @escaping @Sendable () -> Void = {}) {
        add(buffer)
        buffer.onClose { [self] in
            remove(buffer)
            closed()
        }
    }
}

/// Elements that a loop pushes and one task takes.
final class EventBuffer<Element: Sendable>: Invalidatable, ConnectionWaiter, Sendable {
    fileprivate struct State {
        /// A ring: `count` elements from `start` on.
        var ring: [Element?] = []
        var start = 0
        var count = 0
        var droppedCount = 0
        var failure: GLibError?
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
    }

    private let delivery: DBus.Delivery
    private let capacity: Int
    private let state = Guarded(State())
    /// Wakes the task, and notices the end of the loop and of the task.
    private let mailbox: Mailbox<Void>

    /// - Parameter capacity: less than one counts as one.
    init(on delivery: DBus.Delivery, capacity: Int) {
        (self.delivery, self.capacity) = (delivery, max(capacity, 1))
        mailbox = Mailbox(of: delivery.loop) { _, _ in }
        mailbox.open(for: self)
    }

    var droppedCount: Int { state.withLock { $0.droppedCount } }

    /// Sets the closure that cancels the subscription. If the buffer is closed, calls the closure instead.
    func onClose(_ body: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.onClose = body }
            return state.isClosed
        }
        if isClosed { body() }
    }

    func push(_ element: Element) {
        // The dropped element is released after unlocking.
        let dropped = state.withLock { state -> Element? in
            guard !state.isClosed, state.failure == nil else { return nil }
            return state.append(element, capacity)
        }
        withExtendedLifetime(dropped) { mailbox.send(()) }
    }

    /// Ends the sequence after the elements that GLib has queued for the loop.
    func connectionHasClosed(_ error: GLibError) {
        // An ended loop never runs the closure.
        if state.withLock({ $0.isClosed }) { return }
        // Weak, because GLib keeps this closure with the context, which the buffer keeps.
        let end = ConnectionEnd { [weak self] in
            guard let self else { return }
            state.withLock { $0.failure = error }
            mailbox.send(())
        }
        callInLoop(of: delivery.context, priority: G_PRIORITY_DEFAULT, end, { _ in 0 }) { data in
            data.map { Unmanaged<ConnectionEnd>.fromOpaque($0).takeRetainedValue().body() }
        }
    }

    func close() { mailbox.close(.done) }

    /// Called by the mailbox when it is closed.
    func invalidate() {
        let (body, elements) = state.withLock { state in
            state.isClosed = true
            // Another thread may be about to take an element.
            defer { (state.ring, state.start, state.count) = ([], 0, 0) }
            return (state.onClose.take(), state.ring)
        }
        withExtendedLifetime(elements) { body?() }
    }

    func next(isolation: isolated (any Actor)? = #isolation) async throws -> Element? {
        while true {
            if Task.isCancelled { mailbox.close(.cancelled) }
            switch mailbox.reason {
            case .cancelled?: throw CancellationError()
            case .loopEnded?: throw GRunLoop.LoopEndedError()
            case .done?: return nil
            case nil: break
            }
            let (element, failure) = state.withLock { ($0.takeFirst(), $0.failure) }
            if let element { return element }
            if let failure {
                close()
                throw failure
            }
            await mailbox.next(isolation: isolation)
        }
    }
}

/// Ends a buffer on the loop's thread.
private final class ConnectionEnd: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

extension EventBuffer.State {
    /// Appends an element, and returns the element that is dropped for it.
    fileprivate mutating func append(_ element: Element, _ capacity: Int) -> Element? {
        if count == ring.count, count < capacity { grow(to: Swift.min(capacity, Swift.max(8, count * 2))) }
        var dropped: Element?
        if count == ring.count {
            dropped = takeFirst()
            droppedCount += 1
        }
        ring[(start + count) % ring.count] = element
        count += 1
        return dropped
    }

    fileprivate mutating func takeFirst() -> Element? {
        guard count > 0 else { return nil }
        defer { (start, count) = ((start + 1) % ring.count, count - 1) }
        return ring[start].take()
    }

    private mutating func grow(to size: Int) {
        ring = (0..<count).map { ring[(start + $0) % ring.count] } + Array(repeating: nil, count: size - count)
        start = 0
    }
}
