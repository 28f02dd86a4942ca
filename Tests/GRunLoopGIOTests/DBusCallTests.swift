// SPDX-License-Identifier: Apache-2.0
// D-Bus calls between two peers: values, errors, descriptors, and cancellation.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// Methods that the tests call.
private func testInterface() -> DBus.Interface {
    var interface = DBus.Interface("org.grun.Test")
    interface.method("Add", arguments: ["a", "b"], results: ["sum"]) { (a: Int32, b: Int32) in a &+ b }
    interface.method("Swap") { (a: String, b: [String: Variant]) in (b, a) }
    interface.method("Nothing") {}
    interface.method("Echo") { (bytes: [UInt8]) in bytes }
    interface.method("Fail") { () throws in throw GLibError(G_IO_ERROR_NOT_FOUND, "nothing here") }
    interface.method("FailByName") { () throws in
        throw GLibError(domain: 0, code: 0, message: "own", dbusName: "org.grun.Error.Own")
    }
    interface.method("FailOtherwise") { () throws in throw Refused() }
    interface.method("FailWithoutDomain") { () throws in
        throw GLibError(domain: 0, code: 1, message: "a\0b", dbusName: "not a name")
    }
    interface.method("FailToEncode") { "\0" }
    interface.method("Cancelled") { () throws in throw CancellationError() }
    interface.method("Forever") { () async throws in try await Task.sleep(for: .seconds(1000)) }
    return interface
}

private struct Refused: Error {}

extension DBus.Connection {
    /// The D-Bus name of the error that a call throws; nil if it throws none.
    fileprivate func errorName(
        _ path: DBus.ObjectPath, _ member: String, isolation: isolated (any Actor)? = #isolation
    ) async throws -> String? {
        do { try await call(nil, path, "org.grun.Test", member) } catch let error as GLibError { return error.dbusName }
        return nil
    }
}

@Suite("D-Bus calls") struct DBusCallTests {
    /// Runs a body with a client of a service.
    private func withService(
        function: String = #function, _ body: @Sendable (isolated Worker, DBus.Connection) async throws -> Void
    ) async throws {
        try await onWorker(function: function) { worker in
            let (server, client) = try await worker.peers()
            let exported = try server.export(testInterface(), at: "/t")
            try await body(worker, client)
            exported.unexport()
            try await client.close()
        }
    }

    @Test("arguments and results are typed: none, one, and several")
    func values() async throws {
        try await withService { _, client in
            let sum = try await client.call(
                nil, "/t", "org.grun.Test", "Add", Int32(40), Int32(2), returning: Int32.self)
            #expect(sum == 42)
            try await client.call(nil, "/t", "org.grun.Test", "Nothing")
            let (options, text) = try await client.call(
                nil, "/t", "org.grun.Test", "Swap", "é", ["k": try Variant(true)],
                returning: [String: Variant].self, String.self)
            #expect(try options.value("k") == true)
            #expect(text == "é")
        }
    }

    @Test("each error goes out under its name, and comes back as the same error")
    func errors() async throws {
        try await withService { _, client in
            do {
                try await client.call(nil, "/t", "org.grun.Test", "Fail")
                Issue.record("no error")
            } catch G_IO_ERROR_NOT_FOUND {
            }
            for (member, name) in [
                ("FailByName", "org.grun.Error.Own"), ("FailOtherwise", "org.freedesktop.DBus.Error.Failed"),
                ("FailWithoutDomain", "org.freedesktop.DBus.Error.Failed"),
                ("FailToEncode", "org.freedesktop.DBus.Error.InvalidArgs"),
                ("Cancelled", "org.freedesktop.DBus.Error.Failed"),
                ("Missing", "org.freedesktop.DBus.Error.UnknownMethod"),
                ("Add", "org.freedesktop.DBus.Error.InvalidArgs"),
            ] {
                let found = try await client.errorName("/t", member)
                #expect(found == name, "\(member)")
            }
            let missing = try await client.errorName("/missing", "Add")
            #expect(missing == "org.freedesktop.DBus.Error.UnknownMethod")
        }
    }

    @Test("results of another type are an error that names both types")
    func otherResults() async throws {
        try await withService { _, client in
            do {
                _ = try await client.call(
                    nil, "/t", "org.grun.Test", "Add", Int32(1), Int32(1), returning: String.self)
                Issue.record("no error")
            } catch let error as GLibError {
                #expect(error.matches(G_IO_ERROR_INVALID_ARGUMENT))
                #expect(error.message.contains("(i)") && error.message.contains("(s)"))
            }
        }
    }

