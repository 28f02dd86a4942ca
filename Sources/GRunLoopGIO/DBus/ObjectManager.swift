// SPDX-License-Identifier: Apache-2.0
// The objects of a service that has an ObjectManager, such as BlueZ.

import CGRunGIO
import GRunLoop

extension DBus {
    /// The objects of a service, with their interfaces and properties.
    ///
    /// The list follows the signals of the service while the loop runs on which the manager was made. If another
    /// program becomes the owner of the service's name, the list is emptied: then call ``reload(isolation:)``.
    ///
    /// Threads: any, unless a function says otherwise. The corresponding GLib type is `GDBusObjectManagerClient`.
    public final class ObjectManager: Sendable {
        /// The interfaces of an object, each with its properties.
        public typealias Interfaces = [String: [String: Variant]]

        /// A change of the objects.
        public enum Change: Sendable {
            /// A new object, or new interfaces of an object.
            case added(ObjectPath, Interfaces)
            /// An object has lost these interfaces. An object without interfaces is removed.
            case removed(ObjectPath, [String])
            /// Properties of an object's interface have changed. The interface is in the list.
            case changed(ObjectPath, interface: String, PropertyChanges)
        }

        /// The later changes of the objects. To miss none, get the sequence before you read ``objects``. Each call
        /// returns a sequence of its own, which buffers up to 1024 changes. Threads: any.
        public var changes: Events<Change> { broadcast.makeEvents() }

        private let broadcast: Broadcast<Change>
        private let connection: Connection
        private let destination: String?
        private let path: ObjectPath
        private let current = Guarded<[ObjectPath: Interfaces]>([:])

        fileprivate init(_ connection: Connection, _ destination: String?, _ path: ObjectPath) throws {
            (self.connection, self.destination, self.path) = (connection, destination, path)
            broadcast = try Broadcast(on: connection, capacity: 1024)
            let apply: @Sendable (Signal) -> [Change] = { [current] signal in
                guard let change = Self.change(signal) else { return [] }
                return current.withLock { Self.apply(change, to: &$0) } ? [change] : []
            }
            let manager = SignalMatch(
                sender: destination, interface: "org.freedesktop.DBus.ObjectManager", path: path)
            let properties = SignalMatch(
                sender: destination, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged")
            try broadcast.follow(manager, apply)
            try broadcast.follow(properties, apply)
            guard let destination, !destination.hasPrefix(":") else { return }
            try broadcast.follow(SignalMatch(ownerOf: destination)) { [current] _ in
                let old = current.withLock { objects in
                    defer { objects = [:] }
                    return objects
                }
                return old.map { .removed($0, $1.keys.sorted()) }
            }
        }

        /// Returns false if the change is of an interface that is not in the list. The service may have other objects.
        private static func apply(_ change: Change, to objects: inout [ObjectPath: Interfaces]) -> Bool {
            switch change {
            case .added(let path, let interfaces): objects[path, default: [:]].merge(interfaces) { $1 }
            case .removed(let path, let interfaces):
                guard let known = objects[path], interfaces.contains(where: { known[$0] != nil }) else { return false }
                for interface in interfaces { objects[path]?[interface] = nil }
                if objects[path]?.isEmpty == true { objects[path] = nil }
            case .changed(let path, let interface, let changes):
                guard var properties = objects[path]?[interface] else { return false }
                changes.apply(to: &properties)
                objects[path]?[interface] = properties
            }
            return true
        }

        private static func change(_ signal: Signal) -> Change? {
            switch signal.member {
            case "InterfacesAdded":
                guard let values = try? VariantTuple<ObjectPath, Interfaces>(variant: signal.body).values else { break }
                return .added(values.0, values.1)
            case "InterfacesRemoved":
                guard let values = try? VariantTuple<ObjectPath, [String]>(variant: signal.body).values else { break }
                return .removed(values.0, values.1)
            case "PropertiesChanged":
                return PropertyChanges.parse(signal).map { .changed(signal.path, interface: $0.interface, $0.changes) }
            default: break
            }
            return nil
        }

        /// Asks the program for all objects, and replaces the list.
        ///
        /// - Throws: the errors of ``Connection/call(_:_:_:_:_:returning:timeout:options:isolation:)``.
        ///
        /// Threads: a thread that runs a loop. The loop on which the manager was made handles the reply, so the call
        /// waits while this loop does not run, even if the task is cancelled.
        public func reload(isolation: isolated (any Actor)? = #isolation) async throws {
            let type = VariantTuple<[ObjectPath: Interfaces]>.signature
            _ = try await broadcast.call(
                destination, path, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", body: nil, expecting: type
            ) { [current] body in
                guard let found = try? body?[0].value(as: [ObjectPath: Interfaces].self) else { return }
                current.withLock { $0 = found }
            }
        }

        /// The objects now. Threads: any.
        public var objects: [ObjectPath: Interfaces] { current.withLock { $0 } }
    }
}

extension DBus.Connection {
    /// Asks a service for its objects, and follows their changes.
    ///
    /// ```swift
    /// let bluetooth = try await bus.objectManager("org.bluez", "/")
    /// for (path, interfaces) in bluetooth.objects {
    ///     guard let device = interfaces["org.bluez.Device1"] else { continue }
    ///     print(path, try device.value("Name", as: String.self) ?? "")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - destination: the name of the program; nil without a bus.
    ///   - path: the object with the interface `org.freedesktop.DBus.ObjectManager`.
    ///   - isolation: the caller's actor; do not pass it.
    /// - Throws: the errors of ``call(_:_:_:_:_:returning:timeout:options:isolation:)``.
    ///
    /// Threads: a thread that runs a loop. The corresponding GLib function is `g_dbus_object_manager_client_new`.
    public func objectManager(
        _ destination: String?, _ path: DBus.ObjectPath, isolation: isolated (any Actor)? = #isolation
    ) async throws -> DBus.ObjectManager {
        let manager = try DBus.ObjectManager(self, destination, path)
        try await manager.reload()
        return manager
    }
}
