// SPDX-License-Identifier: Apache-2.0
// A server that sends each client its own bytes, in structured concurrency: a task accepts connections, each connection
// is a child task, and SIGTERM or SIGINT cancels all of them.

import CGRunGIO
import GRunLoop
import GRunLoopGIO
import Glibc

@main @MainActor struct EchoServer {
    static func main() async {
        GRunLoop.driveAsyncMain()
        do {
            let arguments = CommandLine.arguments.dropFirst()
            guard let port = UInt16(arguments.first ?? "0"), arguments.count <= 1 else { throw UsageError() }
            try await EchoServer(port: port).run()
        } catch {
            say("gio-echo-server: \(error)")
            exit(1)
        }
    }

    private let listener: GRef<UnsafeMutablePointer<GSocketListener>>
    private let port: UInt16

    /// - Parameter port: zero: any free port.
    private init(port: UInt16) throws {
        let socketListener: UnsafeMutablePointer<GSocketListener> = g_socket_listener_new()
        listener = GRef(full: socketListener)
        let host: UnsafeMutablePointer<GInetAddress> = g_inet_address_new_loopback(G_SOCKET_FAMILY_IPV4)
        defer { g_object_unref(host) }
        let address: UnsafeMutablePointer<GSocketAddress> = g_inet_socket_address_new(host, port)
        defer { g_object_unref(address) }
        var bound: UnsafeMutablePointer<GSocketAddress>?
        _ = try GLibError.check {
            g_socket_listener_add_address(
                socketListener, address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_DEFAULT, nil, &bound, $0)
        }
        self.port = g_inet_socket_address_get_port(UnsafeMutablePointer(OpaquePointer(bound)))
        g_object_unref(bound)
    }

    private func run() async throws {
        say("listening on port \(port)")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await acceptConnections() }
            group.addTask { try await waitForSignal() }
            // The signal, or the error of a listener that has failed.
            try await group.next()
            group.cancelAll()
        }
        g_socket_listener_close(listener.pointer)
        say("stopped")
    }

    private func waitForSignal() async throws {
        for try await _ in GRunLoop.main.signals([SIGTERM, SIGINT]) { return }
    }

    /// Ends when the task is cancelled and all connections are closed.
    private func acceptConnections() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for number in 1... {
                let client: GIO.IOStream
                do { client = try await accept() } catch is CancellationError { return group.cancelAll() }
                group.addTask { await serve(client, number) }
            }
        }
    }

    /// GSocketListener has no Swift face: GIO.call awaits its function.
    private func accept() async throws -> GIO.IOStream {
        try await GIO.call {
            g_socket_listener_accept_async(listener.pointer, $0, $1, $2)
        } finish: { _, result, error in
            let connection = g_socket_listener_accept_finish(listener.pointer, result, nil, error)
            return connection.map { GIO.IOStream(full: UnsafeMutablePointer(OpaquePointer($0))) }
        }.unsafelyUnwrapped
    }

    private func serve(_ client: GIO.IOStream, _ number: Int) async {
        do {
            let count = try await GIO.copy(from: client.input, to: client.output)
            say("connection \(number): \(count) bytes")
        } catch is CancellationError {
            say("connection \(number): cancelled")
        } catch {
            say("connection \(number): \(error)")
        }
        // Closes also in a cancelled task.
        try? await client.close()
    }

    private struct UsageError: Error, CustomStringConvertible {
        var description: String { "usage: gio-echo-server [PORT]" }
    }
}

/// Written immediately: print() would keep the lines until the end if the output is a file.
private func say(_ text: String) {
    print(text)
    fflush(nil)
}
