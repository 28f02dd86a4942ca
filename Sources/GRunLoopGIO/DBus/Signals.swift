// SPDX-License-Identifier: Apache-2.0
// Signals of other programs.

import CGRunGIO
import GRunLoop

extension DBus {
    /// A signal that has come.
    public struct Signal: Sendable {
        /// The unique name of the sender; nil without a bus.
        public let sender: String?
        /// The object that has sent the signal.
        public let path: ObjectPath
        /// The interface of the signal.
        public let interface: String
        /// The name of the signal.
        public let member: String
        /// The arguments, which are a tuple.
        public let body: Variant

        /// The arguments as Swift values: nothing, a value, or a tuple.
        ///
        /// - Throws: ``VariantError/wrongType(expected:found:)`` if the signal has other arguments.
        public func arguments<each Argument: VariantValue>(
            as type: repeat (each Argument).Type
        ) throws(VariantError) -> (repeat each Argument) {
            try VariantTuple<repeat each Argument>(variant: body).values
        }
    }

    /// Which signals are wanted. A nil property matches all signals.
    struct SignalMatch {
        var sender: String?
        var interface: String?
        var member: String?
        var path: ObjectPath?
        var argument0: String?
        var flags = cglib_dbus_signal_none
    }
}

extension DBus.SignalMatch {
    /// Whether the signals of this path and argument are selected here, and not by the bus. A rule has at most 1024
    /// bytes, and GLib does not quote it.
    fileprivate var isLocal: Bool {
        let texts = [sender, interface, member, path?.description, argument0]
        return argument0?.contains("'") == true || texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } > 900
    }

    fileprivate func selects(_ signal: DBus.Signal) -> Bool {
        guard isLocal else { return true }
        if let path, path != signal.path { return false }
        guard let argument0 else { return true }
        return signal.body.count > 0 && (try? signal.body[0].value(as: String.self)) == argument0
    }
}

extension DBus.Connection {
    /// The signals of other programs that have these properties.
    ///
    /// ```swift
    /// for try await signal in try bus.signals(interface: "org.example.Files", member: "Changed") {
    ///     let (name, size) = try signal.arguments(as: String.self, UInt64.self)
    /// }
    /// ```
    ///
    /// The subscription begins with this call, so the reply to a later call comes after the signals before it. It ends
    /// when the iteration ends.
    ///
    /// - Parameters:
    ///   - interface: the interface of the signals; nil for each interface.
    ///   - member: the name of the signals; nil for each name.
    ///   - path: the object that sends the signals; nil for each object.
    ///   - sender: the name of the program that sends the signals; nil for each program, and without a bus.
    ///   - argument0: the first argument, if it is a string; nil for each argument.
    ///   - capacity: how many signals are buffered. When more signals come, the oldest are dropped, and
    ///     ``DBus/Events/droppedCount`` counts them. Less than one counts as one.
    /// - Throws: a ``GLibError`` if a name is not valid; ``GIO/WrongThreadError`` if the thread runs no loop.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_signal_subscribe`.
    public func signals(
        interface: String? = nil, member: String? = nil, path: DBus.ObjectPath? = nil, sender: String? = nil,
        argument0: String? = nil, capacity: Int = 1024
    ) throws -> DBus.Events<DBus.Signal> {
        let match = DBus.SignalMatch(
            sender: sender, interface: interface, member: member, path: path, argument0: argument0)
        return try events(match, capacity: capacity) { $0 }
    }

    /// The signals of other programs, each as a value that a closure makes.
    ///
    /// ```swift
    /// let changes = try bus.signals(interface: "org.example.Files", member: "Changed") { signal in
    ///     try? signal.arguments(as: String.self, UInt64.self)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - interface: the interface of the signals; nil for each interface.
    ///   - member: the name of the signals; nil for each name.
    ///   - path: the object that sends the signals; nil for each object.
    ///   - sender: the name of the program that sends the signals; nil for each program, and without a bus.
    ///   - argument0: the first argument, if it is a string; nil for each argument.
    ///   - capacity: how many values are buffered. When more values come, the oldest are dropped, and
    ///     ``DBus/Events/droppedCount`` counts them. Less than one counts as one.
    ///   - transform: makes a value of a signal. It is called on the thread of the loop for each signal. If it returns
    ///     nil, the sequence leaves the signal out.
    /// - Throws: a ``GLibError`` if a name is not valid; ``GIO/WrongThreadError`` if the thread runs no loop.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_connection_signal_subscribe`.
    public func signals<Element: Sendable>(
        interface: String? = nil, member: String? = nil, path: DBus.ObjectPath? = nil, sender: String? = nil,
        argument0: String? = nil, capacity: Int = 1024, transform: @escaping @Sendable (DBus.Signal) -> Element?
    ) throws -> DBus.Events<Element> {
        let match = DBus.SignalMatch(
            sender: sender, interface: interface, member: member, path: path, argument0: argument0)
        return try events(match, capacity: capacity, transform)
    }

    /// The results of a closure that are not nil, for each signal. The closure is called on the loop's thread.
    func events<Element>(
        _ match: DBus.SignalMatch, capacity: Int, _ transform: @escaping @Sendable (DBus.Signal) -> Element?
    ) throws -> DBus.Events<Element> {
        let events = DBus.Events<Element>(on: try DBus.Delivery(), capacity: capacity)
        let number = CallbackTable.add(
            SignalHandler { [buffer = events.buffer] signal in
                guard match.selects(signal), let element = transform(signal) else { return }
                buffer.push(element)
            })
        let id: guint?
        do { id = try subscribe(match, number) } catch {
            CallbackTable.remove(number)
            throw error
        }
        state.add(events.buffer) { [self] in
            CallbackTable.remove(number)
            if let id { g_dbus_connection_signal_unsubscribe(pointer, id) }
        }
        return events
    }

    /// Returns nil if the connection has ended. GLib would log a warning.
    private func subscribe(_ match: DBus.SignalMatch, _ number: UInt) throws(GLibError) -> guint? {
        try DBus.check(match.sender, .bus)
        try DBus.check(match.interface, .interface)
        try DBus.check(match.member, .member)
        try DBus.check(match.path)
        if let argument = match.argument0, argument.containsNUL {
            throw GLibError(.invalidArgument, "'\(argument.shown)' contains a NUL")
        }
        if match.sender != nil { try requireBus() }
        if isClosed { return nil }
        let (path, argument) = match.isLocal ? (nil, nil) : (match.path?.description, match.argument0)
        return g_dbus_connection_signal_subscribe(
            pointer, match.sender, match.interface, match.member, path, argument, match.flags,
            { connection, sender, path, interface, member, body, data in
                guard let path, let interface, let member, let body,
                    let handler = CallbackTable.object(data, as: SignalHandler.self)
                else { return }
                // Without a bus, the peer itself writes the sender.
                let hasBus = g_dbus_connection_get_unique_name(connection) != nil
                let signal = DBus.Signal(
                    sender: hasBus ? sender.map { String(cString: $0) } : nil,
                    path: DBus.ObjectPath(String(cString: path)), interface: String(cString: interface),
                    member: String(cString: member),
                    body: Variant(retaining: body))
                handler.call(signal)
            }, UnsafeMutableRawPointer(bitPattern: number), nil)
    }
}

/// The object of the callback.
private final class SignalHandler: Sendable {
    let call: @Sendable (DBus.Signal) -> Void

    init(_ call: @escaping @Sendable (DBus.Signal) -> Void) { self.call = call }
}
