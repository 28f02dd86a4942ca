// SPDX-License-Identifier: Apache-2.0
// A connection to a message bus, or to one peer.

import CGRunGIO
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
        public nonisolated(unsafe) let pointer: OpaquePointer

        let state: ConnectionState

        /// Takes over a reference to a `GDBusConnection`, which a function of C has returned as *transfer full*.
        ///
        /// Threads: any.
        public init(full pointer: OpaquePointer) {
            (self.pointer, state) = (pointer, ConnectionState.of(pointer))
        }

        /// Adds a reference to a `GDBusConnection` of C code, for example of `g_application_get_dbus_connection`.
        ///
        /// The connection of a `GApplication` ends the process when the bus ends. To change this, call
        /// `g_dbus_connection_set_exit_on_close`.
        ///
        /// Threads: any.
        public convenience init(retaining pointer: OpaquePointer) {
            g_object_ref(UnsafeMutableRawPointer(pointer))
            self.init(full: pointer)
        }

        deinit { g_object_unref(UnsafeMutableRawPointer(pointer)) }

        // MARK: State

        /// The name that the bus gave the connection, such as `:1.42`; nil without a bus.
        ///
        /// Threads: any. The corresponding GLib function is `g_dbus_connection_get_unique_name`.
        public var uniqueName: String? { g_dbus_connection_get_unique_name(pointer).map { String(cString: $0) } }

        /// Whether the connection has ended. Threads: any. The corresponding GLib function is
        /// `g_dbus_connection_is_closed`.
        public var isClosed: Bool {
            // GLib may not know yet that close() has returned.
            g_dbus_connection_is_closed(pointer) != 0 || state.isClosed
        }

        /// Waits until the connection ends.
        ///
        /// - Returns: the error that ended the connection; nil if this process has closed the connection. The error is
        ///   ``GIO/ErrorCode/closed`` if C code's connection had ended before the first initializer got it.
        /// - Throws: `CancellationError` if the task is cancelled; `GRunLoop.LoopEndedError` if the loop ends.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib signal is `GDBusConnection::closed`.
        public func untilClosed(isolation: isolated (any Actor)? = #isolation) async throws -> GLibError? {
            let events = Events<Never>(on: try Delivery(), capacity: 1)
            state.add(events.buffer)
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
            var isFirst = false
            do {
                try await withTaskCancellationHandler {
                    try await GIO.callToTheEnd(keeping: self, isolation: isolation) {
                        g_dbus_connection_flush(pointer, nil, $0, $1)
                    } finish: {
                        _ = g_dbus_connection_flush_finish(pointer, $1, $2)
                    }
                    isFirst = state.beginClosing()
                    try await GIO.callToTheEnd(keeping: self, isolation: isolation) {
                        g_dbus_connection_close(pointer, nil, $0, $1)
                    } finish: {
                        _ = g_dbus_connection_close_finish(pointer, $1, $2)
                    }
                } onCancel: {
                    shutDown()
                }
            } catch {
                try Task.checkCancellation()
                // If another task closes the connection meanwhile, GLib reports a cancellation or a closed connection.
                guard !isFirst, state.isClosing, error is GLibError else { throw error }
            }
            state.close(nil)
            try Task.checkCancellation()
        }

        /// Ends the connection without sending what is queued. GLib does not cancel a flush, and a peer that does not
        /// read would prevent its end.
        private func shutDown() {
            guard let stream = UnsafeMutableRawPointer(g_dbus_connection_get_stream(pointer)),
                g_type_check_instance_is_a(
                    stream.assumingMemoryBound(to: GTypeInstance.self), g_socket_connection_get_type()) != 0
            else { return }
            let connection = stream.assumingMemoryBound(to: GSocketConnection.self)
            g_socket_shutdown(g_socket_connection_get_socket(connection), 1, 1, nil)
        }
    }
}
