// SPDX-License-Identifier: Apache-2.0
// Messages that D-Bus does not allow are refused here: a bus would close the connection.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A `v` in a `v`, this many times.
private func nested(_ depth: Int) throws -> Variant {
    var variant = try Variant(Int32(1))
    for _ in 0..<depth { variant = variant.encoded() }
    return variant
}

private func booleans(_ count: Int) -> Variant {
    let bytes = [UInt8](repeating: 1, count: count)
    let type = "b".withCString { g_variant_type_new($0) }
    defer { g_variant_type_free(type) }
    return Variant(sinking: g_variant_new_fixed_array(type, bytes, gsize(count), 1))
}

/// Values that a message can carry, and values that it cannot, with the longest or deepest of each kind.
private func limits() throws -> [(name: String, value: Variant, isAllowed: Bool)] {
    func parse(_ text: String) throws -> Variant { try Variant(parsing: text) }
    func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
    return [
        ("variants", try nested(63), true), ("too many variants", try nested(64), false),
        ("arrays", try parse("@\(repeated("a", 32))i []"), true),
        ("too many arrays", try parse("@\(repeated("a", 33))i []"), false),
        ("structures", try parse("\(repeated("(", 32))1\(repeated(",)", 32))"), true),
        ("too many structures", try parse("\(repeated("(", 33))1\(repeated(",)", 33))"), false),
        ("a signature", try parse("@g '\(repeated("i", 255))'"), true),
        ("a long signature", try parse("@g '\(repeated("i", 256))'"), false),
        ("a deep signature", try parse("@g '\(repeated("a", 33))i'"), false),
        ("a value that may be missing", try parse("@mi 1"), false), ("an empty structure", try parse("()"), false),
        ("an empty structure inside", try parse("[<1>, <()>]"), false),
        ("too large an array", try Variant([UInt8](repeating: 1, count: 64 << 20 + 1)), false),
        // One byte each here, and four bytes on the wire.
        ("too many truth values", booleans(17 << 20), false), ("empty strings", try Variant(["", ""]), true),
        ("a key that is an array", try Variant([[[String]: String]]()), false),
    ]
}

/// The closures of the service answer with these values, and throw these errors.
private func testInterface(_ values: [Variant], _ errors: [any Error & Sendable]) -> DBus.Interface {
    var interface = DBus.Interface("org.grun.Test")
    interface.method("Take") { (_: Variant) in }
    interface.method("Give") { (index: Int32) in values[Int(index)] }
    interface.method("Fail") { (index: Int32) throws in throw errors[Int(index)] }
    return interface
}

@Suite("D-Bus messages") struct DBusMessageTests {
    /// Runs a body with a service on a bus, and then checks that both are still on the bus.
    private func onBus(
        function: String = #function, values: [Variant] = [], errors: [any Error & Sendable] = [],
        _ body: @Sendable (isolated Worker, _ client: DBus.Connection, _ service: String) async throws -> Void
    ) async throws {
        try await onWorker(function: function) { worker in
            let bus = try PrivateBus()
            let (service, client) = (try await bus.connect(), try await bus.connect())
            let exported = try service.export(testInterface(values, errors), at: "/t")
            let name = try #require(service.uniqueName)
            try await body(worker, client, name)
            try await client.call(name, "/t", "org.grun.Test", "Take", Variant(true))
            #expect(!client.isClosed && !service.isClosed)
            withExtendedLifetime(exported) {}
        }
    }

    @Test("an argument, a result and a signal beyond the limits are errors, and up to the limits they arrive")
    func values() async throws {
        let limits = try limits()
        try await onBus(values: limits.map(\.value)) { worker, client, service in
            let own = try client.export(DBus.Interface("org.grun.Own"), at: "/t")
            for (index, (name, value, isAllowed)) in limits.enumerated() {
                for call in [
                    { _ in try await client.call(service, "/t", "org.grun.Test", "Take", value) },
                    { _ in
                        _ = try await client.call(
                            service, "/t", "org.grun.Test", "Give", Int32(index), returning: Variant.self)
                    },
                    { _ in try own.emit("Signal", value) },
                ] as [(isolated Worker) async throws -> Void] {
                    if isAllowed {
                        try await call(worker)
                    } else {
                        try await expectError(G_IO_ERROR_INVALID_ARGUMENT, on: worker, call)
                    }
                }
                #expect(!client.isClosed, "\(name)")
            }
        }
    }

