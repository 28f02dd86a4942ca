// SPDX-License-Identifier: Apache-2.0
// An interface of another program's object, with a cache of its properties.

import CGRunGIO
import GRunLoop

extension DBus {
    /// A change of an object's properties.
    public struct PropertyChanges: Sendable {
        /// The new values.
        public let changed: [String: Variant]
        /// The names of other properties that have changed. Their values are not in the cache any more.
        public let invalidated: [String]

        /// The interface and the changes of a signal `PropertiesChanged`; nil for another signal.
        static func parse(_ signal: Signal) -> (interface: String, changes: PropertyChanges)? {
            typealias Body = VariantTuple<String, [String: Variant], [String]>
            guard let (interface, changed, invalidated) = try? Body(variant: signal.body).values else { return nil }
            return (interface, PropertyChanges(changed: changed, invalidated: invalidated))
        }

        func apply(to cache: inout [String: Variant]) {
            cache.merge(changed) { $1 }
            for name in invalidated { cache[name] = nil }
        }
    }

    /// An interface of another program's object: its methods, signals and properties.
    ///
    /// The proxy keeps a copy of the properties, which follows the signal `PropertiesChanged` while the loop runs on
    /// which the proxy was made. If another program becomes the owner of the destination's name, the copy is emptied:
    /// then call ``reload(isolation:)``.
    ///
    /// Threads: any, unless a function says otherwise. The corresponding GLib type is `GDBusProxy`.
    public final class Proxy: Sendable {
        /// The connection. Threads: any.
        public let connection: Connection
        /// The name of the program; nil without a bus. Threads: any.
        public let destination: String?
        /// The object. Threads: any.
        public let path: ObjectPath
        /// The interface. Threads: any.
        public let interface: String
        /// The later changes of the properties. To miss none, get the sequence before you read the properties. Each
        /// call returns a sequence of its own, which buffers up to 256 changes. Threads: any.
        public var changes: Events<PropertyChanges> { broadcast.makeEvents() }

        private let broadcast: Broadcast<PropertyChanges>
        private let cache = Guarded<[String: Variant]>([:])

        fileprivate init(
            _ connection: Connection, _ destination: String?, _ path: ObjectPath, _ interface: String
        ) throws {
            try DBus.check(interface, .interface)
            (self.connection, self.destination, self.path, self.interface) = (connection, destination, path, interface)
            broadcast = try Broadcast(on: connection, capacity: 256)
            let match = SignalMatch(
                sender: destination, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                path: path, argument0: interface)
            try broadcast.follow(match) { [cache] signal in
                guard let (_, change) = PropertyChanges.parse(signal) else { return [] }
                cache.withLock { change.apply(to: &$0) }
                return [change]
            }
            guard let destination, !destination.hasPrefix(":") else { return }
            try broadcast.follow(SignalMatch(ownerOf: destination)) { [cache] _ in
                let old = cache.withLock { values in
                    defer { values = [:] }
                    return values
                }
                return old.isEmpty ? [] : [PropertyChanges(changed: [:], invalidated: old.keys.sorted())]
            }
        }

        // MARK: Properties

        /// The names of the properties in the copy, with their values. Threads: any.
        public var properties: [String: Variant] { cache.withLock { $0 } }

        /// A property in the copy; nil if the copy does not have the property.
        ///
        /// - Throws: ``VariantError/wrongType(expected:found:)`` if the property has another type.
        ///
        /// Threads: any. The corresponding GLib function is `g_dbus_proxy_get_cached_property`.
        public func cached<Value: VariantValue>(
            _ name: String, as type: Value.Type = Value.self
        ) throws(VariantError) -> Value? {
            try properties.value(name)
        }

