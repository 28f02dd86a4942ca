// SPDX-License-Identifier: Apache-2.0
// The methods, properties and signals of an exported object.

import CGRunGIO

extension DBus {
    /// An interface that this program implements: its methods, properties and signals.
    ///
    /// ```swift
    /// var interface = DBus.Interface("org.example.Counter")
    /// interface.method("Add", arguments: ["amount"]) { (amount: Int32) in try await counter.add(amount) }
    /// interface.property("Value") { await counter.value }
    /// interface.signal("Changed", Int32.self)
    /// let exported = try connection.export(interface, at: "/org/example/Counter")
    /// ```
    ///
    /// The types of D-Bus come from the types of the closures.
    ///
    /// Each call runs in a task. The closures begin in the order of the messages. So two calls of an actor's method
    /// enter the actor in this order, unless the tasks suspend before. The closure finds the caller in
    /// ``Invocation/current``. The caller gets the thrown error: a ``GLibError`` under its
    /// ``GLibError/dbusName`` or its domain and code, and other errors as `org.freedesktop.DBus.Error.Failed`.
    ///
    /// A closure without an isolation runs on the loop on which the object was exported. So it can use GIO.
    public struct Interface: Sendable {
        typealias Body = @Sendable (_ arguments: Variant) async throws -> Variant

        struct Member: Sendable {
            /// The XML element without its name.
            let xml: String
            let body: Body
        }

        struct Property: Sendable {
            let signature: String
            let get: @Sendable () async throws -> Variant
            let set: (@Sendable (Variant) async throws -> Void)?
        }

        /// The name of the interface. Threads: any.
        public let name: String

        private(set) var methods: [String: Member] = [:]
        private(set) var properties: [String: Property] = [:]
        private var signals: [String: String] = [:]
        private var invalidName: GLibError?

        /// Creates an interface without members. An invalid name is an error when the interface is exported.
        ///
        /// Threads: any.
        public init(_ name: String) {
            self.name = name
            do { try DBus.check(name, .interface) } catch { invalidName = error }
        }

        /// Adds a method. A method of the same name is replaced.
        ///
        /// - Parameters:
        ///   - name: the name of the method.
        ///   - arguments: the names of the arguments, for other programs' tools. They may be left out.
        ///   - results: the names of the results. They may be left out.
        ///   - body: called for each call of the method. It returns nothing, a value, or a tuple. It runs on the
        ///     executor of its isolation, such as an actor's.
        ///
        /// Threads: any.
        public mutating func method<each Argument: VariantValue, each Result: VariantValue>(
            _ name: String, arguments: [String] = [], results: [String] = [],
            _ body: @escaping @Sendable (repeat each Argument) async throws -> (repeat each Result)
        ) {
            check([name] + arguments + results)
            let xml = Self.inputs(repeat (each Argument).self, names: arguments)
            methods[name] = Member(xml: xml + Self.outputs(repeat (each Result).self, names: results)) { variant in
                let values = try VariantTuple<repeat each Argument>(variant: variant).values
                let results = try await body(repeat each values)
                return try VariantTuple(repeat each results).encoded()
            }
        }

        /// Adds a method with one result. A method of the same name is replaced.
        ///
        /// - Parameters:
        ///   - name: the name of the method.
        ///   - arguments: the names of the arguments, for other programs' tools. They may be left out.
        ///   - results: the name of the result. It may be left out.
        ///   - body: called for each call of the method. It runs on the executor of its isolation, such as an actor's.
        ///
        /// Threads: any.
        public mutating func method<each Argument: VariantValue, Result: VariantValue>(
            _ name: String, arguments: [String] = [], results: [String] = [],
            _ body: @escaping @Sendable (repeat each Argument) async throws -> Result
        ) {
            check([name] + arguments + results)
            let xml = Self.inputs(repeat (each Argument).self, names: arguments)
            methods[name] = Member(xml: xml + Self.outputs(Result.self, names: results)) { variant in
                let values = try VariantTuple<repeat each Argument>(variant: variant).values
                return try VariantTuple(try await body(repeat each values)).encoded()
            }
        }

        /// Adds a property. A property of the same name is replaced.
        ///
        /// - Parameters:
        ///   - name: the name of the property.
        ///   - get: returns the value.
        ///   - set: takes a new value; nil if other programs cannot change the property. Call
        ///     ``ExportedObject/propertiesChanged(_:invalidated:)`` after each change.
        ///
        /// Threads: any.
        public mutating func property<Value: VariantValue>(
            _ name: String, get: @escaping @Sendable () async throws -> Value,
            set: (@Sendable (Value) async throws -> Void)? = nil
        ) {
            check([name])
            var setVariant: (@Sendable (Variant) async throws -> Void)?
            if let set { setVariant = { variant in try await set(Value(variant: variant)) } }
            properties[name] = Property(
                signature: Value.signature, get: { try Variant(try await get()) }, set: setVariant)
        }

        /// Adds a signal, so that other programs' tools find it. To send the signal, use ``ExportedObject/emit(_:_:)``.
        ///
        /// - Parameters:
        ///   - name: the name of the signal.
        ///   - type: the types of the arguments.
        ///   - arguments: the names of the arguments. They may be left out.
        ///
        /// Threads: any.
        public mutating func signal<each Argument: VariantValue>(
            _ name: String, _ type: repeat (each Argument).Type, arguments: [String] = []
        ) {
            check([name] + arguments)
            signals[name] = Self.xml(repeat (each Argument).self, names: arguments, "")
        }

        /// The description of the interface as a `node` in D-Bus's introspection format. Threads: any.
        public var xml: String {
            let methods = methods.map { "<method name='\($0)'>\($1.xml)</method>" }
            let signals = signals.map { "<signal name='\($0)'>\($1)</signal>" }
            let properties = properties.map { name, property in
                let access = property.set == nil ? "read" : "readwrite"
                return "<property name='\(name)' type='\(property.signature)' access='\(access)'/>"
            }
            let members = (methods.sorted() + signals.sorted() + properties.sorted()).map { "    \($0)\n" }
            return "<node>\n  <interface name='\(name)'>\n\(members.joined())  </interface>\n</node>\n"
        }

        /// The description for GLib. The caller frees it by `g_dbus_node_info_unref`.
        ///
        /// - Throws: a ``GLibError`` if a name is not valid.
        func node() throws(GLibError) -> UnsafeMutablePointer<GDBusNodeInfo> {
            if let invalidName { throw invalidName }
            let node = try GLibError.check { g_dbus_node_info_new_for_xml(xml, $0) }
            guard let node else { throw GLibError(.failed, "GLib does not understand \(xml)") }
            return node
        }

        private mutating func check(_ names: [String]) {
            for name in names {
                do { try DBus.check(name, .member) } catch { invalidName = invalidName ?? error }
            }
        }

        private static func inputs<each Argument: VariantValue>(
            _ type: repeat (each Argument).Type, names: [String]
        ) -> String {
            xml(repeat (each Argument).self, names: names, " direction='in'")
        }

        private static func outputs<each Argument: VariantValue>(
            _ type: repeat (each Argument).Type, names: [String]
        ) -> String {
            xml(repeat (each Argument).self, names: names, " direction='out'")
        }

        private static func xml<each Argument: VariantValue>(
            _ type: repeat (each Argument).Type, names: [String], _ direction: String
        ) -> String {
            var (xml, index) = ("", 0)
            func add(_ type: String) {
                let name = index < names.count ? " name='\(names[index])'" : ""
                xml += "<arg\(name) type='\(type)'\(direction)/>"
                index += 1
            }
            repeat add((each Argument).signature)
            return xml
        }
    }
}