    @Test("a name, a path or an argument that D-Bus does not allow is refused, and nothing is sent")
    func refused() async throws {
        try await withService { _, client in
            for (name, path, interface, member) in [
                ("not a name", "/t", "a.b", "C"), (nil, "t", "a.b", "C"), (nil, "/t", "a", "C"),
                (nil, "/t", "a.b", "C.D"),
                (nil, "/t", "org.grun.Test", "Nothing\0"), (nil, "/t\0", "org.grun.Test", "Nothing"),
                (nil, "/t", "org.grun.Test\0", "Nothing"), ("a.b\0", "/t", "org.grun.Test", "Nothing"),
            ] as [(String?, String, String, String)] {
                do {
                    try await client.call(name, DBus.ObjectPath(path), interface, member)
                    Issue.record("no error for \(path) \(member)")
                } catch G_IO_ERROR_INVALID_ARGUMENT {
                }
            }
            await #expect(throws: VariantError.containsNUL("a\0b")) {
                try await client.call(nil, "/t", "org.grun.Test", "Swap", "a\0b", [String: Variant]())
            }
        }
    }

    @Test("an array of 64 MiB comes back, and a larger array is an error")
    func largeArray() async throws {
        try await withService { worker, client in
            let bytes = [UInt8](repeating: 7, count: 64 << 20)
            let found = try await client.call(nil, "/t", "org.grun.Test", "Echo", bytes, returning: [UInt8].self)
            #expect(found == bytes)
            do {
                try await client.call(nil, "/t", "org.grun.Test", "Echo", bytes + [1])
                Issue.record("no error")
            } catch G_IO_ERROR_INVALID_ARGUMENT {
            }
            try await expectError(G_DBUS_ERROR_LIMITS_EXCEEDED, on: worker) { _ in
                let body = try VariantTuple(bytes, bytes).encoded()
                _ = try await client.call(nil, "/t", "org.grun.Test", "Echo", body: body)
            }
            // The connection still works.
            try await client.call(nil, "/t", "org.grun.Test", "Nothing")
        }
    }

    @Test("a descriptor that is no socket is refused and closed")
    func noSocket() async throws {
        try await onWorker { _ in
            // Another test would reuse a low number.
            let pipe = Pipe()
            let descriptor = copyWithHighNumber(pipe.readEnd)
            await #expect(throws: GLibError.self) {
                try await DBus.Connection.peer(overSocket: descriptor, isServer: true)
            }
            #expect(fcntl(descriptor, F_GETFD) == -1)
        }
    }

    @Test("a timeout ends a call, and zero has passed already")
    func timeouts() async throws {
        try await withService { _, client in
            for timeout in [Duration.zero, .seconds(-1), .milliseconds(1)] {
                do {
                    try await client.call(nil, "/t", "org.grun.Test", "Forever", timeout: timeout)
                    Issue.record("no error")
                } catch G_IO_ERROR_TIMED_OUT {
                }
            }
            try await client.call(nil, "/t", "org.grun.Test", "Nothing", timeout: .seconds(1 << 40))
        }
    }

    @Test("file descriptors go both ways, and are closed with their messages")
    func descriptors() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Double") { (handle: DBus.Handle) in
                let invocation = try #require(DBus.Invocation.current)
                let descriptor = try #require(invocation.descriptors).duplicate(handle)
                defer { close(descriptor) }
                return VariantTuple(try invocation.append(descriptor), try invocation.append(descriptor))
            }
            let exported = try server.export(interface, at: "/t")
            let pipe = Pipe()
            let own = dup(pipe.writeEnd)
            for round in 0..<10 {
                let sent = DBus.Descriptors()
                let body = try VariantTuple(try sent.append(pipe.writeEnd)).encoded()
                let reply = try await client.call(
                    nil, "/t", "org.grun.Test", "Double", body: body, descriptors: sent, expecting: "((hh))")
                let found = try #require(reply.descriptors)
                #expect(found.count == 2)
                let descriptor = try found.duplicate(try reply.body[0][1].value(as: DBus.Handle.self))
                #expect(write(descriptor, "x", 1) == 1)
                close(descriptor)
                #expect(pipe.drain() == "x", "\(round)")
                #expect(throws: GLibError.self) { try found.duplicate(DBus.Handle(index: 2)) }
            }
            // A pipe ends when each copy of its write end is closed.
            let null = open("/dev/null", O_WRONLY)
            dup2(null, pipe.writeEnd)
            close(null)
            close(own)
            await until { pipe.hasEnded }
            exported.unexport()
            try await client.close()
        }
    }

    @Test("4,000 calls cancelled in flight leave no pending call, and the service answers each of them")
    func cancelledInFlight() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let answered = Counter()
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Slow") { () async throws in
                try await Task.sleep(for: .milliseconds(5))
                answered.increment()
            }
            let exported = try server.export(interface, at: "/t")
            // A pending call has a reference to its connection.
            let references = (client.references, server.references)
            for round in 1...4 {
                var tasks: [Task<Void, any Error>] = []
                for _ in 0..<1000 {
                    tasks.append(
                        Task {
                            _ = worker
                            try await client.call(nil, "/t", "org.grun.Test", "Slow")
                        })
                    await Task.yield()
                }
                for task in tasks { task.cancel() }
                for task in tasks {
                    if case .failure(let error) = await task.result { #expect(error is CancellationError) }
                }
                // A task that was cancelled before it began has sent nothing.
                try await client.call(nil, "/t", "org.grun.Test", "Slow")
                await until { client.references == references.0 && server.references == references.1 }
                #expect(answered.value > round)
            }
            exported.unexport()
            try await client.close()
        }
    }
}