        /// Asks the program for a property, and stores the value in the copy.
        ///
        /// - Throws: the errors of ``Connection/call(_:_:_:_:_:returning:timeout:options:isolation:)``;
        ///   ``VariantError`` if the property has another type.
        ///
        /// Threads: a thread that runs a loop. The loop on which the proxy was made handles the reply, so the call
        /// waits while this loop does not run, even if the task is cancelled.
        public func get<Value: VariantValue>(
            _ name: String, as type: Value.Type = Value.self, isolation: isolated (any Actor)? = #isolation
        ) async throws -> Value {
            let reply = try await broadcast.call(
                destination, path, "org.freedesktop.DBus.Properties", "Get",
                body: VariantTuple(interface, name).encoded(), expecting: "(v)"
            ) { [cache] body in
                guard let variant = try? body?[0].value(as: Variant.self) else { return }
                cache.withLock { $0[name] = variant }
            }
            return try reply.body[0].value(as: Variant.self).value()
        }

        /// Sets a property. The copy changes when the program sends its signal.
        ///
        /// - Throws: the errors of ``Connection/call(_:_:_:_:_:returning:timeout:options:isolation:)``.
        ///
        /// Threads: a thread that runs a loop.
        public func set(
            _ name: String, _ value: some VariantValue, isolation: isolated (any Actor)? = #isolation
        ) async throws {
            try await connection.call(
                destination, path, "org.freedesktop.DBus.Properties", "Set", interface, name, Variant(value))
        }

        /// Asks the program for all properties, and replaces the copy.
        ///
        /// - Throws: the errors of ``Connection/call(_:_:_:_:_:returning:timeout:options:isolation:)``.
        ///
        /// Threads: a thread that runs a loop. The loop on which the proxy was made handles the reply, so the call
        /// waits while this loop does not run, even if the task is cancelled.
        public func reload(isolation: isolated (any Actor)? = #isolation) async throws {
            _ = try await broadcast.call(
                destination, path, "org.freedesktop.DBus.Properties", "GetAll",
                body: VariantTuple(interface).encoded(), expecting: "(a{sv})"
            ) { [cache] body in
                guard let values = try? body?[0].value(as: [String: Variant].self) else { return }
                cache.withLock { $0 = values }
            }
        }

        // MARK: Methods and signals

        /// Calls a method of the interface:
        /// see ``Connection/call(_:_:_:_:_:returning:timeout:options:isolation:)``.
        ///
        /// - Throws: the errors of that function.
        ///
        /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_proxy_call`.
        public func call<each Argument: VariantValue, each Result: VariantValue>(
            _ member: String, _ argument: repeat each Argument, returning result: repeat (each Result).Type,
            timeout: Duration? = nil, options: CallOptions = [], isolation: isolated (any Actor)? = #isolation
        ) async throws -> (repeat each Result) {
            try await connection.call(
                destination, path, interface, member, repeat each argument, returning: repeat (each Result).self,
                timeout: timeout, options: options)
        }

        /// Calls a method of the interface without waiting for a reply: see ``Connection/send(_:_:_:_:_:options:)``.
        ///
        /// - Throws: the errors of that function.
        ///
        /// Threads: any.
        public func send<each Argument: VariantValue>(
            _ member: String, _ argument: repeat each Argument, options: CallOptions = []
        ) throws {
            try connection.send(destination, path, interface, member, repeat each argument, options: options)
        }

        /// The signals of the interface: see ``Connection/signals(interface:member:path:sender:argument0:capacity:)``.
        ///
        /// - Throws: the errors of that function.
        ///
        /// Threads: a thread that runs a loop.
        public func signals(_ member: String? = nil, capacity: Int = 1024) throws -> Events<Signal> {
            try connection.signals(
                interface: interface, member: member, path: path, sender: destination, capacity: capacity)
        }
    }
}

extension DBus.Connection {
    /// Makes a proxy for an interface of another program's object, and asks for its properties.
    ///
    /// - Parameters:
    ///   - destination: the name of the program; nil without a bus.
    ///   - path: the object.
    ///   - interface: the interface.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: the errors of ``call(_:_:_:_:_:returning:timeout:options:isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_proxy_new`.
    public func proxy(
        _ destination: String?, _ path: DBus.ObjectPath, _ interface: String,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.Proxy {
        let proxy = try DBus.Proxy(self, destination, path, interface)
        try await proxy.reload()
        return proxy
    }
}
