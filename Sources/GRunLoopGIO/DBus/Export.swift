// SPDX-License-Identifier: Apache-2.0
// An exported object.

import CGRunGIO
import GRunLoop

extension DBus {
    /// An object that other programs can call. Releasing the object unexports it, so keep it.
    ///
    /// Threads: any. The corresponding GLib function is `g_dbus_connection_register_object`.
    public final class ExportedObject: Sendable {
        /// The path of the object. Threads: any.
        public let path: ObjectPath
        /// The name of the interface. Threads: any.
        public let interface: String

        private let connection: Connection
        private let export: Export

        fileprivate init(_ export: Export, at path: ObjectPath, on connection: Connection) {
            (self.path, interface) = (path, export.interface.name)
            (self.export, self.connection) = (export, connection)
        }

        deinit { unexport() }

        /// Removes the object from the bus. Callers that wait get the error
        /// `org.freedesktop.DBus.Error.UnknownObject`, and the tasks of their methods are cancelled. Only the first
        /// call has an effect.
        ///
        /// Threads: any. The corresponding GLib function is `g_dbus_connection_unregister_object`.
        public func unexport() {
            export.end(GLibError(G_DBUS_ERROR_UNKNOWN_OBJECT, "The object \(path) was unexported"))
        }

        /// Sends a signal of the interface to all programs that subscribe to it.
        ///
        /// - Throws: ``VariantError`` if an argument contains a string that D-Bus does not allow; a ``GLibError`` if
        ///   the name is not valid, or the connection has ended.
        ///
        /// Threads: any. The corresponding GLib function is `g_dbus_connection_emit_signal`.
        public func emit<each Argument: VariantValue>(_ member: String, _ argument: repeat each Argument) throws {
            try connection.emit(path, interface, member, VariantTuple(repeat each argument).encoded())
        }

        /// Sends the signal `PropertiesChanged`.
        ///
        /// - Parameters:
        ///   - changed: the new values of properties.
        ///   - invalidated: the names of other properties that have changed.
        /// - Throws: like ``emit(_:_:)``.
        ///
        /// Threads: any.
        public func propertiesChanged(_ changed: [String: Variant], invalidated: [String] = []) throws {
            try connection.emit(
                path, "org.freedesktop.DBus.Properties", "PropertiesChanged",
                VariantTuple(interface, changed, invalidated).encoded())
        }
    }
}

extension DBus.Connection {
    /// Exports an object with one interface. For more interfaces, export each of them at the same path.
    ///
    /// Calls come while the loop of this thread runs. When the loop ends, the object is unexported.
    ///
    /// If the caller leaves the bus, the task of its method is cancelled, also if the caller expects no reply. Do work
    /// that must be finished in a task of its own. A call is in flight until its method returns.
    ///
    /// On one connection, a program can have 1,024 calls in flight, with 32 MiB of arguments and 253 file descriptors.
    /// All programs together can have 4,096 calls with 128 MiB and 512 descriptors. Beyond that, each program can have
    /// 16 calls with 512 KiB and one descriptor. The error is `org.freedesktop.DBus.Error.LimitsExceeded`. A call
    /// counts when the loop takes it. GLib queues earlier calls, and the replies that a program does not read, without
    /// a limit.
    ///
    /// - Throws:
    ///   - a ``GLibError`` if a name is not valid;
    ///   - ``GIO/ErrorCode/exists`` if the interface is exported at this path;
    ///   - ``GIO/ErrorCode/closed`` if the connection has ended;
    ///   - ``GIO/WrongThreadError`` if the thread runs no loop, `GRunLoop.LoopEndedError` if the loop has ended.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_register_object`.
    public func export(_ interface: DBus.Interface, at path: DBus.ObjectPath) throws -> DBus.ExportedObject {
        let loop = try GIO.callersLoop()
        try DBus.check(path)
        if isClosed { throw GLibError(.closed, "The connection is closed") }
        let node = try interface.node()
        defer { g_dbus_node_info_unref(node) }
        let export = Export(interface, of: self, on: loop)
        try export.begin(at: path, node)
        return DBus.ExportedObject(export, at: path, on: self)
    }

    fileprivate func emit(
        _ path: DBus.ObjectPath, _ interface: String, _ member: String, _ body: Variant
    ) throws(GLibError) {
        try DBus.check(member, .member)
        try DBus.check(body: body, on: self)
        _ = try GLibError.check { error in
            body.withPointer {
                g_dbus_connection_emit_signal(pointer, nil, path.description, interface, member, $0, error)
            }
        }
    }
}

/// The registration of an object.
private final class Export: ConnectionWaiter, Sendable {
    private struct State {
        var registration: guint = 0
        var number: UInt = 0
        var ending: GRunLoop.EndHandler?
        var hasEnded = false
    }

