// SPDX-License-Identifier: Apache-2.0
// A connection to a message bus, or to one peer.

public import CGRunGIO
import GRunLoop

extension DBus {
    /// A connection to a message bus, or to one peer.
    ///
    /// The end of the connection ends everything that waits for it, with a ``GLibError``. Calls, signals, names and
    /// proxies end, and the tasks of exported methods are cancelled. GLib reports the end on the loop on which the
    /// connection was made. So make a connection on a loop that lives as long as the connection, such as the main loop.
    ///
    /// Releasing the last reference closes the connection, unless C code uses the connection, too.
    ///
    /// Threads: any, unless a function says otherwise. The corresponding GLib type is `GDBusConnection`.
    public final class Connection: Sendable {
        /// The object, a `GDBusConnection`, for functions of C. Threads: any.
        public nonisolated(unsafe) let object: OpaquePointer

        let state = ConnectionState()
        private let closedHandler: gulong

        /// Uses a connection of C code, for example of `g_application_get_dbus_connection`.
        ///
        /// The connection of a `GApplication` ends the process when the bus ends. To change this, call
        /// `g_dbus_connection_set_exit_on_close`.
        ///
        /// Threads: any.
        public convenience init(wrapping object: OpaquePointer) {
            g_object_ref(UnsafeMutableRawPointer(object))
            self.init(full: object)
        }

        private init(full object: OpaquePointer) {
            self.object = object
            closedHandler = g_signal_connect_data(
                UnsafeMutableRawPointer(object), "closed", unsafeBitCast(connectionHasClosed, to: GCallback.self),
                Unmanaged.passRetained(state).toOpaque(),
                { data, _ in data.map { Unmanaged<ConnectionState>.fromOpaque($0).release() } },
                GConnectFlags(rawValue: 0))
            if isClosed { state.close(nil) }
        }

        deinit {
            g_signal_handler_disconnect(UnsafeMutableRawPointer(object), closedHandler)
            g_object_unref(UnsafeMutableRawPointer(object))
        }

        // MARK: Making a connection

        /// Makes a new connection to the session bus of the user.
        ///
        /// Each call makes a connection, so keep the connection. To share the connection of a GTK application, use
        /// ``init(wrapping:)``. The connection does not end the process when the bus ends.
        ///
        /// - Throws: a ``GLibError`` if there is no session bus; errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_get`, which shares its result.
        public static func session(isolation: isolated (any Actor)? = #isolation) async throws -> Connection {
            try await bus(G_BUS_TYPE_SESSION)
        }

        /// Makes a new connection to the bus of the system.
        ///
        /// - Throws: like ``session(isolation:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_get`, which shares its result.
        public static func system(isolation: isolated (any Actor)? = #isolation) async throws -> Connection {
            try await bus(G_BUS_TYPE_SYSTEM)
        }

