// SPDX-License-Identifier: Apache-2.0
// The structures that scripts/dbus-proxy writes, with a service and with a bus.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

private typealias Point = VariantTuple<Int32, Int32>
private typealias Nested = [DBus.ObjectPath: VariantTuple<String, [UInt16: [UInt8]]>]

/// The calls that the service has received.
private final class Service: Sendable {
    let title = Shared("first")
    let secret = Shared("")
    let notified = Shared<Int32>(0)

    func interface() -> DBus.Interface {
        var interface = DBus.Interface(Everything.interface)
        interface.method("Numbers") {
            (byte: UInt8, a: Int16, b: UInt16, c: Int32, d: UInt32, e: Int64, f: UInt64, g: Double, isSet: Bool) in
            let integers = Double(byte) + Double(a) + Double(b) + Double(c) + Double(d) + Double(e) + Double(f)
            return isSet ? integers + g : 0
        }
        interface.method("Texts") { (text: String, path: DBus.ObjectPath, signature: DBus.Signature) in
            (text, path, signature)
        }
        interface.method("Containers") {
            (numbers: [Int32], options: [String: Variant], points: [Point], nested: Nested, value: Variant) in
            #expect(nested["/n"]?.values.1 == [1: [2, 3]])
            return (options, points + numbers.map { Point($0, $0) }, value)
        }
        interface.method("Duplicate") { (handle: DBus.Handle, count: UInt32) in
            let invocation = try #require(DBus.Invocation.current)
            let descriptor = try #require(invocation.descriptors).duplicate(handle)
            defer { close(descriptor) }
            return try (0..<count).map { _ in try invocation.append(descriptor) }
        }
        interface.method("Take") { (handle: DBus.Handle) in
            _ = close(try #require(DBus.Invocation.current?.descriptors).duplicate(handle))
        }
        interface.method("switch") { (a: Int32, b: Int32, c: Int32, d: Int32, e: Int32) in
            (((a * 10 + b) * 10 + c) * 10 + d) * 10 + e
        }
        interface.method("Ask") { (a: Int32, b: Int32) in (b, a) }
        interface.method("Notify") { [notified] (number: Int32) in notified.value = number }
        interface.method("Title") { [title] in title.value += "!" }
        interface.property("Title", get: { [title] in title.value }, set: { [title] in title.value = $0 })
        interface.property("Size", get: { UInt64(1) << 40 })
        interface.property("Points", get: { [Point(1, 2)] })
        interface.property("Version", get: { UInt32(3) })
        interface.property("class", get: { "a class" })
        return interface
    }
}

@Suite("D-Bus structures of dbus-proxy") struct DBusGeneratedTests {
    private func withService(
        function: String = #function,
        _ body: @Sendable (isolated Worker, Everything, Service, DBus.ExportedObject) async throws -> Void
    ) async throws {
        try await onWorker(function: function) { worker in
            let (server, client) = try await worker.peers()
            let service = Service()
            let exported = try server.export(service.interface(), at: "/t")
            try await body(worker, Everything(client, nil, "/t"), service, exported)
            exported.unexport()
            try await client.close()
        }
    }

    @Test("methods have the labels, the types and the results of the XML")
    func methods() async throws {
        try await withService { worker, everything, service, _ in
            let sum = try await everything.numbers(
                aByte: 1, int16: -2, uint16: 4, int32: -8, uint32: 16, int64: -32, uint64: 64, double: 0.5, isSet: true)
            #expect(sum == 43.5)
            let texts = try await everything.texts(text: "é", path: "/a", signature: "a{sv}")
            #expect(texts.theText == "é" && texts.path == "/a" && texts.signature == "a{sv}")
            let found = try await everything.containers(
                numbers: [7], options: ["k": try Variant(true)], points: [Point(1, 2)],
                nested: ["/n": VariantTuple("x", [1: [2, 3]])], value: try Variant("v"))
            #expect(try found.options.value("k") == true)
            #expect(found.points.map(\.values.0) == [1, 7])
            #expect(try found.value.value(as: String.self) == "v")
            let digits = try await everything.switch(
                in: 1, default: 2, timeoutArgument: 3, selfArgument: 4, connection: 5)
            #expect(digits == 12345)
            #expect(try await everything.ask(1, 2) == (2, 1))
            try await everything.title()
            try everything.notify(number: 9)
            await until { service.notified.value == 9 }
            try await expectError(G_IO_ERROR_TIMED_OUT, on: worker) { _ in try await everything.title(timeout: .zero) }
        }
    }