    let interface: DBus.Interface
    private let connection: DBus.Connection
    private let loop: GRunLoop
    private let calls: CallsInFlight
    private let state = Guarded(State())

    init(_ interface: DBus.Interface, of connection: DBus.Connection, on loop: GRunLoop) {
        (self.interface, self.connection, self.loop) = (interface, connection, loop)
        calls = CallsInFlight(on: connection, loop)
    }

    func begin(at path: DBus.ObjectPath, _ node: UnsafeMutablePointer<GDBusNodeInfo>) throws {
        let ending = try loop.addEndHandler { [self] in
            end(GLibError(G_DBUS_ERROR_UNKNOWN_OBJECT, "The loop of the object has ended"))
        }
        var table = GDBusInterfaceVTable()
        // Without functions for properties, GLib calls this function for properties, too.
        table.method_call = { _, _, _, interface, _, arguments, invocation, data in
            guard let interface, let arguments, let invocation else { return }
            // A hostile peer may leave the serial number out. GLib would crash when it replies.
            guard g_dbus_message_get_serial(g_dbus_method_invocation_get_message(invocation)) != 0 else {
                return g_object_unref(UnsafeMutableRawPointer(invocation))
            }
            guard let export = CallbackTable.object(data, as: Export.self) else {
                return g_dbus_method_invocation_return_dbus_error(
                    invocation, "org.freedesktop.DBus.Error.UnknownObject", "The object was unexported")
            }
            export.call(String(cString: interface), Variant(retaining: arguments), invocation)
        }
        let number = CallbackTable.add(self)
        do {
            let registration = try GLibError.check {
                g_dbus_connection_register_object(
                    connection.pointer, path.description, node.pointee.interfaces[0], &table,
                    UnsafeMutableRawPointer(bitPattern: number), nil, $0)
            }
            state.withLock { ($0.registration, $0.number, $0.ending) = (registration, number, ending) }
        } catch {
            CallbackTable.remove(number)
            ending.cancel()
            throw error
        }
        connection.state.add(self)
    }

    func connectionHasClosed(_ error: GLibError) { end(error) }

    /// Unregisters the object, and ends the calls in flight. Only the first call has an effect. Threads: any.
    func end(_ error: GLibError) {
        let ended = state.withLock { state -> State? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            defer { state.ending = nil }
            return state
        }
        guard let ended else { return }
        if ended.registration != 0 { g_dbus_connection_unregister_object(connection.pointer, ended.registration) }
        CallbackTable.remove(ended.number)
        ended.ending?.cancel()
        connection.state.remove(self)
        calls.end(error)
    }

    /// Starts a task that replies to a call. Called on the loop's thread.
    private func call(_ interface: String, _ arguments: Variant, _ object: OpaquePointer) {
        let invocation = DBus.Invocation(full: object, on: connection)
        let load = CallLoad(of: invocation, arguments)
        if let error = calls.add(invocation, load) { return invocation.fail(error) }
        // An immediate task begins here, so methods begin in the order of the messages. After a suspension, code
        // without an isolation continues on the loop.
        let task = Task.immediate(executorPreference: loop.executor) { [self] in
            let result: Result<Variant, any Error>
            do {
                result = .success(
                    try await DBus.Invocation.$ofTask.withValue(invocation) {
                        try await answer(interface, invocation.member, arguments)
                    })
            } catch {
                result = .failure(error)
            }
            // Before the reply, so that the caller's next call is not refused.
            calls.remove(invocation, load)
            switch result {
            case .success(let body): invocation.reply(body)
            case .failure(let error): invocation.fail(error)
            }
        }
        calls.set(task, of: invocation)
    }

    private func answer(_ interface: String, _ member: String, _ arguments: Variant) async throws -> Variant {
        guard interface == "org.freedesktop.DBus.Properties", interface != self.interface.name else {
            guard let method = self.interface.methods[member] else {
                throw GLibError(G_DBUS_ERROR_UNKNOWN_METHOD, "There is no method '\(member)'")
            }
            return try await method.body(arguments)
        }
        if member == "GetAll" {
            var values: [String: Variant] = [:]
            for (name, property) in self.interface.properties { values[name] = try await property.get() }
            return try VariantTuple(values).encoded()
        }
        let name = try arguments[1].value(as: String.self)
        guard let property = self.interface.properties[name] else {
            throw GLibError(G_DBUS_ERROR_UNKNOWN_PROPERTY, "There is no property '\(name)'")
        }
        guard member == "Set" else { return try VariantTuple(try await property.get()).encoded() }
        guard let set = property.set else {
            throw GLibError(G_DBUS_ERROR_PROPERTY_READ_ONLY, "The property '\(name)' is read-only")
        }
        try await set(try arguments[2].value(as: Variant.self))
        return try VariantTuple().encoded()
    }
}
