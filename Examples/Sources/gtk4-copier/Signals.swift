// SPDX-License-Identifier: Apache-2.0
// The little of a binding that this program needs.

import CGtk4

/// Calls a closure of the main actor when an object emits a signal without arguments. The object retains the closure.
@MainActor func connect<Object>(
    _ object: UnsafeMutablePointer<Object>?, _ signal: String, _ body: @escaping @MainActor () -> Void
) {
    let call: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
        let handler = UInt(bitPattern: data)
        MainActor.assumeIsolated {
            UnsafeRawPointer(bitPattern: handler).map {
                Unmanaged<Handler>.fromOpaque($0).takeUnretainedValue().body()
            }
        }
    }
    g_signal_connect_data(
        object, signal, unsafeBitCast(call, to: GCallback.self), Unmanaged.passRetained(Handler(body)).toOpaque(),
        { data, _ in data.map { Unmanaged<Handler>.fromOpaque($0).release() } }, GConnectFlags(rawValue: 0))
}

private final class Handler {
    let body: @MainActor () -> Void
    init(_ body: @escaping @MainActor () -> Void) { self.body = body }
}

/// A pointer to the same object, as another class of C.
func cast<From, To>(_ object: UnsafeMutablePointer<From>?) -> UnsafeMutablePointer<To>? {
    UnsafeMutableRawPointer(object)?.assumingMemoryBound(to: To.self)
}
