// SPDX-License-Identifier: Apache-2.0
// A hostile peer: messages that D-Bus does not allow, a peer that does not read, and a peer that goes away.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A message on the wire, in which everything may be wrong.
private struct RawMessage {
    private(set) var bytes: [UInt8] = []

    private mutating func align(_ size: Int) { while bytes.count % size != 0 { bytes.append(0) } }

    mutating func add(_ number: UInt32) {
        align(4)
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    mutating func add(text: [UInt8]) {
        add(UInt32(text.count))
        bytes += text + [0]
    }

    mutating func add(signature: String) { bytes += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0] }

    /// A call without a serial number, if it is zero.
    static func call(
        _ member: String, _ signature: String, _ body: [UInt8], serial: UInt32 = 1, path: String = "/t",
        bodyLength: UInt32? = nil, interface: String = "org.grun.Test"
    ) -> [UInt8] {
        var fields = RawMessage()
        for (code, type, text) in [(UInt8(1), "o", path), (2, "s", interface), (3, "s", member)] {
            fields.align(8)
            fields.bytes.append(code)
            fields.add(signature: type)
            fields.add(text: Array(text.utf8))
        }
        fields.align(8)
        fields.bytes.append(8)
        fields.add(signature: "g")
        fields.add(signature: signature)
        var message = RawMessage()
        message.bytes = [UInt8(ascii: "l"), 1, 0, 1]
        for number in [bodyLength ?? UInt32(body.count), serial, UInt32(fields.bytes.count)] { message.add(number) }
        message.bytes += fields.bytes
        message.align(8)
        return message.bytes + body
    }

    static func body(_ make: (inout RawMessage) -> Void) -> [UInt8] {
        var body = RawMessage()
        make(&body)
        return body.bytes
    }

    static func text(_ bytes: [UInt8]) -> [UInt8] { body { $0.add(text: bytes) } }
}

extension Worker {
    /// A connection to a peer that writes bytes.
    fileprivate func rawPeer() async throws -> (connection: DBus.Connection, sockets: SocketPair) {
        let sockets = SocketPair()
        let user = "\(getuid())".utf8.map { "3\($0 & 15)" }.joined()
        sockets.write(Array("\0AUTH EXTERNAL \(user)\r\n".utf8))
        sockets.write(Array("BEGIN\r\n".utf8))
        let socket = dup(sockets.one)
        return (try await .peer(overSocket: socket, isServer: true, timeout: .seconds(600)), sockets)
    }
}

extension SocketPair {
    fileprivate func write(_ bytes: [UInt8]) {
        let count = bytes.withUnsafeBytes { Glibc.write(other, $0.baseAddress, $0.count) }
        #expect(count == bytes.count)
    }
}

@Suite("D-Bus with a hostile peer") struct DBusHostileTests {
    private static let text = RawMessage.text(Array("hi".utf8))

    private func interface(_ calls: Counter) -> DBus.Interface {
        var interface = DBus.Interface("org.grun.Test")
        interface.method("Text") { (text: String) in
            calls.increment()
            return text
        }
        interface.method("Bytes") { (bytes: [UInt8]) in calls.increment() }
        interface.method("Value") { (value: Variant) in calls.increment() }
        interface.method("Descriptor") { (handle: DBus.Handle) in
            calls.increment()
            let descriptors = try #require(DBus.Invocation.current).descriptors
            _ = try (descriptors ?? DBus.Descriptors()).duplicate(handle)
        }
        return interface
    }

    /// Sends a message, and then a good one. Returns how many methods were called.
    private func callCount(of message: [UInt8], function: String = #function) async throws -> Int {
        let calls = Counter()
        try await onWorker(function: function) { worker in
            let (connection, sockets) = try await worker.rawPeer()
            let exported = try connection.export(interface(calls), at: "/t")
            let signals = try connection.signals()
            sockets.write(message + RawMessage.call("Text", "s", Self.text, serial: 2))
            shutdown(sockets.other, Int32(SHUT_WR))
            #expect(try await connection.untilClosed() != nil)
            var iterator = signals.makeAsyncIterator()
            await #expect(throws: GLibError.self) { try await iterator.next() }
            withExtendedLifetime((exported, sockets)) {}
        }
        return calls.value
    }

