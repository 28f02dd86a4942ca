// SPDX-License-Identifier: Apache-2.0
// The order of answers and signals: a copy is never older than the signals that were delivered.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// GDBus would release a counter on the connection's loop, which has ended then.
private let counters = Shared<[Counter]>([])

extension DBus.Connection {
    /// Counts the messages that come from now on. GDBus has queued all counted messages but the last for the loop.
    fileprivate func countMessages() -> Counter {
        let counter = Counter()
        counters.update { $0.append(counter) }
        g_dbus_connection_add_filter(
            pointer,
            { _, message, isIncoming, data in
                if isIncoming != 0, let data { Unmanaged<Counter>.fromOpaque(data).takeUnretainedValue().increment() }
                return message
            }, Unmanaged.passUnretained(counter).toOpaque(), nil)
        return counter
    }
}

extension Worker {
    /// Starts a body on this worker, and blocks the worker until a number of messages has come. So the loop delivers
    /// them all in one pass.
    fileprivate func start<Value: Sendable>(
        until messages: Counter, is count: Int,
        _ body: @escaping @Sendable (isolated Worker) async throws -> Value
    ) async -> Task<Value, any Error> {
        let isBegun = Flag()
        let task = Task {
            _ = self
            isBegun.set()
            return try await body(self)
        }
        await until { isBegun.isSet }
        #expect(waitUntil { messages.value >= count })
        return task
    }
}

@Suite("D-Bus order") struct DBusOrderTests {
    /// Runs a test with a service on another thread. `afterwards` is called there after the answer of each property.
    private func withService(
        function: String = #function,
        afterwards: @escaping @Sendable (DBus.ExportedObject) throws -> Void,
        _ body: @Sendable (isolated Worker, DBus.Connection) async throws -> Void
    ) async throws {
        try await onWorker(function: function) { worker in
            let (server, client) = try await worker.peers()
            let service = try Worker(function: "service")
            let exported = Shared<DBus.ExportedObject?>(nil)
            let answer: @Sendable () -> Void = {
                Task {
                    try await service.run { _ in
                        guard let object = exported.value else { return }
                        try afterwards(object)
                        try object.emit("End")
                    }
                }
            }
            exported.value = try await service.run { _ in
                var interface = DBus.Interface("org.freedesktop.DBus.ObjectManager")
                interface.property(
                    "Title",
                    get: {
                        answer()
                        return "old"
                    })
                interface.method("GetManagedObjects") {
                    answer()
                    return [DBus.ObjectPath("/old"): ["a.b": [String: Variant]()]]
                }
                return try server.export(interface, at: "/t")
            }
            try await body(worker, client)
            exported.value?.unexport()
            exported.value = nil
            await service.thread.stopAndWait()
        }
    }

    @Test("a change after the answer of GetAll or Get stays in the copy")
    func proxy() async throws {
        let name = "org.freedesktop.DBus.ObjectManager"
        try await withService(afterwards: { try $0.propertiesChanged(["Title": Variant("new")]) }) { worker, client in
            let messages = client.countMessages()
            let making = await worker.start(until: messages, is: 3) { _ in try await client.proxy(nil, "/t", name) }
            let proxy = try await making.value
            try await until { try proxy.cached("Title") == "new" }
            var changes = proxy.changes.makeAsyncIterator()
            let asking = await worker.start(until: messages, is: 6) { _ in
                try await proxy.get("Title", as: String.self)
            }
            #expect(try await asking.value == "old")
            _ = try await changes.next()
            #expect(try proxy.cached("Title") == "new")
        }
    }

    @Test("an answer to another loop is handled in the order of the changes", arguments: [false, true])
    func anotherLoop(all: Bool) async throws {
        let (name, isBlocked) = ("org.freedesktop.DBus.ObjectManager", Flag())
        try await withService(afterwards: { object in
            guard isBlocked.isSet else { return }
            try object.propertiesChanged(["Title": Variant("new")])
        }) { worker, client in
            let proxy = try await client.proxy(nil, "/t", name)
            let other = try Worker(function: "other loop")
            let mayGoOn = Flag()
            // The other loop asks, and is busy until the change was handled here.
            let asking = Task {
                try await other.run { _ in
                    isBlocked.set()
                    if all { try await proxy.reload() } else { _ = try await proxy.get("Title", as: String.self) }
                }
            }
            await until { isBlocked.isSet }
            let blocking = Task { await other.run { _ in #expect(mayGoOn.wait(timeout: Patience.normal * 3)) } }
            try await until { try proxy.cached("Title") == "new" }
            mayGoOn.set()
            await blocking.value
            try await asking.value
            #expect(try proxy.cached("Title") == "new")
            await other.thread.stopAndWait()
        }
    }

    @Test("changes that a busy loop has not handled come before the end of the connection")
    func changesBeforeTheEnd() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
            let other = try Worker(function: "busy loop")
            let proxy = try await other.run { _ in try await client.proxy(nil, "/t", "org.grun.Test") }
            let changes = proxy.changes
            let signals = try await other.run { _ in try client.signals(interface: "org.grun.Test") }
            let (isBlocked, mayGoOn) = (Flag(), Flag())
            let blocking = Task {
                await other.run { _ in
                    isBlocked.set()
                    #expect(mayGoOn.wait(timeout: Patience.normal * 3))
                }
            }
            await until { isBlocked.isSet }
            for number in 0..<10 as Range<Int32> {
                try exported.propertiesChanged(["Number": Variant(number)])
                try exported.emit("Number", number)
            }
            try await server.close()
            #expect(try await client.untilClosed() != nil)
            mayGoOn.set()
            await blocking.value
            let (changeCount, signalCount) = (Counter(), Counter())
            await #expect(throws: GLibError.self) { for try await _ in changes { changeCount.increment() } }
            await #expect(throws: GLibError.self) { for try await _ in signals { signalCount.increment() } }
            #expect(changeCount.value == 10 && signalCount.value == 10)
            await other.thread.stopAndWait()
        }
    }

