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

    /// A name on the bus that this program owns, or waits for. Releasing the object releases the name, so keep it.
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
        /// Each change, from the first time on that this program gets the name. One task may iterate. Up to 64 changes
        /// are buffered. Threads: any.
        public let changes: Events<Change>

        private let connection: Connection
        private let ownership = Ownership()

        private final class Ownership: Sendable {
            let isOwned = Atomic(false)
            let isReleased = Atomic(false)
        }

        fileprivate init(_ name: String, on connection: Connection) throws {
            (self.name, self.connection) = (name, connection)
            // The bus sends these signals to the owner alone, without a match rule.
            let match = SignalMatch(
                sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", path: "/org/freedesktop/DBus",
                argument0: name, flags: cglib_dbus_signal_no_match_rule)
            changes = try connection.events(match, capacity: 64) { [ownership] signal -> Change? in
                guard signal.member == "NameAcquired" || signal.member == "NameLost" else { return nil }
                let isOwned = signal.member == "NameAcquired"
                // An earlier object of the same name may have lost it.
                guard ownership.isOwned.exchange(isOwned, ordering: .relaxed) != isOwned else { return nil }
                return isOwned ? .acquired : .lost
            }
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
        public func release() {
            guard !ownership.isReleased.exchange(true, ordering: .relaxed) else { return }
            changes.buffer.close()
            guard let body = try? VariantTuple(name).encoded(), !connection.isClosed else { return }
            body.withPointer {
                g_dbus_connection_call(
                    connection.object, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
                    "ReleaseName", $0, nil, cglib_dbus_call_none, -1, nil, nil, nil)
            }
        }

        fileprivate func request(_ options: NameOptions, isolation: isolated (any Actor)? = #isolation) async throws {
            let reply = try await connection.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName",
                body: VariantTuple(name, options.rawValue).encoded(), expecting: "(u)"
            ) { [ownership, buffer = changes.buffer] body in
                let answer = try? body?[0].value(as: UInt32.self)
                guard answer == 1 || answer == 4, !ownership.isOwned.exchange(true, ordering: .relaxed) else { return }
                buffer.push(.acquired)
            }
            if try reply.body[0].value(as: UInt32.self) == 3 {
                throw GLibError(.exists, "Another program owns the name '\(name)'")
            }
        }
    }
}

extension DBus.Connection {
    /// Requests a name on the bus. Export the objects of the name before, because calls may come immediately.
    ///
    /// Request a name once on a connection. If two objects have the same name, the release of either releases the name.
    ///
    /// - Parameters:
    ///   - name: the name, such as `org.example.Files`.
    ///   - options: what happens if another program owns the name, or wants it.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Returns: the name, which this program owns, or waits for: see ``DBus/OwnedName/isOwned``.
    /// - Throws: a ``GLibError``: ``GIO/ErrorCode/exists`` if another program owns the name, and
    ///   ``DBus/NameOptions/doNotQueue`` was given; an error of the bus, which may forbid the name. Errors of
    ///   ``call(_:_:_:_:_:returning:timeout:options:isolation:)``.
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
