// SPDX-License-Identifier: Apache-2.0
// GIO objects with Swift closures: sockets, tasks, and D-Bus between two ends of one socket.

import CGRunGIO
import Glibc

private final class ReadyCallback {
    let body: (OpaquePointer?) -> Void
    init(_ body: @escaping (OpaquePointer?) -> Void) { self.body = body }
}

private let callReady: GAsyncReadyCallback = { _, result, data in
    guard let data else { return }
    Unmanaged<ReadyCallback>.fromOpaque(data).takeRetainedValue().body(result)
}

/// A socket's end as a GIO stream, which owns the descriptor.
public final class GioConnection: @unchecked Sendable {
    let stream: UnsafeMutablePointer<GSocketConnection>

    public init(adopting descriptor: Int32) {
        guard let socket = g_socket_new_from_fd(descriptor, nil),
            let made = g_socket_connection_factory_create_connection(socket)
        else { fatalError("descriptor \(descriptor) is no socket") }
        stream = made
        g_object_unref(socket)
    }

    deinit { g_object_unref(stream) }

    var ioStream: UnsafeMutablePointer<GIOStream> {
        UnsafeMutableRawPointer(stream).assumingMemoryBound(to: GIOStream.self)
    }

    /// Reads the next data. Calls `body` in the current thread-default context.
    public func read(_ body: @escaping @Sendable (String) -> Void) {
        let input = g_io_stream_get_input_stream(ioStream)
        let callback = ReadyCallback { [self] result in
            let input = g_io_stream_get_input_stream(ioStream)
            guard let bytes = g_input_stream_read_bytes_finish(input, result, nil) else { return body("an error") }
            var size: gsize = 0
            let data = g_bytes_get_data(bytes, &size)
            body(String(decoding: UnsafeRawBufferPointer(start: data, count: Int(size)), as: UTF8.self))
            g_bytes_unref(bytes)
        }
        g_input_stream_read_bytes_async(input, 4096, 0, nil, callReady, Unmanaged.passRetained(callback).toOpaque())
    }
}

/// Starts an operation like GIO's asynchronous functions: it works on a worker thread, and then calls `body` in the
/// current thread-default context.
public func startTask(_ body: @escaping @Sendable () -> Void) {
    let callback = ReadyCallback { _ in body() }
    let task = g_task_new(nil, nil, callReady, Unmanaged.passRetained(callback).toOpaque())
    g_task_run_in_thread(task) { task, _, _, _ in g_task_return_boolean(task, 1) }
    g_object_unref(UnsafeMutableRawPointer(task))
}

/// The context in which a GIO operation that this thread starts now completes.
public func threadDefaultContext() -> OpaquePointer? {
    g_main_context_get_thread_default()
}

/// Two D-Bus connections to each other, without a bus.
public final class DBusPair: @unchecked Sendable {
    private let server: OpaquePointer
    private let client: OpaquePointer
    private var registration: guint = 0

    public init() {
        let ends = SocketPair.open()
        let made = Shared<OpaquePointer?>(nil)
        let guid = String(cString: g_dbus_generate_guid())
        let thread = startThread {
            made.value = DBusPair.connect(ends.0, guid: guid)
        }
        guard let client = DBusPair.connect(ends.1, guid: nil) else { fatalError("no D-Bus client") }
        join(thread)
        guard let server = made.value else { fatalError("no D-Bus server") }
        (self.client, self.server) = (client, server)
    }

    deinit {
        g_dbus_connection_unregister_object(server, registration)
        g_object_unref(UnsafeMutableRawPointer(server))
        g_object_unref(UnsafeMutableRawPointer(client))
    }

    private static func connect(_ descriptor: Int32, guid: String?) -> OpaquePointer? {
        let connection = GioConnection(adopting: descriptor)
        let flags = guid == nil ? cglib_dbus_connection_client : cglib_dbus_connection_server
        return g_dbus_connection_new_sync(connection.ioStream, guid, flags, nil, nil, nil)
    }

    /// Exports an object whose method Ask calls `body` in the current thread-default context.
    public func export(_ body: @escaping @Sendable () -> Void) {
        let xml =
            "<node><interface name='t.T'><method name='Ask'><arg type='s' direction='out'/></method></interface></node>"
        guard let node = g_dbus_node_info_new_for_xml(xml, nil) else { fatalError("no node") }
        defer { g_dbus_node_info_unref(node) }
        var table = GDBusInterfaceVTable()
        table.method_call = { _, _, _, _, _, _, invocation, data in
            guard let data else { return }
            Unmanaged<ReadyCallback>.fromOpaque(data).takeUnretainedValue().body(nil)
            var answer = g_variant_new_string("answer")
            g_dbus_method_invocation_return_value(invocation, g_variant_new_tuple(&answer, 1))
        }
        let callback = Unmanaged.passRetained(ReadyCallback { _ in body() }).toOpaque()
        registration = g_dbus_connection_register_object(
            server, "/t", node.pointee.interfaces[0], &table, callback,
            { data in if let data { Unmanaged<ReadyCallback>.fromOpaque(data).release() } }, nil)
    }

    /// Calls Ask of the other end. The answer arrives in the current thread-default context.
    public func ask(_ body: @escaping @Sendable (String) -> Void) {
        let callback = ReadyCallback { [self] result in
            guard let reply = g_dbus_connection_call_finish(client, result, nil) else { return body("an error") }
            let value = g_variant_get_child_value(reply, 0)
            body(String(cString: g_variant_get_string(value, nil)))
            g_variant_unref(value)
            g_variant_unref(reply)
        }
        g_dbus_connection_call(
            client, nil, "/t", "t.T", "Ask", nil, nil, cglib_dbus_call_none, -1, nil, callReady,
            Unmanaged.passRetained(callback).toOpaque())
    }
}

/// Starts a line of shell as a GIO subprocess. Calls `body` with its exit code in the current thread-default context.
public func startSubprocess(_ line: String, _ body: @escaping @Sendable (Int32) -> Void) {
    let copies = ["/bin/sh", "-c", line].map { (word: String) in strdup(word) }
    var words = copies.map { UnsafePointer<CChar>($0) } + [nil]
    defer { for copy in copies { free(copy) } }
    guard let process = g_subprocess_newv(&words, GSubprocessFlags(rawValue: 0), nil) else { return body(-1) }
    let callback = ReadyCallback { result in
        let isRight = g_subprocess_wait_finish(process, result, nil) != 0
        body(isRight && g_subprocess_get_if_exited(process) != 0 ? g_subprocess_get_exit_status(process) : -2)
        g_object_unref(UnsafeMutableRawPointer(process))
    }
    g_subprocess_wait_async(process, nil, callReady, Unmanaged.passRetained(callback).toOpaque())
}
