// SPDX-License-Identifier: Apache-2.0
// Exported objects: order, callers, properties, signals, and the end of an object.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A service on the loop of its thread, or on Swift's thread pool.
private actor Service {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    var order: [Int32] = []
    var title = "first"

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop) }

    func note(_ number: Int32) async throws -> Int32 {
        order.append(number)
        if number % 3 == 0 { await Task.yield() }
        return number
    }
    func set(_ title: String) throws {
        if title.isEmpty { throw GLibError(G_IO_ERROR_INVALID_DATA, "empty") }
        self.title = title
    }
}

private actor PoolService {
    var order: [Int32] = []
    func note(_ number: Int32) { order.append(number) }
}

/// Suspends tasks until it is opened.
private actor Gate {
    private nonisolated let executor: GRunLoop.Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var isOpen = false

    init(on loop: GRunLoop) { executor = GRunLoop.Executor(loop) }

    func pass() async {
        if !isOpen { await withCheckedContinuation { waiting.append($0) } }
    }
    func open() {
        isOpen = true
        for task in waiting { task.resume() }
    }
}

extension DBus.Connection {
    fileprivate func get(_ name: String, isolation: isolated (any Actor)? = #isolation) async throws -> Variant {
        try await call(
            nil, "/t", "org.freedesktop.DBus.Properties", "Get", "org.grun.Test", name, returning: Variant.self)
    }

    fileprivate func set(
        _ name: String, _ value: some VariantValue, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        try await call(
            nil, "/t", "org.freedesktop.DBus.Properties", "Set", "org.grun.Test", name, Variant(value))
    }
}

