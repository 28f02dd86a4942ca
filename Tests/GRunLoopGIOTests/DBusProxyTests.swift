// SPDX-License-Identifier: Apache-2.0
// Proxies and object managers: the copy of the properties, and its changes.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("D-Bus proxies") struct DBusProxyTests {
    @Test("a proxy has the properties, follows their changes, and calls and listens")
    func proxy() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let title = Shared("first")
            let asked = Counter()
            var interface = DBus.Interface("org.grun.Test")
            interface.property(
                "Title",
                get: {
                    asked.increment()
                    return title.value
                }, set: { title.value = $0 })
            interface.property("Size", get: { UInt32(1) })
            interface.method("Add") { (a: Int32, b: Int32) in a &+ b }
            let exported = try server.export(interface, at: "/t")
            let proxy = try await client.proxy(nil, "/t", "org.grun.Test")
            #expect(try proxy.cached("Title") == "first")
            #expect(try proxy.cached("Missing", as: String.self) == nil)
            #expect(throws: VariantError.wrongType(expected: "s", found: "u")) {
                try proxy.cached("Size", as: String.self)
            }
            #expect(asked.value == 1)

            try await proxy.set("Title", "second")
            #expect(try proxy.cached("Title") == "first")
            try exported.propertiesChanged(["Title": Variant(title.value)], invalidated: ["Size"])
            var changes = proxy.changes.makeAsyncIterator()
            var others = proxy.changes.makeAsyncIterator()
            let change = try #require(await changes.next())
            #expect(try await others.next()?.invalidated == change.invalidated)
            #expect(try change.changed.value("Title") == "second")
            #expect(change.invalidated == ["Size"])
            #expect(proxy.properties.keys.sorted() == ["Title"])
            #expect(try proxy.cached("Title") == "second")
            let size = try await proxy.get("Size", as: UInt32.self)
            #expect(size == 1)
            #expect(try proxy.cached("Size") == UInt32(1))
            #expect(asked.value == 1)

            let sum = try await proxy.call("Add", Int32(1), Int32(2), returning: Int32.self)
            #expect(sum == 3)
            let signals = try proxy.signals("Moved")
            try exported.emit("Moved", Int32(9))
            for try await signal in signals {
                #expect(try signal.arguments(as: Int32.self) == 9)
                break
            }
            try await server.close()
            await #expect(throws: GLibError.self) { try await changes.next() }
        }
    }

    @Test("a sequence of changes keeps the subscription after its proxy is released")
    func sequenceWithoutProxy() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
            let references = client.references
            do {
                var changes = try await client.proxy(nil, "/t", "org.grun.Test").changes.makeAsyncIterator()
                for number in 0..<3 as Range<Int32> {
                    try exported.propertiesChanged(["Number": Variant(number)])
                    #expect(try await changes.next()?.changed.value("Number") == number)
                }
            }
            await until { client.references <= references }
        }
    }

    @Test("a sequence of changes that is made after the end of the loop throws an error, and is released")
    func sequenceOfEndedLoop() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
            let thread = try Worker(function: "proxy")
            let proxy = try await thread.run { _ in try await client.proxy(nil, "/t", "org.grun.Test") }
            await thread.thread.stopAndWait()
            weak var buffer: AnyObject?
            do {
                let changes = proxy.changes
                buffer = Mirror(reflecting: changes).descendant("buffer") as AnyObject?
                #expect(buffer != nil)
                await #expect(throws: GRunLoop.LoopEndedError.self) { for try await _ in changes {} }
            }
            #expect(buffer == nil)
            // No signals come any more, so the caller's loop handles the reply.
            try await proxy.reload()
            exported.unexport()
        }
    }

    @Test("a new owner of the name empties the copy, until it is loaded again")
    func newOwner() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let client = try await bus.connect()
            func service(_ title: String, isolation: isolated (any Actor)? = #isolation) async throws
                -> (DBus.Connection, DBus.ExportedObject, DBus.OwnedName)
            {
                let connection = try await bus.connect()
                var interface = DBus.Interface("org.grun.Test")
                interface.property("Title", get: { title })
                let exported = try connection.export(interface, at: "/t")
                return (connection, exported, try await connection.own("org.grun.Name"))
            }
            let first = try await service("first")
            let proxy = try await client.proxy("org.grun.Name", "/t", "org.grun.Test")
            #expect(try proxy.cached("Title") == "first")
            var changes = proxy.changes.makeAsyncIterator()
            try await first.0.close()
            let change = try #require(await changes.next())
            #expect(change.changed.isEmpty && change.invalidated == ["Title"])
            #expect(proxy.properties.isEmpty)
            let second = try await service("second")
            try await proxy.reload()
            #expect(try proxy.cached("Title") == "second")
            // Properties of another program on the same path do not count.
            let other = try await service("other")
            try other.1.propertiesChanged(["Title": Variant("other")])
            try second.1.propertiesChanged(["Title": Variant("third")])
            let next = try #require(await changes.next())
            #expect(try next.changed.value("Title") == "third")
            withExtendedLifetime((first, second, other)) {}
        }
    }

    @Test("an object manager has the objects, and follows their interfaces and properties")
    func objectManager() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            typealias Interfaces = DBus.ObjectManager.Interfaces
            let device: Interfaces = ["a.Device": ["Name": try Variant("x")], "a.Battery": [:]]
            var interface = DBus.Interface("org.freedesktop.DBus.ObjectManager")
            interface.method("GetManagedObjects") { [DBus.ObjectPath("/d/1"): device] }
            let exported = try server.export(interface, at: "/")
            let part = try server.export(DBus.Interface("a.Device"), at: "/d/2")
            let manager = try await client.objectManager(nil, "/")
            let changes = manager.changes
            #expect(manager.objects == ["/d/1": device])

            let foreign = try server.export(DBus.Interface("a.Device"), at: "/foreign")
            try foreign.propertiesChanged(["Name": Variant("z")])
            try exported.emit("InterfacesAdded", DBus.ObjectPath("/d/2"), device)
            try part.propertiesChanged(["Name": Variant("y")])
            try exported.emit("InterfacesRemoved", DBus.ObjectPath("/d/2"), ["a.Battery"])
            try exported.emit("InterfacesRemoved", DBus.ObjectPath("/d/1"), ["a.Battery", "a.Device"])
            var texts: [String] = []
            for try await change in changes {
                switch change {
                case .added(let path, let interfaces): texts.append("+\(path) \(interfaces.keys.sorted())")
                case .removed(let path, let interfaces): texts.append("-\(path) \(interfaces)")
                case .changed(let path, let interface, let changes):
                    texts.append("\(path) \(interface) \(changes.changed)")
                }
                if texts.count == 4 { break }
            }
            #expect(
                texts == [
                    "+/d/2 [\"a.Battery\", \"a.Device\"]", "/d/2 a.Device [\"Name\": 'y']", "-/d/2 [\"a.Battery\"]",
                    "-/d/1 [\"a.Battery\", \"a.Device\"]",
                ])
            #expect(manager.objects == ["/d/2": ["a.Device": ["Name": try Variant("y")]]])
            // The list follows also after the iteration.
            try exported.emit("InterfacesRemoved", DBus.ObjectPath("/d/2"), ["a.Device"])
            await until { manager.objects.isEmpty }
        }
    }
}
