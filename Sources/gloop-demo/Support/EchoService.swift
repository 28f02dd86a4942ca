// SPDX-License-Identifier: Apache-2.0
// A GSocketService that sends back all data that it receives, and a client for this service. Both use only GIO, and no
// run loop of ours.

import CGRunGIO
import Glibc

/// A service on a free port of 127.0.0.1. It works while the thread-default context of its thread is iterated. Make and
/// close the service on the same thread.
final class EchoService {
    let port: UInt16
    /// How many connections were accepted. `closed` is the number of these connections that the clients have closed.
    let accepted = Shared(0)
    let closed = Shared(0)
    private let service: UnsafeMutablePointer<GSocketService>

    init() throws {
        guard let service = g_socket_service_new(), let address = g_inet_socket_address_new_from_string("127.0.0.1", 0)
        else {
            throw ScenarioError("the socket service cannot be created")
        }
        defer { g_object_unref(address) }
        let listener = UnsafeMutableRawPointer(service).assumingMemoryBound(to: GSocketListener.self)
        g_socket_listener_set_backlog(listener, 128)
        var bound: UnsafeMutablePointer<GSocketAddress>?
        _ = try GLibError.check {
            g_socket_listener_add_address(
                listener, address, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, nil, &bound, $0) != 0
                ? true : nil
        }
        let inet = UnsafeMutableRawPointer(bound)?.assumingMemoryBound(to: GInetSocketAddress.self)
        port = inet.map { g_inet_socket_address_get_port($0) } ?? 0
        g_object_unref(bound)
        self.service = service

        let incoming: IncomingCallback = { _, connection, _, data in
            guard let connection, let data else { return 0 }
            Unmanaged<EchoService>.fromOpaque(data).takeUnretainedValue().accept(connection)
            return 1
        }
        g_signal_connect_data(
            service, "incoming", unsafeBitCast(incoming, to: GCallback.self), Unmanaged.passUnretained(self).toOpaque(),
            nil,
            GConnectFlags(rawValue: 0))
        g_socket_service_start(service)
    }

    deinit {
        g_object_unref(service)
    }

    /// Stops accepting connections. Open connections stay open until their clients close them.
    func close() {
        g_socket_service_stop(service)
        g_socket_listener_close(UnsafeMutableRawPointer(service).assumingMemoryBound(to: GSocketListener.self))
        g_signal_handlers_disconnect_matched(
            service, cglib_signal_match_data, 0, 0, nil, nil, Unmanaged.passUnretained(self).toOpaque())
    }

    private func accept(_ connection: UnsafeMutablePointer<GSocketConnection>) {
        accepted.increment()
        Peer(connection) { [closed] in closed.increment() }.read()
    }
}

private typealias IncomingCallback =
    @convention(c) (
        UnsafeMutablePointer<GSocketService>?, UnsafeMutablePointer<GSocketConnection>?, UnsafeMutablePointer<GObject>?,
        gpointer?
    ) -> gboolean

/// One connection of the service. A pending read or write retains this object, so this object lives until the client
/// closes the connection.
private final class Peer {
    private let stream: UnsafeMutablePointer<GIOStream>
    private let ended: () -> Void

    init(_ connection: UnsafeMutablePointer<GSocketConnection>, ended: @escaping () -> Void) {
        stream = UnsafeMutableRawPointer(connection).assumingMemoryBound(to: GIOStream.self)
        g_object_ref(connection)
        self.ended = ended
    }

    deinit {
        g_io_stream_close(stream, nil, nil)
        g_object_unref(stream)
        ended()
    }

    func read() {
        let completed: GAsyncReadyCallback = { input, result, data in
            guard let input, let data else { return }
            let peer = Unmanaged<Peer>.fromOpaque(data).takeRetainedValue()
            let bytes = g_input_stream_read_bytes_finish(
                UnsafeMutableRawPointer(input).assumingMemoryBound(to: GInputStream.self), result, nil)
            guard let bytes else { return }
            if g_bytes_get_size(bytes) > 0 { peer.write(bytes) }
            g_bytes_unref(bytes)
        }
        let input = g_io_stream_get_input_stream(stream)
        let data = Unmanaged.passRetained(self).toOpaque()
        g_input_stream_read_bytes_async(input, 4096, G_PRIORITY_DEFAULT, nil, completed, data)
    }

    /// Sends the bytes back. The clients' texts are so short that one write sends a whole text.
    private func write(_ bytes: OpaquePointer) {
        let completed: GAsyncReadyCallback = { output, result, data in
            guard let output, let data else { return }
            let peer = Unmanaged<Peer>.fromOpaque(data).takeRetainedValue()
            let stream = UnsafeMutableRawPointer(output).assumingMemoryBound(to: GOutputStream.self)
            if g_output_stream_write_bytes_finish(stream, result, nil) > 0 { peer.read() }
        }
        let output = g_io_stream_get_output_stream(stream)
        let data = Unmanaged.passRetained(self).toOpaque()
        g_output_stream_write_bytes_async(output, bytes, G_PRIORITY_DEFAULT, nil, completed, data)
    }
}

/// A socket that is connected to a port of 127.0.0.1. The calls of the socket block, so use the client on a separate
/// thread.
final class EchoClient {
    private let socket: UnsafeMutablePointer<GSocket>

    init(port: UInt16) throws {
        socket = try GLibError.check {
            g_socket_new(G_SOCKET_FAMILY_IPV4, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, $0)
        }
        g_socket_set_timeout(socket, 20)
        guard let address = g_inet_socket_address_new_from_string("127.0.0.1", UInt32(port)) else {
            throw ScenarioError("the server address cannot be created")
        }
        defer { g_object_unref(address) }
        let socket = socket
        _ = try GLibError.check { g_socket_connect(socket, address, nil, $0) != 0 ? true : nil }
    }

    deinit {
        g_object_unref(socket)
    }

    /// Sends a text and returns the answer, or an empty text if sending fails.
    func exchange(_ text: String) -> String {
        let count = text.utf8.count
        guard text.withCString({ g_socket_send(socket, $0, gsize(count), nil, nil) }) == gssize(count) else {
            return ""
        }
        var buffer = [CChar](repeating: 0, count: 256)
        let received = g_socket_receive(socket, &buffer, gsize(buffer.count), nil, nil)
        return String(decoding: buffer.prefix(max(0, Int(received))).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
