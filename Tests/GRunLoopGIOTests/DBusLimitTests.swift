// SPDX-License-Identifier: Apache-2.0
// Calls in flight: how many there can be, and the end of their callers.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A service whose method waits until its task is cancelled.
private struct WaitingService {
    let connection: DBus.Connection
    let exported: DBus.ExportedObject
    let begun = Counter()
    let ended = Counter()

    init(_ connection: DBus.Connection) throws {
        var interface = DBus.Interface("org.grun.Test")
        interface.method("Wait") { [begun, ended] (_: [UInt8]) async throws in
            begun.increment()
            defer { ended.increment() }
            try await Task.sleep(for: .seconds(1000))
        }
        interface.method("Ping") {}
        self.connection = connection
        exported = try connection.export(interface, at: "/t")
    }

    /// Sends a call of `Wait` without waiting.
    func wait(from caller: DBus.Connection, _ bytes: [UInt8] = []) throws {
        try caller.send(connection.uniqueName, "/t", "org.grun.Test", "Wait", bytes)
    }

    func ping(from caller: DBus.Connection, isolation: isolated (any Actor)? = #isolation) async throws {
        // Other tests may keep GDBus's only thread busy for long.
        try await caller.call(connection.uniqueName, "/t", "org.grun.Test", "Ping", timeout: .seconds(600))
    }

    /// Calls a method with file descriptors.
    func call(
        _ method: String, _ count: Int, from caller: DBus.Connection, body: Variant? = nil,
        isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let descriptors = DBus.Descriptors()
        for _ in 0..<count { _ = try descriptors.append(STDERR_FILENO) }
        _ = try await caller.call(
            connection.uniqueName, "/t", "org.grun.Test", method, body: body, descriptors: descriptors,
            timeout: .seconds(600))
    }
}

@Suite("D-Bus calls in flight") struct DBusLimitTests {
    @Test("the call of a program that has left before the service handled the call is cancelled, too")
    func callerHasLeftBefore() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (caller, other) = (try await bus.connect(), try await bus.connect())
            let name = try #require(caller.uniqueName)
            let thread = try Worker(function: "service")
            let service = try await thread.run { _ in try WaitingService(try await bus.connect()) }
            let (isBlocked, mayGoOn) = (Flag(), Flag())
            let blocking = Task {
                await thread.run { _ in
                    isBlocked.set()
                    #expect(mayGoOn.wait(timeout: Patience.normal * 3))
                }
            }
            await until { isBlocked.isSet }
            try service.wait(from: caller)
            var owners = try await other.watch(name).makeAsyncIterator()
            #expect(try await owners.next() == name)
            try await caller.close()
            #expect(try await owners.next() == .some(nil))
            mayGoOn.set()
            await blocking.value
            await until { service.ended.value == 1 }
            service.exported.unexport()
            await thread.thread.stopAndWait()
        }
    }

    @Test("an idle service does not follow the names of other programs")
    func idleService() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let service = try WaitingService(try await bus.connect())
            let before = try await service.connection.matchRuleCount()
            let caller = try await bus.connect()
            try service.wait(from: caller)
            await until { service.begun.value == 1 }
            #expect(try await service.connection.matchRuleCount() == before + 1)
            try await caller.close()
            await until { service.ended.value == 1 }
            while try await service.connection.matchRuleCount() > before { try await bus.connect().close() }
            // The service follows its callers again.
            let later = try await bus.connect()
            try service.wait(from: later)
            await until { service.begun.value == 2 }
            try await later.close()
            await until { service.ended.value == 2 }
        }
    }

    @Test("beside 4,096 calls in flight, a program can have 16; calls end and no longer count when their caller leaves")
    func manyCallers() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let service = try WaitingService(try await bus.connect())
            var second = DBus.Interface("org.grun.Second")
            second.method("Ping") {}
            let object = try service.connection.export(second, at: "/second")
            let (caller, name) = (try await bus.connect(), service.connection.uniqueName)
            var others: [DBus.Connection] = []
            for _ in 0..<4 {
                try await service.ping(from: caller)
                let other = try await bus.connect()
                for _ in 0..<1024 { try service.wait(from: other) }
                try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                    try await service.ping(from: other)
                }
                others.append(other)
            }
            // A program with few calls is still served.
            for _ in 0..<16 {
                try await service.ping(from: caller)
                try service.wait(from: caller)
            }
            await until { service.begun.value == 4096 + 16 }
            // The limit is that of the connection, not of an object.
            try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                try await caller.call(name, "/second", "org.grun.Second", "Ping", timeout: .seconds(600))
            }
            try await others[0].close()
            await until { service.ended.value == 1024 }
            try await caller.call(name, "/second", "org.grun.Second", "Ping", timeout: .seconds(600))
            #expect(service.ended.value == 1024)
            service.exported.unexport()
            object.unexport()
            await until { service.ended.value == 4096 + 16 }
        }
    }

    @Test("a program whose calls in flight have 253 file descriptors can only call without descriptors")
    func manyDescriptors() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let service = try WaitingService(try await bus.connect())
            let body = try VariantTuple([UInt8]()).encoded()
            /// Sends calls with these numbers of descriptors.
            func wait(_ counts: [Int], from caller: DBus.Connection, _ worker: isolated Worker) async {
                let begun = service.begun.value
                for count in counts {
                    Task { try? await service.call("Wait", count, from: caller, body: body, isolation: worker) }
                }
                await until { service.begun.value == begun + counts.count }
            }
            func expectRefusal(_ count: Int, of caller: DBus.Connection, _ worker: isolated Worker) async throws {
                try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                    try await service.call("Ping", count, from: caller)
                }
                try await service.ping(from: caller)
            }
            // A bus passes 16 descriptors in a message.
            let many = [Int](repeating: 16, count: 15)
            let caller = try await bus.connect()
            await wait(many + [12], from: caller, worker)
            try await expectRefusal(2, of: caller, worker)
            try await service.call("Ping", 1, from: caller)
            await wait([1], from: caller, worker)
            try await expectRefusal(1, of: caller, worker)
            // Three programs fill the total. Then another program can have one descriptor.
            let (second, third) = (try await bus.connect(), try await bus.connect())
            await wait(many + [13], from: second, worker)
            await wait([6], from: third, worker)
            try await expectRefusal(1, of: third, worker)
            let late = try await bus.connect()
            try await expectRefusal(2, of: late, worker)
            await wait([1], from: late, worker)
            try await expectRefusal(1, of: late, worker)
            try await caller.close()
            await until { service.ended.value == 17 }
            try await service.call("Ping", 2, from: late)
            service.exported.unexport()
            await until { service.ended.value == 35 }
        }
    }

    @Test("a program whose arguments in flight have 32 MiB cannot call")
    func largeArguments() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let service = try WaitingService(server)
            let bytes = [UInt8](repeating: 1, count: 16 << 20)
            for _ in 0..<2 {
                try await service.ping(from: client)
                try service.wait(from: client, bytes)
            }
            try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                try await service.ping(from: client)
            }
            #expect(service.begun.value == 2)
            service.exported.unexport()
            await until { service.ended.value == 2 }
            try await client.close()
        }
    }
}
