// SPDX-License-Identifier: Apache-2.0
// Makes connections.

public import CGRunGIO
import GRunLoop

extension DBus.Connection {
    /// Makes a new connection to the session bus of the user.
    ///
    /// Each call makes a connection, so keep the connection. To share the connection of a GTK application, use
    /// ``init(retaining:)``. The connection does not end the process when the bus ends.
    ///
    /// - Throws: a ``GLibError`` if there is no session bus; errors of
    ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_get`, which shares its result.
    public static func session(isolation: isolated (any Actor)? = #isolation) async throws -> DBus.Connection {
        try await bus(G_BUS_TYPE_SESSION)
    }

    /// Makes a new connection to the bus of the system.
    ///
    /// - Throws: like ``session(isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_bus_get`, which shares its result.
    public static func system(isolation: isolated (any Actor)? = #isolation) async throws -> DBus.Connection {
        try await bus(G_BUS_TYPE_SYSTEM)
    }

    private static func bus(_ kind: GBusType, isolation: isolated (any Actor)? = #isolation) async throws
        -> DBus.Connection
    {
        // Without an address in the environment, GLib starts a program that prints the address.
        let address = try await GIO.onPool { cancellable, error in
            takeText(g_dbus_address_get_for_bus_sync(kind, cancellable, error))
        }
        return try await connect(to: address)
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
    ) async throws -> DBus.Connection {
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
    ///   - timeout: how long the authentication may take. A thread of GIO's pool waits for it, so ten silent peers can
    ///     delay other work of the pool for this time. Zero and negative times end in the loop's next pass.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: a ``GLibError`` if the peer closes the stream or the authentication fails; ``GIO/ErrorCode/timedOut``;
    ///   errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_new`.
    public static func peer(
        over stream: UnsafeMutablePointer<GIOStream>, isServer: Bool, timeout: Duration = .seconds(30),
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.Connection {
        // The closure has a reference, because the loop may be calling it when this function ends.
        let cancellable: UnsafeMutablePointer<GCancellable> = g_cancellable_new()
        nonisolated(unsafe) let limit = GRef(full: cancellable)
        let timer = try GIO.callersLoop().perform(after: timeout, inModes: [.common]) {
            g_cancellable_cancel(limit.pointer)
        }
        defer { timer.cancel() }
        let guid = isServer ? g_dbus_generate_guid() : nil
        defer { g_free(guid) }
        let flags = isServer ? cglib_dbus_connection_server : cglib_dbus_connection_client
        do {
            return try made(
                try await GIO.call(cancellable: limit.pointer) {
                    g_dbus_connection_new(stream, guid, flags, nil, $0, $1, $2)
                } finish: {
                    GRef(full: g_dbus_connection_new_finish($1, $2))
                })
        } catch is CancellationError where !Task.isCancelled {
            throw GLibError(.timedOut, "The peer did not authenticate in time")
        }
    }

    /// Makes a connection to one peer, over a connected socket. No message bus is needed.
    ///
    /// - Parameters:
    ///   - descriptor: the file descriptor of the socket. The connection takes the descriptor over, and closes it.
    ///     If the function throws an error, the descriptor is closed, too.
    ///   - isServer: true on one side, which authenticates the other side, and false on the other side.
    ///   - timeout: how long the authentication may take. A thread of GIO's pool waits for it, so ten silent peers can
    ///     delay other work of the pool for this time. Zero and negative times end in the loop's next pass.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: a ``GLibError`` if the descriptor is not a socket; the errors of
    ///   ``peer(over:isServer:timeout:isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib functions are `g_socket_new_from_fd` and
    /// `g_dbus_connection_new`.
    public static func peer(
        overSocket descriptor: Int32, isServer: Bool, timeout: Duration = .seconds(30),
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.Connection {
        // After an error, GLib closes the descriptor, although its documentation says that the caller does.
        let socket = try GLibError.check { g_socket_new_from_fd(descriptor, $0) }
        defer { socket.map { g_object_unref($0) } }
        let stream = GRef(full: g_socket_connection_factory_create_connection(socket))
        guard let stream else { throw GLibError(.failed, "GLib made no stream") }
        return try await peer(
            over: UnsafeMutableRawPointer(stream.pointer).assumingMemoryBound(to: GIOStream.self),
            isServer: isServer, timeout: timeout)
    }

    private static func made(_ object: GRef<OpaquePointer>?) throws(GLibError) -> DBus.Connection {
        guard let object else { throw GLibError(.failed, "GLib made no connection") }
        return withExtendedLifetime(object) { DBus.Connection(retaining: object.pointer) }
    }
}