@Suite("D-Bus exports") struct DBusExportTests {
    @Test("a method without an isolation stays on the loop after a suspension, and can use GIO")
    func noIsolation() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let loop = worker.thread.loop
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Wait") {
                await PoolService().note(1)
                try await client.call(nil, "/org/freedesktop", "org.freedesktop.DBus.Peer", "Ping")
                return loop.executor.isIsolatingCurrentContext() == true
            }
            let exported = try server.export(interface, at: "/t")
            // Other tests may keep Swift's thread pool busy for long.
            let isOnLoop = try await client.call(
                nil, "/t", "org.grun.Test", "Wait", returning: Bool.self, timeout: .seconds(600))
            #expect(isOnLoop)
            withExtendedLifetime(exported) {}
        }
    }

    @Test("one program has at most 1,024 calls in flight, and can call again when they have ended")
    func callLimit() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let (gate, begun) = (Gate(on: worker.thread.loop), Counter())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Wait") {
                begun.increment()
                await gate.pass()
            }
            interface.method("Count") { Int32(begun.value) }
            let exported = try server.export(interface, at: "/t")
            let calls = (0..<1024).map { _ in
                Task {
                    _ = worker
                    // Other tests may keep GDBus's only thread busy for long.
                    try await client.call(nil, "/t", "org.grun.Test", "Wait", timeout: .seconds(600))
                }
            }
            await until { begun.value == 1024 }
            do {
                try await client.call(nil, "/t", "org.grun.Test", "Wait")
                Issue.record("no error")
            } catch G_DBUS_ERROR_LIMITS_EXCEEDED {
            }
            await gate.open()
            for call in calls { try await call.value }
            #expect(try await client.call(nil, "/t", "org.grun.Test", "Count", returning: Int32.self) == 1024)
            withExtendedLifetime(exported) {}
        }
    }

    @Test("methods of an actor begin in the order of the messages")
    func order() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let (service, pool) = (Service(on: worker.thread.loop), PoolService())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Note") { (number: Int32) in try await service.note(number) }
            interface.method("NoteInPool") { (number: Int32) in await pool.note(number) }
            let exported = try server.export(interface, at: "/t")
            var tasks: [Task<Void, any Error>] = []
            for number in Int32(0)..<500 {
                for member in ["Note", "NoteInPool"] {
                    tasks.append(
                        Task {
                            _ = worker
                            _ = try await client.call(
                                nil, "/t", "org.grun.Test", member, body: VariantTuple(number).encoded(),
                                timeout: .seconds(600))
                        })
                }
            }
            for task in tasks { try await task.value }
            let expected = Array(Int32(0)..<500)
            #expect(await service.order == expected)
            #expect(await pool.order == expected)
            exported.unexport()
        }
    }

    @Test("properties are read and written, and their errors come back")
    func properties() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let service = Service(on: worker.thread.loop)
            var interface = DBus.Interface("org.grun.Test")
            interface.property("Title", get: { await service.title }, set: { try await service.set($0) })
            interface.property("Version", get: { UInt32(3) })
            interface.property("Broken", get: { () throws -> Bool in throw GLibError(G_IO_ERROR_BUSY, "later") })
            let exported = try server.export(interface, at: "/t")
            #expect(try await client.get("Title").value() == "first")
            #expect(try await client.get("Version").value() == UInt32(3))
            try await client.set("Title", "second")
            #expect(try await client.get("Title").value() == "second")
            try await expectError(G_IO_ERROR_INVALID_DATA, on: worker) { _ in try await client.set("Title", "") }
            try await expectError(G_DBUS_ERROR_INVALID_ARGS, on: worker) { _ in try await client.set("Title", true) }
            try await expectError(G_DBUS_ERROR_INVALID_ARGS, on: worker) { _ in
                try await client.set("Version", UInt32(4))
            }
            try await expectError(G_DBUS_ERROR_INVALID_ARGS, on: worker) { _ in _ = try await client.get("Missing") }
            try await expectError(G_IO_ERROR_BUSY, on: worker) { _ in _ = try await client.get("Broken") }
            try await expectError(G_IO_ERROR_BUSY, on: worker) { _ in
                _ = try await client.call(
                    nil, "/t", "org.freedesktop.DBus.Properties", "GetAll", "org.grun.Test",
                    returning: [String: Variant].self)
            }
            interface.property("Broken", get: { false })
            exported.unexport()
            let repaired = try server.export(interface, at: "/t")
            let all = try await client.call(
                nil, "/t", "org.freedesktop.DBus.Properties", "GetAll", "org.grun.Test",
                returning: [String: Variant].self)
            #expect(all.count == 3)
            #expect(try all.value("Title") == "second")
            repaired.unexport()
        }
    }

    @Test("a signal and changed properties reach the peer, with their types")
    func signals() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
            let moved = try client.signals(interface: "org.grun.Test", member: "Moved", path: "/t")
            let changed = try client.signals(member: "PropertiesChanged", argument0: "org.grun.Test")
            try exported.emit("Other")
            try exported.emit("Moved", Int32(1), "a")
            try exported.propertiesChanged(["Title": Variant("x")], invalidated: ["Size"])
            var iterator = moved.makeAsyncIterator()
            let signal = try #require(await iterator.next())
            #expect(signal.member == "Moved" && signal.path == "/t" && signal.interface == "org.grun.Test")
            let (number, text) = try signal.arguments(as: Int32.self, String.self)
            #expect(number == 1 && text == "a")
            #expect(throws: VariantError.wrongType(expected: "(s)", found: "(is)")) {
                try signal.arguments(as: String.self)
            }
            var changes = changed.makeAsyncIterator()
            let change = try #require(await changes.next())
            #expect(change.body.description == "('org.grun.Test', {'Title': <'x'>}, ['Size'])")
            #expect(throws: VariantError.self) { try exported.emit("Moved", "\0") }
            #expect(throws: GLibError.self) { try exported.emit("Not a name") }
        }
    }

    @Test("a method finds its caller, and other tasks find none")
    func caller() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Who") {
                let invocation = try #require(DBus.Invocation.current)
                #expect(invocation.sender == nil && invocation.path == "/t" && invocation.member == "Who")
                return (try await invocation.userID(), try await invocation.processID())
            }
            let exported = try server.export(interface, at: "/t")
            let (user, process) = try await client.call(
                nil, "/t", "org.grun.Test", "Who", returning: UInt32.self, Int32.self)
            #expect(user == getuid() && process == getpid())
            #expect(DBus.Invocation.current == nil)
            exported.unexport()
        }
    }

    @Test("a wrong name, a second interface of the same name, and a thread without a loop are refused")
    func refusedExports() async throws {
        let server = try await onWorkerReturning { worker in
            let (server, client) = try await worker.peers()
            var wrong = DBus.Interface("org.grun.Test")
            wrong.method("A'") {}
            for (interface, path) in [(wrong, "/t"), (DBus.Interface("a'.b"), "/t"), (DBus.Interface("a.b"), "t")] {
                #expect(throws: GLibError.self) { try server.export(interface, at: DBus.ObjectPath(path)) }
            }
            let isReleased = Flag()
            let exported = try server.export(DBus.Interface("a.b"), at: "/t")
            do {
                let witness = Witness { isReleased.set() }
                var second = DBus.Interface("a.b")
                second.method("A") { _ = witness }
                #expect(throws: GLibError.self) { try server.export(second, at: "/t") }
            }
            #expect(isReleased.isSet)
            exported.unexport()
            withExtendedLifetime(client) {}
            return server
        }
        #expect(throws: GIO.WrongThreadError.self) { try server.export(DBus.Interface("a.b"), at: "/t") }
        #expect(throws: GIO.WrongThreadError.self) { try server.signals() }
    }

    @Test("the description has the types and names of all members")
    func xml() {
        var interface = DBus.Interface("org.grun.Test")
        interface.method("Add", arguments: ["a"], results: ["sum", "text"]) { (a: Int32, b: [String]) in (a, "") }
        interface.property("Title", get: { "" }, set: { (_: String) in })
        interface.signal("Moved", Int32.self, [String: Variant].self, arguments: ["x"])
        #expect(
            interface.xml == """
                <node>
                  <interface name='org.grun.Test'>
                    <method name='Add'><arg name='a' type='i' direction='in'/><arg type='as' direction='in'/>\
                <arg name='sum' type='i' direction='out'/><arg name='text' type='s' direction='out'/></method>
                    <signal name='Moved'><arg name='x' type='i'/><arg type='a{sv}'/></signal>
                    <property name='Title' type='s' access='readwrite'/>
                  </interface>
                </node>

                """)
    }
}

/// Like `onWorker`, with a result.
private func onWorkerReturning<Value: Sendable>(
    function: String = #function, _ body: @Sendable (isolated Worker) async throws -> Value
) async throws -> Value {
    let result = Shared<Value?>(nil)
    try await onWorker(function: function) { worker in result.value = try await body(worker) }
    return try #require(result.value)
}
