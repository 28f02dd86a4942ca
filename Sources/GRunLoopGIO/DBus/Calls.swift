// SPDX-License-Identifier: Apache-2.0
// Calls of methods.

import CGRunGIO
import GRunLoop

extension DBus {
    /// How a method is called.
    public struct CallOptions: OptionSet, Sendable {
        /// The flags of GLib.
        public let rawValue: UInt32
        /// Creates a set from GLib's flags.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The bus does not start a service for the call.
        public static let noAutoStart = CallOptions(rawValue: cglib_dbus_call_no_auto_start.rawValue)
        /// The service may ask the user for a password or a permission.
        public static let allowInteractiveAuthorization = CallOptions(rawValue: cglib_dbus_call_interactive.rawValue)
    }

    /// The reply to a call.
    public struct Reply: Sendable {
        /// The results, which are a tuple.
        public let body: Variant
        /// The file descriptors of the message; nil if there are none.
        public let descriptors: Descriptors?
    }
}

extension DBus.Connection {
    /// Calls a method, and returns its results.
    ///
    /// ```swift
    /// let owner = try await bus.call(
    ///     "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetNameOwner",
    ///     "org.example.Files", returning: String.self)
    /// ```
    ///
    /// - Parameters:
    ///   - destination: the name of the called program; nil without a bus.
    ///   - path: the called object.
    ///   - interface: the interface of the method.
    ///   - member: the name of the method.
    ///   - argument: the arguments.
    ///   - result: the types of the results. Leave it out if the method has no result.
    ///   - timeout: how long to wait for the reply. Nil means 25 seconds. Zero and negative times have passed already.
    ///     Times of more than 24 days mean forever.
    ///   - options: how the method is called.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Returns: the results: nothing, a value, or a tuple.
    /// - Throws:
    ///   - a ``GLibError``: the error of the method, with its ``GLibError/dbusName``;
    ///   - ``GIO/ErrorCode/timedOut``;
    ///   - ``GIO/ErrorCode/closed`` if the connection ends;
    ///   - ``GIO/ErrorCode/invalidArgument`` if a name is not valid, D-Bus does not allow the arguments, or the results
    ///     have other types. An array has at most 64 MiB, and at most 64 values are nested;
    ///   - `G_DBUS_ERROR_LIMITS_EXCEEDED` if the arguments have more than 128 MiB;
    ///   - ``VariantError`` if an argument contains a string that D-Bus does not allow;
    ///   - errors of ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
    ///
    /// Cancelling the task ends the call without a reply. The service does not learn of it.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_call`.
    public func call<each Argument: VariantValue, each Result: VariantValue>(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String, _ member: String,
        _ argument: repeat each Argument, returning result: repeat (each Result).Type, timeout: Duration? = nil,
        options: DBus.CallOptions = [], isolation: isolated (any Actor)? = #isolation
    ) async throws -> (repeat each Result) {
        let reply = try await call(
            destination, path, interface, member, body: VariantTuple(repeat each argument).encoded(),
            expecting: VariantTuple<repeat each Result>.signature, timeout: timeout, options: options)
        return try VariantTuple<repeat each Result>(variant: reply.body).values
    }

