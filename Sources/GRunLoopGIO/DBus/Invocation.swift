// SPDX-License-Identifier: Apache-2.0
// A call that this program answers.

import CGRunGIO
import GRunLoop
import Synchronization

extension DBus {
    /// A call of a method of an exported object. In the method, ``current`` is this call.
    ///
    /// Threads: any. The corresponding GLib type is `GDBusMethodInvocation`.
    public final class Invocation: Sendable {
        /// The call for which the current task runs; nil in other tasks. Threads: any.
        public static var current: Invocation? { ofTask }

        @TaskLocal static var ofTask: Invocation?

        /// The unique name of the caller; nil without a bus. Threads: any.
        public let sender: String?
        /// The called object. Threads: any.
        public let path: ObjectPath
        /// The name of the called method. Threads: any.
        public let member: String
        /// The file descriptors of the call; nil if there are none. Threads: any.
        public let descriptors: Descriptors?

        private let connection: Connection
        private nonisolated(unsafe) let object: OpaquePointer
        private let hasReply = Atomic(false)
        private let sent = Guarded<Descriptors?>(nil)

        /// Takes over the reference, which a reply consumes.
        init(full object: OpaquePointer, on connection: Connection) {
            (self.object, self.connection) = (object, connection)
            func text(_ pointer: UnsafePointer<CChar>?) -> String? { pointer.map { String(cString: $0) } }
            // Without a bus, the peer itself writes this field.
            sender = connection.uniqueName == nil ? nil : text(g_dbus_method_invocation_get_sender(object))
            path = ObjectPath(text(g_dbus_method_invocation_get_object_path(object)) ?? "")
            member = text(g_dbus_method_invocation_get_method_name(object)) ?? ""
            let list = g_dbus_message_get_unix_fd_list(g_dbus_method_invocation_get_message(object))
            descriptors = list.flatMap { Descriptors(full: retained($0)) }
        }

        deinit { fail(GLibError(.failed, "The method has not answered")) }

        /// Adds a copy of a file descriptor to the reply. The caller still owns the original.
        ///
        /// - Returns: the handle for the results of the method.
        /// - Throws: a ``GLibError`` if the descriptor cannot be duplicated.
        ///
        /// Threads: any. The corresponding GLib function is `g_unix_fd_list_append`.
        public func append(_ descriptor: Int32) throws(GLibError) -> Handle {
            try sent.withLock { list -> Result<Handle, GLibError> in
                let used = list ?? Descriptors()
                list = used
                return Result { () throws(GLibError) in try used.append(descriptor) }
            }.get()
        }

        /// The user id of the caller's process.
        ///
        /// - Throws: a ``GLibError`` if the caller is gone, or its user is not known; errors of
        ///   ``GIO/call(cancellable:keeping:isolation:_:finish:)``.
        ///
        /// Threads: a thread that runs a loop. Without a bus, the corresponding GLib function is
        /// `g_dbus_connection_get_peer_credentials`.
        public func userID(isolation: isolated (any Actor)? = #isolation) async throws -> UInt32 {
            guard let sender else {
                return try peerCredential { UInt32(truncatingIfNeeded: g_credentials_get_unix_user($0, $1)) }
            }
            return try await connection.callBus(
                "GetConnectionUnixUser", VariantTuple(sender).encoded(), returning: UInt32.self)
        }

        /// The process id of the caller. The caller may end at any time, and another process may get this id.
        ///
        /// - Throws: like ``userID(isolation:)``.
        ///
        /// Threads: a thread that runs a loop. Without a bus, the corresponding GLib function is
        /// `g_dbus_connection_get_peer_credentials`.
        public func processID(isolation: isolated (any Actor)? = #isolation) async throws -> Int32 {
            guard let sender else { return try peerCredential { Int32(g_credentials_get_unix_pid($0, $1)) } }
            let id = try await connection.callBus(
                "GetConnectionUnixProcessID", VariantTuple(sender).encoded(), returning: UInt32.self)
            return Int32(truncatingIfNeeded: id)
        }

        private func peerCredential<Value>(_ body: (OpaquePointer, GIO.ErrorPlace) -> Value) throws(GLibError) -> Value
        {
            guard let credentials = g_dbus_connection_get_peer_credentials(connection.pointer) else {
                throw GLibError(.notSupported, "The user of the peer is not known")
            }
            return try GLibError.check { body(credentials, $0) }
        }

        // MARK: Replies

        /// Sends the results, which are a tuple, unless the call has a reply.
        func reply(_ body: Variant) {
            let descriptors = sent.withLock { $0 }
            do { try DBus.check(body: body, descriptors, on: connection) } catch { return fail(error) }
            guard !hasReply.exchange(true, ordering: .relaxed) else { return }
            withExtendedLifetime(descriptors) {
                body.withPointer {
                    g_dbus_method_invocation_return_value_with_unix_fd_list(object, $0, descriptors?.list)
                }
            }
        }

        /// Sends an error, unless the call has a reply.
        func fail(_ error: any Error) {
            guard !hasReply.exchange(true, ordering: .relaxed) else { return }
            let error = error is VariantError ? GLibError(G_DBUS_ERROR_INVALID_ARGS, "\(error)") : error
            let name = (error as? GLibError)?.wireName ?? "org.freedesktop.DBus.Error.Failed"
            let message = (error as? GLibError)?.message ?? "\(error)"
            // A message of any length would not fit.
            let text = String(decoding: message.utf8.prefix(1 << 20), as: UTF8.self)
            g_dbus_method_invocation_return_dbus_error(object, name, text.shown)
        }
    }
}

extension GLibError {
    /// The name of the error on the wire; nil if it has none that D-Bus allows.
    fileprivate var wireName: String? {
        [dbusName, encodedName].lazy.compactMap { $0 }.first { (try? DBus.check($0, .interface)) != nil }
    }

    private var encodedName: String? {
        guard g_quark_to_string(domain) != nil else { return nil }
        let error = g_error_new_literal(domain, code, message.shown)
        defer { g_error_free(error) }
        let name = g_dbus_error_encode_gerror(error)
        defer { g_free(name) }
        return name.map { String(cString: $0) }
    }
}

private func retained(_ list: UnsafeMutablePointer<GUnixFDList>) -> UnsafeMutablePointer<GUnixFDList> {
    g_object_ref(list)
    return list
}
