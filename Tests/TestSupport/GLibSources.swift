// SPDX-License-Identifier: Apache-2.0
// GLib's own sources with Swift closures, for tests of contexts.

import CGRunGLib
import GRunLoop
import Glibc

private final class Callback {
    let body: () -> Bool
    init(_ body: @escaping () -> Bool) { self.body = body }
}

private let callCallback: GSourceFunc = { data in
    guard let data else { return 0 }
    return Unmanaged<Callback>.fromOpaque(data).takeUnretainedValue().body() ? 1 : 0
}

private let callDescriptorCallback: GUnixFDSourceFunc = { _, _, data in
    guard let data else { return 0 }
    return Unmanaged<Callback>.fromOpaque(data).takeUnretainedValue().body() ? 1 : 0
}

private let dropCallback: GDestroyNotify = { data in
    guard let data else { return }
    Unmanaged<Callback>.fromOpaque(data).release()
}

/// A GLib source in a context. It stays until its closure returns false or it is destroyed.
public final class GLibSource: @unchecked Sendable {
    private let source: UnsafeMutablePointer<GSource>

    private init(
        _ source: UnsafeMutablePointer<GSource>, _ priority: Int32, _ body: @escaping @Sendable () -> Bool,
        _ setCallback: (UnsafeMutablePointer<GSource>, UnsafeMutableRawPointer) -> Void
    ) {
        self.source = source
        g_source_set_priority(source, priority)
        setCallback(source, Unmanaged.passRetained(Callback(body)).toOpaque())
    }

    private convenience init(
        _ source: UnsafeMutablePointer<GSource>, _ context: OpaquePointer?, _ priority: Int32,
        _ body: @escaping @Sendable () -> Bool
    ) {
        self.init(source, priority, body) { g_source_set_callback($0, callCallback, $1, dropCallback) }
        g_source_attach(source, context)
    }

    deinit { g_source_unref(source) }

    public func setName(_ name: String) { g_source_set_name(source, name) }

    /// Calls the closure repeatedly until it returns false.
    public static func timeout(
        _ context: OpaquePointer?, milliseconds: UInt32, priority: Int32 = 0, _ body: @escaping @Sendable () -> Bool
    ) -> GLibSource {
        GLibSource(g_timeout_source_new(milliseconds), context, priority, body)
    }

    public static func idle(
        _ context: OpaquePointer?, priority: Int32 = 0, _ body: @escaping @Sendable () -> Bool
    ) -> GLibSource {
        GLibSource(g_idle_source_new(), context, priority, body)
    }

    /// Calls the closure while the descriptor is readable, until it returns false.
    public static func readable(
        _ context: OpaquePointer?, _ descriptor: Int32, priority: Int32 = 0, _ body: @escaping @Sendable () -> Bool
    ) -> GLibSource {
        let source = GLibSource(g_unix_fd_source_new(descriptor, G_IO_IN), priority, body) { source, data in
            // GLib casts the function back, because this kind of source calls it with other parameters.
            g_source_set_callback(
                source, unsafeBitCast(callDescriptorCallback, to: GSourceFunc.self), data, dropCallback)
        }
        g_source_attach(source.source, context)
        return source
    }

    public func destroy() { g_source_destroy(source) }
}

/// A context that belongs to the test.
public final class TestContext: @unchecked Sendable {
    public let pointer: OpaquePointer

    public init() { pointer = g_main_context_new() }

    deinit { g_main_context_unref(pointer) }
}

/// Another thread that owns a context until it is told to release it.
public final class ContextOwner: Sendable {
    private let mayLetGo = Flag()
    private let thread: pthread_t

    /// Returns when the thread owns the context. Nil means the default context.
    public init(_ context: OpaquePointer?) {
        nonisolated(unsafe) let context = context
        let isOwned = Flag()
        thread = startThread { [mayLetGo] in
            precondition(g_main_context_acquire(context) != 0)
            isOwned.set()
            mayLetGo.wait()
            g_main_context_release(context)
        }
        isOwned.wait()
    }

    /// Returns when the context is released.
    public func letGo() {
        mayLetGo.set()
        join(thread)
    }
}

extension GRunLoop.Context {
    /// For tests in which the loop keeps the context alive anyway.
    public var pointer: OpaquePointer { withPointer { $0 } }
}

/// Calls `body` on the thread that iterates the context.
public func invoke(in context: OpaquePointer?, _ body: @escaping @Sendable () -> Void) {
    let callback = Callback {
        body()
        return false
    }
    g_main_context_invoke_full(context, 0, callCallback, Unmanaged.passRetained(callback).toOpaque(), dropCallback)
}