    @Test("an error without a name that D-Bus allows comes as Failed, with its text")
    func errors() async throws {
        let long = g_quark_from_string("org-grun-\(String(repeating: "q", count: 300))")
        let text = String(repeating: "x", count: 2 << 20)
        let errors = [
            GLibError(domain: g_io_error_quark(), code: -1, message: "a"),
            GLibError(domain: long, code: 1, message: "a"),
            GLibError(domain: 0, code: 0, message: "a", dbusName: "a.\(String(repeating: "b", count: 300))"),
            GLibError(domain: 1 << 30, code: 0, message: "a"), GLibError(G_DBUS_ERROR_FAILED, text),
        ]
        try await onBus(errors: errors) { _, client, service in
            for index in errors.indices {
                do {
                    try await client.call(service, "/t", "org.grun.Test", "Fail", Int32(index))
                    Issue.record("no error")
                } catch let error as GLibError {
                    #expect(error.dbusName == "org.freedesktop.DBus.Error.Failed")
                    #expect(text.hasPrefix(error.message) && error.message.count == 1 << 20 || error.message == "a")
                }
            }
        }
    }

    @Test("names of more than 255 bytes, and those that are reserved for D-Bus, are refused")
    func names() async throws {
        try await onBus { worker, client, service in
            for (path, interface, member) in [
                ("/t", "a.b", String(repeating: "M", count: 256)),
                ("/t", "a.\(String(repeating: "b", count: 254))", "M"),
                ("/t", "org.freedesktop.DBus.Local", "M"), ("/org/freedesktop/DBus/Local", "a.b", "M"),
            ] {
                try await expectError(G_IO_ERROR_INVALID_ARGUMENT, on: worker) { _ in
                    try await client.call(service, DBus.ObjectPath(path), interface, member)
                }
                #expect(throws: GLibError.self) { try client.send(service, DBus.ObjectPath(path), interface, member) }
            }
            try await expectError(G_DBUS_ERROR_UNKNOWN_METHOD, on: worker) { _ in
                try await client.call(service, "/t", "org.grun.Test", String(repeating: "M", count: 255))
            }
        }
    }

    @Test("signals are selected by a path and an argument that have no place in a rule of the bus")
    func selection() async throws {
        try await onBus { _, client, _ in
            let long = "/" + String(repeating: "p", count: 1000)
            let exported = try ["/t", DBus.ObjectPath(long)].map {
                try client.export(DBus.Interface("org.grun.Own"), at: $0)
            }
            for text in ["it's", "',type='error", String(repeating: "x", count: 1100), #"a,b\"#, ""] {
                let signals = try client.signals(interface: "org.grun.Own", path: "/t", argument0: text)
                for argument in ["no", text, "yes"] { for object in exported { try object.emit("Signal", argument) } }
                try exported[0].emit("Signal", Int32(1))
                try exported[0].emit("Signal", text, "last")
                var iterator = signals.makeAsyncIterator()
                for body in [VariantTuple(text).encoded, VariantTuple(text, "last").encoded] {
                    let signal = try #require(await iterator.next())
                    #expect(try signal.path == "/t" && signal.body == body())
                }
            }
            let signals = try client.signals(interface: "org.grun.Own", path: DBus.ObjectPath(long))
            for object in exported { try object.emit("Signal") }
            var iterator = signals.makeAsyncIterator()
            #expect(try await iterator.next()?.path.description == long)
        }
    }

    @Test("a message without an answer arrives, and a peer has no sender")
    func send() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let count = Shared<Int32>(0)
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Take") { (number: Int32) in count.value = number }
            let exported = try server.export(interface, at: "/t")
            try client.send(nil, "/t", "org.grun.Test", "Take", Int32(7))
            try client.send(nil, "/t", "org.grun.Test", "Missing")
            await until { count.value == 7 }
            #expect(throws: GLibError.self) { try client.signals(sender: "a.b") }
            exported.unexport()
            try await client.close()
            #expect(throws: GLibError.self) { try client.send(nil, "/t", "org.grun.Test", "Take", Int32(7)) }
        }
    }

    @Test("253 file descriptors go with a message, and more are refused")
    func descriptors() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Count") { Int32(DBus.Invocation.current?.descriptors?.count ?? 0) }
            interface.method("Give") {
                let invocation = try #require(DBus.Invocation.current)
                return try await withThrowingTaskGroup { group in
                    for _ in 0..<254 { group.addTask { _ = try invocation.append(0) } }
                    try await group.waitForAll()
                }
            }
            let exported = try server.export(interface, at: "/t")
            let descriptors = DBus.Descriptors()
            for _ in 0..<253 { _ = try descriptors.append(0) }
            let reply = try await client.call(
                nil, "/t", "org.grun.Test", "Count", body: nil, descriptors: descriptors)
            #expect(try reply.body[0].value(as: Int32.self) == 253)
            _ = try descriptors.append(0)
            try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                _ = try await client.call(nil, "/t", "org.grun.Test", "Count", body: nil, descriptors: descriptors)
            }
            try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                try await client.call(nil, "/t", "org.grun.Test", "Give")
            }
            exported.unexport()
        }
    }
}
