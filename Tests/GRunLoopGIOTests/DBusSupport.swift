// SPDX-License-Identifier: Apache-2.0
// A private message bus, and two peers without a bus.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc
import TestSupport
import Testing

/// A dbus-daemon of the test's own, which ends with the object.
final class PrivateBus: Sendable {
    let address: String
    private nonisolated(unsafe) let daemon: OpaquePointer

    init() throws {
        // The daemon also ends when this process ends, because the shell's input then ends.
        let daemonLine = "dbus-daemon --session --nofork --nopidfile --print-address --address=unix:tmpdir=/tmp &"
        let words = ["/bin/sh", "-c", "\(daemonLine) cat; kill -9 $!; wait"]
        let copies = words.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var arguments = copies.map { UnsafePointer<CChar>($0) } + [nil]
        let flags = GSubprocessFlags(
            rawValue: cglib_subprocess_stdin_pipe.rawValue | cglib_subprocess_stdout_pipe.rawValue)
        let daemon = try GLibError.check { g_subprocess_newv(&arguments, flags, $0) }
        self.daemon = try #require(daemon)
        let output = g_data_input_stream_new(g_subprocess_get_stdout_pipe(self.daemon))
        defer { g_object_unref(output) }
        let line = try GLibError.check { g_data_input_stream_read_line(output, nil, nil, $0) }
        defer { g_free(line) }
        address = String(cString: try #require(line))
    }

    deinit {
        kill()
        g_object_unref(UnsafeMutableRawPointer(daemon))
    }

    func kill() {
        g_output_stream_close(g_subprocess_get_stdin_pipe(daemon), nil, nil)
        g_subprocess_wait(daemon, nil, nil)
    }

    func connect(isolation: isolated (any Actor)? = #isolation) async throws -> DBus.Connection {
        try await .connect(to: address)
    }
}

extension Worker {
    /// Two connections to each other.
    func peers() async throws -> (server: DBus.Connection, client: DBus.Connection) {
        let sockets = SocketPair()
        let (one, other) = (dup(sockets.one), dup(sockets.other))
        let server = Task {
            // Without this, the task does not run on the actor.
            _ = self
            // Other tests may keep GIO's thread pool busy for long.
            return try await DBus.Connection.peer(overSocket: one, isServer: true, timeout: .seconds(600))
        }
        let client = try await DBus.Connection.peer(overSocket: other, isServer: false, timeout: .seconds(600))
        return (try await server.value, client)
    }
}

/// Yields until a condition holds.
func until(
    isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async rethrows {
    while try !condition() { await Task.yield() }
}

extension DBus.Connection {
    /// How many match rules the bus has for this connection.
    func matchRuleCount(isolation: isolated (any Actor)? = #isolation) async throws -> Int {
        let rules = try await call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.Debug.Stats", "GetAllMatchRules",
            returning: [String: [String]].self)
        return rules[uniqueName ?? ""]?.count ?? 0
    }

    /// How many references the object has.
    var references: UInt32 {
        UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GObject.self).pointee.ref_count
    }
}

extension Pipe {
    /// Whether nothing more can come.
    var hasEnded: Bool {
        var byte: UInt8 = 0
        return read(readEnd, &byte, 1) == 0
    }
}

/// Fails unless a body throws an error of GLib's with this code.
func expectError(
    _ code: some GLibErrorCode, on worker: isolated Worker, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: (isolated Worker) async throws -> Void
) async throws {
    do {
        try await body(worker)
        Issue.record("no error", sourceLocation: sourceLocation)
    } catch let error as GLibError {
        #expect(error.matches(code), "\(error)", sourceLocation: sourceLocation)
    }
}
