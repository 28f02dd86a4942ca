// SPDX-License-Identifier: Apache-2.0
// The object of the message bus itself.

import GRunLoop

extension DBus {
    /// The name, the interface and the path of the message bus.
    enum MessageBus {
        static let name = "org.freedesktop.DBus"
        static let interface = "org.freedesktop.DBus"
        static let path: ObjectPath = "/org/freedesktop/DBus"
    }
}

extension DBus.SignalMatch {
    /// The signals of the message bus about a name; nil for each name.
    init(about name: String?, member: String? = nil) {
        self.init(
            sender: DBus.MessageBus.name, interface: DBus.MessageBus.interface, member: member,
            path: DBus.MessageBus.path, argument0: name)
    }

    /// The changes of a name's owner.
    init(ownerOf name: String?) { self.init(about: name, member: "NameOwnerChanged") }
}

extension DBus.Connection {
    /// Calls a method of the message bus. A closure gets the result first: see the internal `call`.
    func callBus<Result: VariantValue>(
        _ member: String, _ body: Variant, returning result: Result.Type,
        isolation: isolated (any Actor)? = #isolation, received: @escaping @Sendable (Result?) -> Void = { _ in }
    ) async throws -> Result {
        let reply = try await call(
            DBus.MessageBus.name, DBus.MessageBus.path, DBus.MessageBus.interface, member, body: body,
            expecting: VariantTuple<Result>.signature
        ) { body in
            received(try? body?[0].value(as: Result.self))
        }
        return try reply.body[0].value(as: Result.self)
    }

    func requireBus() throws(GLibError) {
        if uniqueName == nil { throw GLibError(.notSupported, "The connection has no message bus") }
    }
}