    /// Calls a method with arguments, results and file descriptors whose types are known only at run time.
    ///
    /// - Parameters:
    ///   - destination: the name of the called program; nil without a bus.
    ///   - path: the called object.
    ///   - interface: the interface of the method.
    ///   - member: the name of the method.
    ///   - body: the arguments, a ``VariantTuple``; nil if there are none.
    ///   - descriptors: the file descriptors, which the arguments name by their handles; nil if there are none. A
    ///     message has at most 253. Over a bus it has at most 16, unless the bus is configured otherwise: the bus
    ///     closes the connection of a program that sends more.
    ///   - signature: the type of the result, such as `(sa{sv})`; nil if any result is right.
    ///   - timeout: how long to wait for the reply. Nil means 25 seconds. Zero and negative times have passed already.
    ///     Times of more than 24 days mean forever.
    ///   - options: how the method is called.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: like the other `call` function.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is
    /// `g_dbus_connection_call_with_unix_fd_list`.
    public func call(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String, _ member: String, body: Variant?,
        descriptors: DBus.Descriptors? = nil, expecting signature: String? = nil, timeout: Duration? = nil,
        options: DBus.CallOptions = [], isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.Reply {
        try await call(
            destination, path, interface, member, body: body, descriptors: descriptors, expecting: signature,
            timeout: timeout, options: options
        ) { _ in }
    }

    /// Calls a method without waiting for a reply. The service is told not to send a reply. If this program leaves the
    /// bus before the method ends, a service that uses this library cancels the method.
    ///
    /// - Parameters:
    ///   - destination: the name of the called program; nil without a bus.
    ///   - path: the called object.
    ///   - interface: the interface of the method.
    ///   - member: the name of the method.
    ///   - argument: the arguments.
    ///   - options: how the method is called.
    /// - Throws: a ``GLibError`` if a name or an argument is not valid, or the connection has ended; ``VariantError``
    ///   if an argument contains a string that D-Bus does not allow. An error of the method is not reported.
    ///
    /// Threads: any. The corresponding GLib function is `g_dbus_connection_call` without a callback.
    public func send<each Argument: VariantValue>(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String, _ member: String,
        _ argument: repeat each Argument, options: DBus.CallOptions = []
    ) throws {
        let body = try VariantTuple(repeat each argument).encoded()
        try DBus.check(destination, .bus)
        try DBus.check(path)
        try DBus.check(interface, .interface)
        try DBus.check(member, .member)
        try DBus.check(body: body, on: self)
        if isClosed { throw GLibError(.closed, "The connection is closed") }
        body.withPointer {
            g_dbus_connection_call(
                pointer, destination, path.description, interface, member, $0, nil,
                GDBusCallFlags(rawValue: options.rawValue), -1, nil, nil, nil)
        }
    }

    /// Calls a method. A closure gets the results first, on the loop's thread, or nil if there is an error.
    ///
    /// The closure is called in the order of the messages. When the task continues, the signals that came after the
    /// answer may have been delivered already.
    func call(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String, _ member: String, body: Variant?,
        descriptors: DBus.Descriptors? = nil, expecting signature: String?, timeout: Duration? = nil,
        options: DBus.CallOptions = [], isolation: isolated (any Actor)? = #isolation,
        received: @escaping @Sendable (Variant?) -> Void
    ) async throws -> DBus.Reply {
        try DBus.check(destination, .bus)
        try DBus.check(path)
        try DBus.check(interface, .interface)
        try DBus.check(member, .member)
        try DBus.check(body: body, descriptors, on: self)
        if let signature, !signature.hasPrefix("(") || signature.containsNUL || g_variant_is_signature(signature) == 0 {
            throw GLibError(.invalidArgument, "'\(signature.shown)' is not the type of results")
        }
        let flags = GDBusCallFlags(rawValue: options.rawValue)
        let pending = PendingCall(pointer, received)
        return try await GIO.call { cancellable, done, data in
            withExtendedLifetime((body, descriptors)) {
                withType(signature) {
                    g_dbus_connection_call_with_unix_fd_list(
                        pointer, destination, path.description, interface, member, body?.pointer, $0, flags,
                        timeout.milliseconds, descriptors?.list, cancellable, callHasReply,
                        pending.retained(done, data))
                }
            }
        } finish: { _, _, error in
            pending.take(error)
        }.get()
    }
}

/// Takes the reply in the callback. When the task continues, later signals may have been delivered already.
/// Used on the loop's thread only.
private final class PendingCall: @unchecked Sendable {
    private let connection: OpaquePointer
    private let received: @Sendable (Variant?) -> Void
    private var callback: (done: GAsyncReadyCallback, data: gpointer)?
    private var reply: DBus.Reply?
    private var error: UnsafeMutablePointer<GError>?

    init(_ connection: OpaquePointer, _ received: @escaping @Sendable (Variant?) -> Void) {
        (self.connection, self.received) = (connection, received)
    }

    deinit { if let error { g_error_free(error) } }

    /// The user data for ``callHasReply``, which calls back with these arguments.
    func retained(_ done: @escaping GAsyncReadyCallback, _ data: gpointer) -> gpointer {
        callback = (done, data)
        return Unmanaged.passRetained(self).toOpaque()
    }

    func finish(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer) {
        var descriptors: UnsafeMutablePointer<GUnixFDList>?
        let body = g_dbus_connection_call_with_unix_fd_list_finish(connection, &descriptors, result, &error)
        let list = DBus.Descriptors(full: descriptors)
        reply = body.map { DBus.Reply(body: Variant(full: $0), descriptors: list) }
        received(reply?.body)
        if let callback { callback.done(source, result, callback.data) }
    }

    /// The reply, or an error in this place.
    func take(_ place: GIO.ErrorPlace) -> Result<DBus.Reply, GLibError> {
        place.pointee = error.take()
        return reply.map { .success($0) } ?? .failure(GLibError(.failed, "GLib gave no reply"))
    }
}

private let callHasReply: GAsyncReadyCallback = { source, result, data in
    guard let data, let result else { return }
    Unmanaged<PendingCall>.fromOpaque(data).takeRetainedValue().finish(source, result)
}

extension Duration? {
    /// For GLib's `timeout_msec`, where -1 is the default, and the largest number is forever.
    fileprivate var milliseconds: Int32 {
        guard let self else { return -1 }
        if self <= .zero { return 0 }
        guard self < .milliseconds(Int64(Int32.max)) else { return .max }
        // Rounded up.
        return Int32((self - .nanoseconds(1)) / .milliseconds(1)) + 1
    }
}
