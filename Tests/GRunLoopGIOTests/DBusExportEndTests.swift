// SPDX-License-Identifier: Apache-2.0
// The end of an exported object: unexported, its caller gone, its loop ended.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

@Suite("D-Bus exports that end") struct DBusExportEndTests {
    @Test("unexported while calls are in flight, they get an error, and their tasks are cancelled")
    func unexport() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let (begun, cancelled) = (Counter(), Counter())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Forever") { () async throws in
                begun.increment()
                do { try await Task.sleep(for: .seconds(1000)) } catch {
                    cancelled.increment()
                    throw error
                }
            }
            let exported = try server.export(interface, at: "/t")
            let tasks = (0..<10).map { _ in
                Task {
                    _ = worker
                    try await client.call(nil, "/t", "org.grun.Test", "Forever", timeout: .seconds(600))
                }
            }
            await until { begun.value == 10 }
            exported.unexport()
            exported.unexport()
            for task in tasks {
                try await expectError(G_DBUS_ERROR_UNKNOWN_OBJECT, on: worker) { _ in try await task.value }
            }
            await until { cancelled.value == 10 }
            try await expectError(G_DBUS_ERROR_UNKNOWN_METHOD, on: worker) { _ in
                try await client.call(nil, "/t", "org.grun.Test", "Forever", timeout: .seconds(600))
            }
        }
    }

    @Test("a caller that is gone cancels the method of a peer, and nothing stays")
    func callerIsGone() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let (begun, ended, isReleased) = (Flag(), Flag(), Flag())
            do {
                let witness = Witness { isReleased.set() }
                var interface = DBus.Interface("org.grun.Test")
                interface.method("Forever") { () async throws in
                    begun.set()
                    defer { ended.set() }
                    _ = witness
                    try await Task.sleep(for: .seconds(1000))
                }
                let exported = try server.export(interface, at: "/t")
                let task = Task {
                    _ = worker
                    try await client.call(nil, "/t", "org.grun.Test", "Forever", timeout: .seconds(600))
                }
                await until { begun.isSet }
                try await client.close()
                try await expectError(G_IO_ERROR_CLOSED, on: worker) { _ in try await task.value }
                await until { ended.isSet }
                #expect(server.isClosed)
                withExtendedLifetime(exported) {}
            }
            await until { isReleased.isSet }
        }
    }

    @Test("the end of the loop unexports the object")
    func loopEnds() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let other = try Worker(function: "other loop")
            let isBegun = Flag()
            let isReleased = Flag()
            var exported: DBus.ExportedObject?
            exported = try await other.run { _ in
                var interface = DBus.Interface("org.grun.Test")
                interface.method("Forever") { () async throws in
                    isBegun.set()
                    try await Task.sleep(for: .seconds(1000))
                }
                let witness = Witness { isReleased.set() }
                interface.method("Nothing") { _ = witness }
                return try server.export(interface, at: "/t")
            }
            try await client.call(nil, "/t", "org.grun.Test", "Nothing", timeout: .seconds(600))
            let task = Task {
                _ = worker
                try await client.call(nil, "/t", "org.grun.Test", "Forever", timeout: .seconds(600))
            }
            await until { isBegun.isSet }
            await other.thread.stopAndWait()
            try await expectError(G_DBUS_ERROR_UNKNOWN_OBJECT, on: worker) { _ in try await task.value }
            // GLib never releases what belongs to the ended loop. The handlers are released nevertheless.
            withExtendedLifetime(exported) {}
            exported = nil
            await until { isReleased.isSet }
        }
    }

    @Test("the answer to a caller that has left the bus goes to nobody, and the service goes on")
    func callerHasLeft() async throws {
        try await onWorker { worker in
            let bus = try PrivateBus()
            let (service, client, other) = (try await bus.connect(), try await bus.connect(), try await bus.connect())
            let (begun, mayEnd, ended) = (Flag(), Flag(), Flag())
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Wait") { () async throws in
                begun.set()
                await until { mayEnd.isSet }
                ended.set()
            }
            let exported = try service.export(interface, at: "/t")
            let name = try #require(service.uniqueName)
            let task = Task {
                _ = worker
                try await client.call(name, "/t", "org.grun.Test", "Wait", timeout: .seconds(600))
            }
            await until { begun.isSet }
            try await client.close()
            try await expectError(G_IO_ERROR_CLOSED, on: worker) { _ in try await task.value }
            #expect(!ended.isSet)
            mayEnd.set()
            try await other.call(name, "/t", "org.grun.Test", "Wait", timeout: .seconds(600))
            #expect(ended.isSet)
            withExtendedLifetime(exported) {}
        }
    }

    @Test("a connection of C code may be shared, and its end ends what waits for either")
    func shared() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let references = client.references
            do {
                let second = DBus.Connection(retaining: client.pointer)
                let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
                let signals = try second.signals()
                try exported.emit("Signal")
                var iterator = signals.makeAsyncIterator()
                #expect(try await iterator.next()?.member == "Signal")
                try await client.close()
                await #expect(throws: GLibError.self) { try await iterator.next() }
                #expect(second.isClosed)
            }
            await until { client.references <= references }
        }
    }

    @Test("the end of the loop ends a sequence of signals, and releases what was buffered")
    func loopEndsSignals() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(DBus.Interface("org.grun.Test"), at: "/t")
            let other = try Worker(function: "other loop")
            let isBegun = Flag()
            let task = Task {
                try await other.run { _ in
                    let signals = try client.signals()
                    isBegun.set()
                    for try await _ in signals {}
                }
            }
            await until { isBegun.isSet }
            await other.thread.stopAndWait()
            await #expect(throws: GRunLoop.LoopEndedError.self) { try await task.value }
            try exported.emit("Signal")
            try await client.close()
        }
    }

    @Test("a sequence whose loop ends before it has handled the end of the connection is released")
    func loopEndsWithTheConnection() async throws {
        try await onWorker { worker in
            // If the server were released, the connection would end immediately.
            let (server, client) = try await worker.peers()
            let other = try Worker(function: "other loop")
            let (isBusy, mayEnd) = (Flag(), Flag())
            // The thread runs its loop no more, but has not ended yet, when the connection ends.
            weak var buffer: AnyObject?
            do {
                let signals = try await other.run { _ in try client.signals() }
                buffer = Mirror(reflecting: signals).descendant("buffer") as AnyObject?
                #expect(buffer != nil)
                let handler = try other.thread.loop.addEndHandler {
                    isBusy.set()
                    #expect(waitUntil { mayEnd.isSet })
                }
                other.thread.stop()
                await until { isBusy.isSet }
                // When this sequence ends, the other one knows that the connection has ended.
                var iterator = try client.signals().makeAsyncIterator()
                try await client.close()
                await #expect(throws: GLibError.self) { try await iterator.next() }
                mayEnd.set()
                await other.thread.stopAndWait()
                withExtendedLifetime((server, signals, handler)) {}
            }
            #expect(buffer == nil)
        }
    }
}
