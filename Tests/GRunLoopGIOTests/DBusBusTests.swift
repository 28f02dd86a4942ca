// SPDX-License-Identifier: Apache-2.0
// D-Bus with a message bus: names, owners, bursts of signals, and the end of the bus.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("D-Bus with a bus") struct DBusBusTests {
    @Test("a name is acquired, watched, taken away, acquired again, and released")
    func names() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let (one, other, watching) = (try await bus.connect(), try await bus.connect(), try await bus.connect())
            var owners = try await watching.watch("org.grun.Name").makeAsyncIterator()
            #expect(try await owners.next() == .some(nil))

            let first = try await one.own("org.grun.Name", options: .allowReplacement)
            #expect(first.isOwned)
            var changes = first.changes.makeAsyncIterator()
            #expect(try await changes.next() == .acquired)
            #expect(try await owners.next() == one.uniqueName)
            do {
                _ = try await other.own("org.grun.Name", options: .doNotQueue)
                Issue.record("no error")
            } catch G_IO_ERROR_EXISTS {
            }
            let second = try await other.own("org.grun.Name", options: .replace)
            #expect(second.isOwned)
            #expect(try await owners.next() == other.uniqueName)
            #expect(try await changes.next() == .lost)
            #expect(!first.isOwned)

            second.release()
            #expect(!second.isOwned)
            #expect(try await owners.next() == one.uniqueName)
            #expect(try await changes.next() == .acquired)
            #expect(first.isOwned)
            do {
                _ = try await one.own("org.grun.Name")
                Issue.record("two objects have one name")
            } catch G_IO_ERROR_EXISTS {
            }
            #expect(first.isOwned)
            first.release()
            #expect(try await owners.next() == .some(nil))
            #expect(try await changes.next() == nil)
            var later = first.changes.makeAsyncIterator()
            #expect(try await later.next() == nil)
            let again = try await one.own("org.grun.Name")
            #expect(again.isOwned)
        }
    }

    @Test("an object that is exported before its name answers the first call, and knows the caller")
    func exportedBefore() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let (service, client) = (try await bus.connect(), try await bus.connect())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Who") {
                let invocation = try #require(DBus.Invocation.current)
                return invocation.sender ?? ""
            }
            let exported = try service.export(interface, at: "/t")
            let name = try await service.own("org.grun.Name")
            let sender = try await client.call(
                "org.grun.Name", "/t", "org.grun.Test", "Who", returning: String.self)
            #expect(sender == client.uniqueName)
            // The release of the last references releases the name and the object.
            withExtendedLifetime((exported, name)) {}
        }
    }

    @Test("of 10,000 signals in a burst, the newest are delivered, and the others are counted")
    func burst() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (service, client) = (try await bus.connect(), try await bus.connect())
            let exported = try service.export(DBus.Interface("org.grun.Test"), at: "/t")
            let signals = try client.signals(interface: "org.grun.Test", capacity: 100)
            let last = try client.signals(interface: "org.grun.Last")
            // The bus knows the match rules before the answer.
            #expect(try await client.matchRuleCount() >= 2)
            for number in Int32(0)..<10_000 { try exported.emit("Burst", number) }
            let ended = try service.export(DBus.Interface("org.grun.Last"), at: "/t")
            try ended.emit("Last")
            var end = last.makeAsyncIterator()
            _ = try await end.next()

            #expect(signals.droppedCount == 9_900)
            var iterator = signals.makeAsyncIterator()
            for number in Int32(9_900)..<10_000 {
                let signal = try #require(await iterator.next())
                #expect(try signal.arguments(as: Int32.self) == number)
            }
            #expect(signals.droppedCount == 9_900)
            withExtendedLifetime((exported, ended)) {}
        }
    }

    @Test("the match rule goes when the iteration ends, the task is cancelled, or the sequence is released")
    func matchRules() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (service, client) = (try await bus.connect(), try await bus.connect())
            let exported = try service.export(DBus.Interface("org.grun.Test"), at: "/t")
            let before = try await client.matchRuleCount()
            do {
                let signals = try client.signals(interface: "org.grun.Test")
                #expect(try await client.matchRuleCount() == before + 1)
                try exported.emit("Signal")
                for try await _ in signals { break }
                #expect(try await client.matchRuleCount() == before)
                withExtendedLifetime(signals) {}
            }
            do {
                let signals = try client.signals(interface: "org.grun.Test")
                #expect(try await client.matchRuleCount() == before + 1)
                let isBegun = Flag()
                let task = Task {
                    _ = worker
                    isBegun.set()
                    for try await _ in signals {}
                }
                await until { isBegun.isSet }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                #expect(try await client.matchRuleCount() == before)
                withExtendedLifetime(signals) {}
            }
            _ = try client.signals(interface: "org.grun.Test")
            #expect(try await client.matchRuleCount() == before)
            withExtendedLifetime(exported) {}
        }
    }

    @Test("the end of the bus ends 100 calls, and everything else that waits, with an error")
    func busDies() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (service, client) = (try await bus.connect(), try await bus.connect())
            let (begun, cancelled) = (Counter(), Counter())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Forever") { () async throws in
                begun.increment()
                defer { cancelled.increment() }
                try await Task.sleep(for: .seconds(1000))
            }
            let exported = try service.export(interface, at: "/t")
            let name = try await service.own("org.grun.Name")
            let owners = try await client.watch("org.grun.Name")
            let signals = try client.signals()
            var waiting = (0..<100).map { _ in
                Task {
                    _ = worker
                    try await client.call("org.grun.Name", "/t", "org.grun.Test", "Forever")
                }
            }
            waiting.append(
                Task {
                    _ = worker
                    for try await _ in signals {}
                })
            waiting.append(
                Task {
                    _ = worker
                    for try await _ in owners {}
                })
            waiting.append(
                Task {
                    _ = worker
                    for try await _ in name.changes {}
                })
            let closed = Task {
                _ = worker
                return try await client.untilClosed()
            }
            await until { begun.value == 100 }
            bus.kill()
            for task in waiting { await #expect(throws: GLibError.self) { try await task.value } }
            #expect(try await closed.value != nil)
            await until { cancelled.value == 100 }
            #expect(client.isClosed && service.isClosed && !name.isOwned)
            try await expectError(G_IO_ERROR_CLOSED, on: worker) { _ in try await client.call("a.b", "/t", "a.b", "C") }
            #expect(throws: GLibError.self) { try exported.emit("Signal") }
            #expect(throws: GLibError.self) { try client.export(interface, at: "/t") }
            // A later subscription ends immediately.
            var late = try client.signals().makeAsyncIterator()
            await #expect(throws: GLibError.self) { try await late.next() }
            #expect(try await client.untilClosed() != nil)
        }
    }

    @Test("two wrappers of one connection have one name, one end and its reason")
    func wrappers() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let one = try await bus.connect()
            let other = DBus.Connection(retaining: one.pointer)
            let name = try await one.own("org.grun.Name")
            try await expectError(G_IO_ERROR_EXISTS, on: worker) { _ in _ = try await other.own("org.grun.Name") }
            #expect(name.isOwned)
            name.release()
            let again = try await other.own("org.grun.Name")
            #expect(again.isOwned)

            let closed = try await bus.connect()
            try await closed.close()
            #expect(try await DBus.Connection(retaining: closed.pointer).untilClosed() == nil)

            // Only C code has this connection.
            let flags = GDBusConnectionFlags(
                rawValue: cglib_dbus_connection_client.rawValue | cglib_dbus_connection_bus.rawValue)
            let object = try #require(
                try GLibError.check { g_dbus_connection_new_for_address_sync(bus.address, flags, nil, nil, $0) })
            bus.kill()
            let reason = try #require(try await one.untilClosed())
            #expect(try await DBus.Connection(retaining: one.pointer).untilClosed() == reason)
            await until { g_dbus_connection_is_closed(object) != 0 }
            let late = DBus.Connection(full: object)
            #expect(late.isClosed)
            #expect(try await late.untilClosed()?.matches(.closed) == true)
        }
    }

    @Test("the end of the loop on which a name was requested releases the name")
    func loopOfNameEnds() async throws {
        try await onWorker { _ in
            let bus = try PrivateBus()
            let (one, other) = (try await bus.connect(), try await bus.connect())
            let thread = try Worker(function: "owner")
            let name = try await thread.run { _ in try await one.own("org.grun.Name") }
            #expect(name.isOwned)
            let changes = name.changes
            await thread.thread.stopAndWait()
            #expect(!name.isOwned)
            await #expect(throws: GRunLoop.LoopEndedError.self) { for try await _ in changes {} }
            let next = try await other.own("org.grun.Name")
            let again = try await one.own("org.grun.Name")
            await until { next.isOwned }
            next.release()
            await until { again.isOwned }
            #expect(!name.isOwned)
        }
    }

    @Test("tasks that close one connection at the same time all succeed")
    func closedTogether() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            for _ in 0..<50 {
                let connection = try await bus.connect()
                let tasks = (0..<6).map { number in
                    Task {
                        _ = worker
                        // So that some find that another task is closing.
                        for _ in 0..<number { await Task.yield() }
                        try await connection.close()
                    }
                }
                for task in tasks { try await task.value }
                #expect(try await connection.untilClosed() == nil)
            }
        }
    }

    @Test("without a bus, names are refused")
    func withoutBus() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            #expect(server.uniqueName == nil)
            try await expectError(G_IO_ERROR_NOT_SUPPORTED, on: worker) { _ in
                _ = try await client.watch("org.grun.Name")
            }
            try await expectError(G_IO_ERROR_NOT_SUPPORTED, on: worker) { _ in
                _ = try await client.own("org.grun.Name")
            }
            try await client.close()
            try await client.close()
            #expect(try await client.untilClosed() == nil)
            #expect(try await server.untilClosed() != nil)
        }
    }
}