        private static func bus(_ kind: GBusType, isolation: isolated (any Actor)? = #isolation) async throws
            -> Connection
        {
            let address = try GLibError.check { g_dbus_address_get_for_bus_sync(kind, nil, $0) }
            defer { g_free(address) }
            return try await connect(to: address.map { String(cString: $0) } ?? "")
        }

        /// Makes a connection to a server.
        ///
        /// - Parameters:
        ///   - address: an address of D-Bus's, such as `unix:path=/run/user/1000/bus`.
        ///   - isBus: whether the server is a message bus. False for a peer.
        ///   - isolation: the caller's actor; do not pass it.
        /// - Throws: a ``GLibError`` if the server cannot be reached, or refuses the connection; errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_new_for_address`.
        public static func connect(
            to address: String, isBus: Bool = true, isolation: isolated (any Actor)? = #isolation
        ) async throws -> Connection {
            if address.containsNUL { throw GLibError(.invalidArgument, "'\(address.shown)' contains a NUL") }
            let flags = GDBusConnectionFlags(
                rawValue: cglib_dbus_connection_client.rawValue | (isBus ? cglib_dbus_connection_bus.rawValue : 0))
            return try made(
                try await GIO.call {
                    g_dbus_connection_new_for_address(address, flags, nil, $0, $1, $2)
                } finish: {
                    GRef(full: g_dbus_connection_new_for_address_finish($1, $2))
                })
        }

        /// Makes a connection to one peer, over a stream such as a socket. No message bus is needed.
        ///
        /// - Parameters:
        ///   - stream: the stream. The connection keeps a reference to it.
        ///   - isServer: true on one side, which authenticates the other side, and false on the other side.
        ///   - isolation: the caller's actor; do not pass it.
        /// - Throws: a ``GLibError`` if the peer closes the stream or the authentication fails; errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_new`.
        public static func peer(
            over stream: UnsafeMutablePointer<GIOStream>, isServer: Bool,
            isolation: isolated (any Actor)? = #isolation
        ) async throws -> Connection {
            let guid = isServer ? g_dbus_generate_guid() : nil
            defer { g_free(guid) }
            let flags = isServer ? cglib_dbus_connection_server : cglib_dbus_connection_client
            return try made(
                try await GIO.call {
                    g_dbus_connection_new(stream, guid, flags, nil, $0, $1, $2)
                } finish: {
                    GRef(full: g_dbus_connection_new_finish($1, $2))
                })
        }

        private static func made(_ object: GRef<OpaquePointer>?) throws(GLibError) -> Connection {
            guard let object else { throw GLibError(.failed, "GLib made no connection") }
            return withExtendedLifetime(object) { Connection(wrapping: object.pointer) }
        }

        // MARK: State

        /// The name that the bus gave the connection, such as `:1.42`; nil without a bus.
        ///
        /// Threads: any. The corresponding GLib function is `g_dbus_connection_get_unique_name`.
        public var uniqueName: String? { g_dbus_connection_get_unique_name(object).map { String(cString: $0) } }

        /// Whether the connection has ended. Threads: any. The corresponding GLib function is
        /// `g_dbus_connection_is_closed`.
        public var isClosed: Bool {
            // GLib may not know yet that close() has returned.
            g_dbus_connection_is_closed(object) != 0 || state.isClosed
        }

        /// Waits until the connection ends.
        ///
        /// - Returns: the error that ended the connection; nil if this process has closed the connection.
        /// - Throws: `CancellationError` if the task is cancelled; `GRunLoop.LoopEndedError` if the loop ends.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib signal is `GDBusConnection::closed`.
        public func untilClosed(isolation: isolated (any Actor)? = #isolation) async throws -> GLibError? {
            let events: Events<Never> = try makeEvents(capacity: 1)
            do { _ = try await events.next() } catch is GLibError {}
            return state.reason
        }

        /// Sends what is queued, and closes the connection. If the connection has ended, does nothing. If the task is
        /// cancelled, ends the connection without sending what is queued.
        ///
        /// - Throws: a ``GLibError`` if the other side is gone; errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib functions are `g_dbus_connection_flush` and
        /// `g_dbus_connection_close`.
        public func close(isolation: isolated (any Actor)? = #isolation) async throws {
            if isClosed { return }
            do {
                try await withTaskCancellationHandler {
                    try await flushAndClose(isolation: isolation)
                } onCancel: {
                    shutDown()
                }
            } catch {
                try Task.checkCancellation()
                throw error
            }
            state.close(nil)
            try Task.checkCancellation()
        }

        private func flushAndClose(isolation: isolated (any Actor)?) async throws {
            try await GIO.callToTheEnd(keeping: self) {
                g_dbus_connection_flush(object, nil, $0, $1)
            } finish: {
                _ = g_dbus_connection_flush_finish(object, $1, $2)
            }
            try await GIO.callToTheEnd(keeping: self) {
                g_dbus_connection_close(object, nil, $0, $1)
            } finish: {
                _ = g_dbus_connection_close_finish(object, $1, $2)
            }
        }

        /// Ends the connection without sending what is queued. GLib does not cancel a flush, and a peer that does not
        /// read would prevent its end.
        private func shutDown() {
            guard let stream = UnsafeMutableRawPointer(g_dbus_connection_get_stream(object)),
                g_type_check_instance_is_a(
                    stream.assumingMemoryBound(to: GTypeInstance.self), g_socket_connection_get_type()) != 0
            else { return }
            let connection = stream.assumingMemoryBound(to: GSocketConnection.self)
            g_socket_shutdown(g_socket_connection_get_socket(connection), 1, 1, nil)
        }
    }
}

private let connectionHasClosed: @convention(c) (OpaquePointer, gboolean, UnsafePointer<GError>?, gpointer) -> Void = {
    _, _, error, data in
    let state = Unmanaged<ConnectionState>.fromOpaque(data).takeUnretainedValue()
    state.close(error.flatMap { g_error_copy($0) }.map { GLibError(consuming: $0) })
}
