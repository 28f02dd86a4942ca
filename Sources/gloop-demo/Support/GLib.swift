// SPDX-License-Identifier: Apache-2.0
// GLib sources with Swift closures. The C callbacks are nonisolated functions of this file. If a callback were isolated
// to the main actor, a call on another thread would end the program.

import CGRunGIO
import Glibc

private final class Box {
    let body: () -> Bool

    init(_ body: @escaping () -> Bool) {
        self.body = body
    }

    static func call(_ data: gpointer?) -> gboolean {
        guard let data else { return 0 }
        return Unmanaged<Box>.fromOpaque(data).takeUnretainedValue().body() ? 1 : 0
    }

    static let release: GDestroyNotify = { data in
        guard let data else { return }
        Unmanaged<Box>.fromOpaque(data).release()
    }
}

enum GLibSource {
    /// Adds a `GTimeoutSource` to a context, and returns the id of the source in that context. Nil means GLib's default
    /// context. ``remove(_:)`` works only for sources in the default context.
    ///
    /// - Parameter body: called after the time. If `body` returns true, it is called again after the same time.
    @discardableResult static func addTimeout(
        milliseconds: UInt32, to context: OpaquePointer? = nil, _ body: @escaping () -> Bool
    ) -> UInt32 {
        let source = g_timeout_source_new(milliseconds)
        defer { g_source_unref(source) }
        let callback: GSourceFunc = { Box.call($0) }
        g_source_set_callback(source, callback, Unmanaged.passRetained(Box(body)).toOpaque(), Box.release)
        return g_source_attach(source, context)
    }

    static func remove(_ id: UInt32) {
        g_source_remove(id)
    }
}

/// Two connected `GSocket`s: one sends texts, and the other receives them. Threads: any.
final class SocketPair: @unchecked Sendable {
    private let ends: [UnsafeMutablePointer<GSocket>]

    init() throws {
        var descriptors: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &descriptors) == 0 else {
            throw ScenarioError("socketpair() has failed")
        }
        ends = try descriptors.map { descriptor in
            try GLibError.check { g_socket_new_from_fd(descriptor, $0) }
        }
    }

    /// Frees the two sockets. A `GSocket` closes its descriptor when it is freed.
    deinit {
        for end in ends { g_object_unref(end) }
    }

    func send(_ text: String) {
        text.withCString { _ = g_socket_send(ends[0], $0, gsize(text.utf8.count), nil, nil) }
    }

    /// Attaches a `GSocketSource` to GLib's default context. The source calls `body` with every text that is received.
    ///
    /// - Parameter body: called with each text. If `body` returns false, it is not called for later texts.
    func receive(_ body: @escaping (String) -> Bool) {
        guard let source = g_socket_create_source(ends[1], G_IO_IN, nil) else { return }
        let box = Box { [self] in
            var buffer = [CChar](repeating: 0, count: 256)
            let count = g_socket_receive(ends[1], &buffer, gsize(buffer.count), nil, nil)
            return body(String(decoding: buffer.prefix(max(0, count)).map(UInt8.init(bitPattern:)), as: UTF8.self))
        }
        let callback: GSocketSourceFunc = { _, _, data in Box.call(data) }
        g_source_set_callback(
            source, unsafeBitCast(callback, to: GSourceFunc.self), Unmanaged.passRetained(box).toOpaque(), Box.release)
        g_source_attach(source, nil)
        g_source_unref(source)
    }
}

enum GLibError {
    /// Calls a function whose last parameter is a `GError **`. If the function returns nil, throws the error.
    static func check<Value>(_ call: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> Value?) throws -> Value {
        var error: UnsafeMutablePointer<GError>?
        if let value = call(&error) { return value }
        defer { g_clear_error(&error) }
        throw ScenarioError(error.map { String(cString: $0.pointee.message) } ?? "GLib has failed without a message")
    }
}