    @Test("file descriptors go with the handles")
    func descriptors() async throws {
        try await withService { _, everything, _, _ in
            let pipe = Pipe()
            let descriptors = DBus.Descriptors()
            let handle = try descriptors.append(pipe.writeEnd)
            try await everything.take(descriptor: handle, descriptors: descriptors)
            let reply = try await everything.duplicate(descriptor: handle, count: 2, descriptors: descriptors)
            #expect(reply.descriptorsArgument.count == 2)
            for handle in reply.descriptorsArgument {
                let descriptor = try #require(reply.descriptors).duplicate(handle)
                #expect(write(descriptor, "x", 1) == 1)
                close(descriptor)
            }
            #expect(pipe.drain() == "xx")
        }
    }

    @Test("properties are read, written and followed")
    func properties() async throws {
        try await withService { worker, everything, service, exported in
            #expect(try await everything.titleProperty() == "first")
            try await everything.setTitle("second")
            #expect(service.title.value == "second")
            #expect(try await everything.size() == 1 << 40)
            #expect(try await everything.version() == 3)
            #expect(try await everything.points()[0].values.1 == 2)
            #expect(try await everything.class() == "a class")
            try await expectError(G_DBUS_ERROR_INVALID_ARGS, on: worker) { _ in try await everything.setSecret("x") }
            let all = try await everything.properties()
            #expect(all.title == "second" && all.version == 3 && all.class == "a class" && all.points?.count == 1)
            var changes = try everything.propertyChanges().makeAsyncIterator()
            try exported.propertiesChanged(["Title": Variant(1.5)])
            try exported.propertiesChanged(["Title": Variant("third")], invalidated: ["Size"])
            let change = try #require(await changes.next())
            #expect(change.changed.title == "third" && change.changed.size == nil && change.invalidated == ["Size"])
            // The copy of a proxy has the same types.
            let proxy = try await everything.connection.proxy(nil, everything.path, Everything.interface)
            #expect(try Everything.Properties(proxy.properties).version == 3)
        }
    }

    @Test("signals have the types of the XML, and others are left out")
    func signals() async throws {
        try await withService { _, everything, _, exported in
            let (moved, renamed, done) = (try everything.moved(), try everything.renamed(), try everything.done())
            try exported.emit("Moved", Int32(1))
            try exported.emit("Moved", Int32(1), Int32(2))
            try exported.emit("Renamed", "x")
            try exported.emit("Done")
            var (moves, names, ends) = (
                moved.makeAsyncIterator(), renamed.makeAsyncIterator(), done.makeAsyncIterator()
            )
            let move = try #require(await moves.next())
            #expect(move.x == 1 && move.y == 2)
            #expect(try await names.next() == "x")
            #expect(try await ends.next() != nil)
        }
    }

    @Test("the structure of the bus itself works")
    func bus() async throws {
        try await onWorker { _ in
            let daemon = try PrivateBus()
            let connection = try await daemon.connect()
            let bus = MessageBus(connection, "org.freedesktop.DBus", "/org/freedesktop/DBus")
            var owners = try bus.nameOwnerChanged().makeAsyncIterator()
            #expect(try await bus.requestName("org.grun.Name", 0) == 1)
            let change = try #require(await owners.next())
            #expect(change.0 == "org.grun.Name" && change.1.isEmpty && change.2 == connection.uniqueName)
            #expect(try await bus.getNameOwner("org.grun.Name") == connection.uniqueName)
            #expect(try await bus.getConnectionUnixUser("org.grun.Name") == getuid())
            #expect(try await bus.listNames().contains("org.grun.Name"))
            #expect(try await bus.properties().interfaces == bus.interfaces())
        }
    }
}
