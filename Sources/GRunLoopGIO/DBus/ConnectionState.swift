// SPDX-License-Identifier: Apache-2.0
// The end of a connection, and what waits for a connection.

import CGRunGIO
import Synchronization

/// Something that must not outlive its connection: a stream of events, or an exported object.
protocol ConnectionWaiter: AnyObject, Sendable {
    /// Called once, without a lock, on the thread that notices the end.
    func connectionHasClosed(_ error: GLibError)
}

/// Whether a connection is open, and who must be told about its end.
final class ConnectionState: Sendable {
    private struct State {
        var waiters: [ObjectIdentifier: any ConnectionWaiter] = [:]
        var isClosed = false
        var reason: GLibError?
    }

    private let state = Guarded(State())
    private let closing = Atomic(false)
    let loads = Guarded(CallerLoads())
    /// The names of the ``DBus/OwnedName`` objects that are not released.
    let names = Guarded<Set<String>>([])

    /// The key of a state in its `GDBusConnection`.
    private static let key = Guarded(g_quark_from_static_string("grun-dbus-connection-state"))

    /// The state of a `GDBusConnection`, which all its ``DBus/Connection`` objects share.
    static func of(_ pointer: OpaquePointer) -> ConnectionState {
        key.withLock { key in
            let object = UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GObject.self)
            if let data = g_object_get_qdata(object, key) {
                return Unmanaged<ConnectionState>.fromOpaque(data).takeUnretainedValue()
            }
            let state = ConnectionState()
            let data = Unmanaged.passRetained(state).toOpaque()
            g_object_set_qdata_full(object, key, data) { data in
                data.map { Unmanaged<ConnectionState>.fromOpaque($0).release() }
            }
            g_signal_connect_data(
                object, "closed", unsafeBitCast(connectionHasClosed, to: GCallback.self), data, nil,
                GConnectFlags(rawValue: 0))
            if g_dbus_connection_is_closed(pointer) != 0 {
                state.close(GLibError(.closed, "The connection has ended before"))
            }
            return state
        }
    }

    /// The error that ended the connection; nil if the connection is open, or this process closed it.
    var reason: GLibError? { state.withLock { $0.reason } }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Whether ``beginClosing()`` was called.
    var isClosing: Bool { closing.load(ordering: .relaxed) }

    /// Returns true to the first caller.
    func beginClosing() -> Bool { !closing.exchange(true, ordering: .relaxed) }

    /// Adds a waiter. If the connection has ended, calls the waiter instead.
    func add(_ waiter: any ConnectionWaiter) {
        let error = state.withLock { state -> GLibError? in
            if state.isClosed { return Self.error(state.reason) }
            state.waiters[ObjectIdentifier(waiter)] = waiter
            return nil
        }
        if let error { waiter.connectionHasClosed(error) }
    }

    func remove(_ waiter: any ConnectionWaiter) {
        // The removed reference is released after unlocking.
        _ = state.withLock { $0.waiters.removeValue(forKey: ObjectIdentifier(waiter)) }
    }

    /// Ends everything that waits. Only the first call has an effect.
    func close(_ reason: GLibError?) {
        let waiters = state.withLock { state -> [any ConnectionWaiter] in
            guard !state.isClosed else { return [] }
            (state.isClosed, state.reason) = (true, reason)
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        let error = Self.error(reason)
        for waiter in waiters { waiter.connectionHasClosed(error) }
    }

    private static func error(_ reason: GLibError?) -> GLibError {
        reason ?? GLibError(.closed, "The connection is closed")
    }
}

private let connectionHasClosed: @convention(c) (OpaquePointer, gboolean, UnsafePointer<GError>?, gpointer) -> Void = {
    _, _, error, data in
    let state = Unmanaged<ConnectionState>.fromOpaque(data).takeUnretainedValue()
    state.close(error.flatMap { g_error_copy($0) }.map { GLibError(consuming: $0) })
}