    @Test("a message that D-Bus does not allow ends the connection, and reaches no method")
    func invalidMessages() async throws {
        let hi = Self.text
        let deep = RawMessage.body { body in
            for _ in 0..<10_000 { body.add(signature: "v") }
            body.add(signature: "y")
        }
        for (index, message) in [
            RawMessage.call("Text", "s", RawMessage.text([0xff, 0xfe])), RawMessage.call("Text", "a{", hi),
            RawMessage.call("Text", "s", hi, path: "t//"),
            RawMessage.call("Bytes", "ay", [255, 255, 255, 127] + [UInt8](repeating: 0, count: 100)),
            RawMessage.call("Bytes", "ay", [8, 0, 0, 0], bodyLength: .max), RawMessage.call("Value", "v", deep),
            (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 3) },
        ].enumerated() {
            #expect(try await callCount(of: message) == 0, "\(index)")
        }
    }

    @Test("a call with other types, a wrong handle, or without a serial number does no harm")
    func wrongCalls() async throws {
        let hi = Self.text
        // GLib 2.90 ends the connection for a name that D-Bus does not allow, and GLib 2.84 does not.
        let badName = glib_minor_version <= 84 ? 1...1 : glib_minor_version >= 90 ? 0...0 : 0...1
        for (index, (message, count)) in [
            (RawMessage.call("Text", "u", [1, 0, 0, 0]), 1...1),
            (RawMessage.call("1'", "s", hi), badName),
            (RawMessage.call("Descriptor", "h", [7, 0, 0, 0]), 2...2),
            (RawMessage.call("Descriptor", "h", [255, 255, 255, 255]), 2...2),
            (RawMessage.call("Text", "s", hi, serial: 0), 1...1), (RawMessage.call("Text", "s", hi), 2...2),
            (RawMessage.call("GetAll", "s", hi, interface: "org.freedesktop.DBus.Properties"), 1...1),
        ].enumerated() {
            let found = try await callCount(of: message)
            #expect(count.contains(found), "\(index): \(found)")
        }
    }

    @Test("a peer that writes a sender is no other caller: it has no sender, and the user of its socket")
    func forgedSender() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            let (callers, caller) = AsyncStream<(String?, UInt32, Int32)>.makeStream()
            var interface = DBus.Interface("org.grun.Test")
            interface.method("Who") {
                let invocation = try #require(DBus.Invocation.current)
                caller.yield((invocation.sender, try await invocation.userID(), try await invocation.processID()))
            }
            let exported = try server.export(interface, at: "/t")
            // The peer answers as if it were the bus.
            var bus = DBus.Interface("org.freedesktop.DBus")
            bus.method("GetConnectionUnixUser") { (_: String) in getuid() + 1 }
            bus.method("GetConnectionUnixProcessID") { (_: String) in UInt32(1) }
            let answers = try client.export(bus, at: "/org/freedesktop/DBus")
            let signals = try server.signals(interface: "org.grun.Test")

            for message in [
                g_dbus_message_new_method_call(nil, "/t", "org.grun.Test", "Who"),
                g_dbus_message_new_signal("/t", "org.grun.Test", "Moved"),
            ] {
                let message = try #require(message)
                g_dbus_message_set_sender(message, ":1.1")
                #expect(g_dbus_connection_send_message(client.pointer, message, .init(rawValue: 0), nil, nil) != 0)
                g_object_unref(UnsafeMutableRawPointer(message))
            }
            var found = callers.makeAsyncIterator()
            let (sender, user, process) = try #require(await found.next())
            #expect(sender == nil && user == getuid() && process == getpid())
            var received = signals.makeAsyncIterator()
            let signal = try #require(try await received.next())
            #expect(signal.member == "Moved" && signal.sender == nil)
            exported.unexport()
            answers.unexport()
        }
    }

    @Test("a peer that does not authenticate in time is refused", arguments: [true, false])
    func silentPeer(isServer: Bool) async throws {
        try await onWorker { worker in
            let sockets = SocketPair()
            try await expectError(G_IO_ERROR_TIMED_OUT, on: worker) { _ in
                _ = try await DBus.Connection.peer(
                    overSocket: dup(sockets.one), isServer: isServer, timeout: .milliseconds(20))
            }
            let task = Task {
                _ = worker
                _ = try await DBus.Connection.peer(overSocket: dup(sockets.one), isServer: isServer)
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("an own interface Properties gets any arguments")
    func ownProperties() async throws {
        try await onWorker { worker in
            let (server, client) = try await worker.peers()
            var interface = DBus.Interface("org.freedesktop.DBus.Properties")
            interface.method("Get") { Int32(7) }
            let exported = try server.export(interface, at: "/t")
            let number = try await client.call(nil, "/t", interface.name, "Get", returning: Int32.self)
            #expect(number == 7)
            exported.unexport()
        }
    }

    @Test("a peer that does not read does not delay the end of a cancelled close()")
    func peerDoesNotRead() async throws {
        try await onWorker { worker in
            let (connection, sockets) = try await worker.rawPeer()
            let exported = try connection.export(DBus.Interface("org.grun.Test"), at: "/t")
            for _ in 0..<20 { try exported.emit("Large", [UInt8](repeating: 1, count: 1 << 20)) }
            let isBegun = Flag()
            let closing = Task {
                _ = worker
                isBegun.set()
                try await connection.close()
            }
            await until { isBegun.isSet }
            closing.cancel()
            await #expect(throws: CancellationError.self) { try await closing.value }
            #expect(connection.isClosed)
            withExtendedLifetime((exported, sockets)) {}
        }
    }
}
