// SPDX-License-Identifier: Apache-2.0
// A name on the bus that this program owns.

import CGRunGIO
import GRunLoop
import Synchronization

extension DBus {
    /// How a name is requested.
    public struct NameOptions: OptionSet, Sendable {
        /// The flags of D-Bus.
        public let rawValue: UInt32
        /// Creates a set from D-Bus's flags.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Another program may take the name, if it asks for ``replace``.
        public static let allowReplacement = NameOptions(rawValue: 1)
        /// Takes the name from its owner, if the owner allows it.
        public static let replace = NameOptions(rawValue: 2)
        /// If another program owns the name, throws an error instead of waiting for the name.
        public static let doNotQueue = NameOptions(rawValue: 4)
    }

    /// A name on the bus that this program owns, or waits for. Releasing the object releases the name, so keep it. The
    /// end of the loop on which the name was requested also releases the name, and its sequences throw
    /// `GRunLoop.LoopEndedError`.
    ///
    /// Threads: any. The corresponding GLib function is `g_bus_own_name_on_connection`.
    public final class OwnedName: Sendable {
        /// A change of the owner.
        public enum Change: Sendable {
            /// This program owns the name now.
            case acquired
            /// This program does not own the name any more.
            case lost
        }

        /// The name. Threads: any.
        public let name: String
        /// The latest change, if there was one, and the later changes. Each call returns a sequence of its own, which
        /// buffers up to 64 changes. Threads: any.
        public var changes: Events<Change> { broadcast.makeEvents() }

        private let broadcast: Broadcast<Change>
        private let connection: Connection
        private let ownership = Ownership()
        private let ending = Guarded<GRunLoop.EndHandler?>(nil)

        private final class Ownership: Sendable {
            let isOwned = Atomic(false)
            let isReleased = Atomic(false)
        }

        fileprivate init(_ name: String, on connection: Connection) throws {
            (self.name, self.connection) = (name, connection)
            broadcast = try Broadcast(on: connection, capacity: 64, beginsWithLatest: true)
            guard connection.state.names.withLock({ $0.insert(name).inserted }) else {
                // The name belongs to another object, so `deinit` must not release the name.
                ownership.isReleased.store(true, ordering: .relaxed)
                throw GLibError(.exists, "The connection has requested the name '\(name)' already")
            }
            // The bus sends these signals to the owner alone, without a match rule.
            var match = SignalMatch(about: name)
            match.flags = cglib_dbus_signal_no_match_rule
            try broadcast.follow(match) { [ownership] signal in
                guard signal.member == "NameAcquired" || signal.member == "NameLost" else { return [] }
                let isOwned = signal.member == "NameAcquired"
                // An earlier object of the same name may have lost it.
                guard ownership.isOwned.exchange(isOwned, ordering: .relaxed) != isOwned else { return [] }
                return [isOwned ? .acquired : .lost]
            }
            let handler = try broadcast.delivery.loop.addEndHandler { [weak self] in self?.release(atLoopEnd: true) }
            ending.withLock { $0 = handler }
        }

        deinit { release() }

        /// Whether this program owns the name now. Threads: any.
        public var isOwned: Bool {
            ownership.isOwned.load(ordering: .relaxed) && !ownership.isReleased.load(ordering: .relaxed)
                && !connection.isClosed
        }

        /// Releases the name. Only the first call has an effect.
        ///
        /// The function does not wait. The bus handles it before later messages of this connection. Threads: any. The
        /// corresponding GLib function is `g_bus_unown_name`.
        public func release() { release(atLoopEnd: false) }

        private func release(atLoopEnd: Bool) {
            guard !ownership.isReleased.exchange(true, ordering: .relaxed) else { return }
            defer { connection.state.names.withLock { _ = $0.remove(name) } }
            // Otherwise the end of the loop ends the sequences, with an error.
            if !atLoopEnd { broadcast.close() }
            ending.withLock { $0.take() }?.cancel()
            guard let body = try? VariantTuple(name).encoded(), !connection.isClosed else { return }
            body.withPointer {
                g_dbus_connection_call(
                    connection.pointer, MessageBus.name, MessageBus.path.description, MessageBus.interface,
                    "ReleaseName", $0, nil, cglib_dbus_call_none, -1, nil, nil, nil)
            }
        }

        fileprivate func request(_ options: NameOptions, isolation: isolated (any Actor)? = #isolation) async throws {
            let body = try VariantTuple(name, options.rawValue).encoded()
            let answer = try await connection.callBus("RequestName", body, returning: UInt32.self) {
                [ownership, broadcast] answer in
                guard answer == 1 || answer == 4, !ownership.isOwned.exchange(true, ordering: .relaxed) else { return }
                broadcast.send(.acquired)
            }
            if answer == 3 {
                throw GLibError(.exists, "Another program owns the name '\(name)'")
            }
        }
    }
}

extension DBus.Connection {
    /// Requests a name on the bus. Export the objects of the name before, because calls may come immediately.
    ///
    /// - Parameters:
    ///   - name: the name, such as `org.example.Files`.
    ///   - options: what happens if another program owns the name, or wants it.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Returns: the name, which this program owns, or waits for: see ``DBus/OwnedName/isOwned``.
    /// - Throws: ``GIO/ErrorCode/exists`` if this connection has an ``DBus/OwnedName`` of the name; with
    ///   ``DBus/NameOptions/doNotQueue``, also if another program owns the name. A ``GLibError`` of the bus, which may
    ///   forbid the name. Errors of ``call(_:_:_:_:_:returning:timeout:options:isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_own_name_on_connection`.
    public func own(
        _ name: String, options: DBus.NameOptions = [], isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.OwnedName {
        try DBus.check(name, .bus)
        try requireBus()
        let owned = try DBus.OwnedName(name, on: self)
        // If this fails, the release of `owned` takes the request back.
        try await owned.request(options)
        return owned
    }
}
