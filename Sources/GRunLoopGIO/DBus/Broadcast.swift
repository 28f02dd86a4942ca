// SPDX-License-Identifier: Apache-2.0
// Makes events of signals, for several sequences.

import GRunLoop

/// Makes events of signals, and sends each event to all sequences.
///
/// A sequence keeps the object, and so the subscriptions.
final class Broadcast<Element: Sendable>: Sendable {
    private struct State {
        var subscriptions: [DBus.Events<Never>] = []
        var buffers: [ObjectIdentifier: EventBuffer<Element>] = [:]
        var latest: Element?
        var isClosed = false
    }

    private let connection: DBus.Connection
    let delivery: DBus.Delivery
    private let capacity: Int
    private let beginsWithLatest: Bool
    private let state = Guarded(State())

    /// - Parameters:
    ///   - connection: the connection, whose end ends the sequences.
    ///   - capacity: how many events each sequence buffers.
    ///   - beginsWithLatest: whether a new sequence begins with the latest event.
    /// - Throws: ``GIO/WrongThreadError`` if the thread runs no loop.
    init(on connection: DBus.Connection, capacity: Int, beginsWithLatest: Bool = false) throws(GIO.WrongThreadError) {
        delivery = try DBus.Delivery()
        (self.connection, self.capacity, self.beginsWithLatest) = (connection, capacity, beginsWithLatest)
    }

    /// Subscribes to signals. `events` makes events of a signal, and is called on the loop's thread.
    func follow(
        _ match: DBus.SignalMatch, _ events: @escaping @Sendable (DBus.Signal) -> [Element]
    ) throws {
        let subscription: DBus.Events<Never> = try connection.events(match, capacity: 1) { [weak self] signal in
            for event in events(signal) { self?.send(event) }
            return nil
        }
        state.withLock { $0.subscriptions.append(subscription) }
    }

    /// Called on the loop's thread only, so all sequences have the same order.
    func send(_ event: Element) {
        let buffers = state.withLock { state in
            if beginsWithLatest { state.latest = event }
            return Array(state.buffers.values)
        }
        for buffer in buffers { buffer.push(event) }
    }

    /// Calls a method. `received` gets the results, in the order of the signals, on the loop's thread.
    ///
    /// If that loop has ended, no more signals come, and `received` is called on the caller's loop.
    func call(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String, _ member: String, body: Variant?,
        expecting signature: String, isolation: isolated (any Actor)? = #isolation,
        received: @escaping @Sendable (Variant?) -> Void
    ) async throws -> DBus.Reply {
        let callersLoop = try GIO.callersLoop()
        @Sendable func send(isolation: isolated (any Actor)? = #isolation) async throws -> DBus.Reply {
            try await connection.call(
                destination, path, interface, member, body: body, expecting: signature, received: received)
        }
        if callersLoop === delivery.loop { return try await send() }
        let task = Task(executorPreference: delivery.loop.executor) { try await send() }
        do {
            return try await withTaskCancellationHandler {
                // This capture keeps the closure on the caller's executor.
                _ = isolation
                return try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch let error where error is GIO.WrongThreadError || error is GRunLoop.LoopEndedError {
            return try await send()
        }
    }

    /// Makes a sequence. Threads: any.
    func makeEvents() -> DBus.Events<Element> {
        let events = DBus.Events<Element>(on: delivery, capacity: capacity)
        let (buffer, id) = (events.buffer, ObjectIdentifier(events.buffer))
        let isClosed = state.withLock { state in
            if let latest = state.latest { buffer.push(latest) }
            if !state.isClosed { state.buffers[id] = buffer }
            return state.isClosed
        }
        if isClosed { buffer.close() }
        // The loop may have ended, so the buffer is removed here.
        connection.state.add(buffer) { [self] in
            // The removed reference is released after unlocking.
            _ = state.withLock { $0.buffers.removeValue(forKey: id) }
        }
        return events
    }

    /// Ends the subscriptions and all sequences. Threads: any.
    func close() {
        let (subscriptions, buffers) = state.withLock { state in
            state.isClosed = true
            defer { state.subscriptions = [] }
            return (state.subscriptions, Array(state.buffers.values))
        }
        withExtendedLifetime(subscriptions) { for buffer in buffers { buffer.close() } }
    }
}