    @Test("an object that is removed after the answer of GetManagedObjects is not in the list")
    func objectManager() async throws {
        try await withService(afterwards: {
            try $0.emit("InterfacesRemoved", DBus.ObjectPath("/old"), ["a.b"])
            try $0.emit("InterfacesAdded", DBus.ObjectPath("/new"), ["a.b": [String: Variant]()])
        }) { worker, client in
            let messages = client.countMessages()
            let making = await worker.start(until: messages, is: 4) { _ in try await client.objectManager(nil, "/t") }
            let manager = try await making.value
            await until { manager.objects["/new"] != nil }
            #expect(manager.objects.count == 1)
        }
    }

    @Test("a name that is lost after the answer of the bus is not owned, and the last owner comes last")
    func names() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (one, other, watching) = (try await bus.connect(), try await bus.connect(), try await bus.connect())
            // The other connection asks on its own thread, when the first has the answer.
            let taker = try Worker(function: "taker")
            let messages = one.countMessages()
            let watched = watching.countMessages()
            let taking = Task {
                try await taker.run { _ in
                    // NameAcquired and the answer.
                    #expect(waitUntil { messages.value >= 2 && watched.value >= 1 })
                    return try await other.own("org.grun.Name", options: .replace)
                }
            }
            let watches = Task {
                _ = worker
                return try await watching.watch("org.grun.Name")
            }
            // And NameLost, and one more.
            let owning = await worker.start(until: messages, is: 3) { _ in
                try await one.own("org.grun.Name", options: .allowReplacement)
            }
            let name = try await owning.value
            await until { !name.isOwned }
            var changes = name.changes.makeAsyncIterator()
            #expect(try await changes.next() == .lost)
            var owners = try await watches.value.makeAsyncIterator()
            var last: String?
            while last != other.uniqueName { last = try #require(try await owners.next()) }
            withExtendedLifetime(try await taking.value) {}
            await taker.thread.stopAndWait()
        }
    }

    @Test("a name that is released and requested again is acquired, and not lost before")
    func requestedAgain() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let connection = try await bus.connect()
            for _ in 0..<10 {
                let name = try await connection.own("org.grun.Name")
                var changes = name.changes.makeAsyncIterator()
                #expect(try await changes.next() == .acquired)
                #expect(name.isOwned)
                name.release()
                #expect(!name.isOwned)
            }
        }
    }

    @Test("the objects of a service that ends are removed from the list, until it is loaded again")
    func serviceEnds() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let client = try await bus.connect()
            func service(isolation: isolated (any Actor)? = #isolation) async throws
                -> (DBus.Connection, DBus.ExportedObject, DBus.OwnedName)
            {
                let connection = try await bus.connect()
                var interface = DBus.Interface("org.freedesktop.DBus.ObjectManager")
                interface.method("GetManagedObjects") { [DBus.ObjectPath("/d"): ["a.b": [String: Variant]()]] }
                let exported = try connection.export(interface, at: "/")
                return (connection, exported, try await connection.own("org.grun.Name"))
            }
            let first = try await service()
            let manager = try await client.objectManager("org.grun.Name", "/")
            #expect(manager.objects.count == 1)
            var changes = manager.changes.makeAsyncIterator()
            try await first.0.close()
            guard case .removed("/d", ["a.b"])? = try await changes.next() else {
                Issue.record("the object was not removed")
                return
            }
            #expect(manager.objects.isEmpty)
            let second = try await service()
            try await manager.reload()
            #expect(manager.objects.count == 1)
            withExtendedLifetime((first, second)) {}
        }
    }
}
