// SPDX-License-Identifier: Apache-2.0
// A context that a loop serves, and the hub that the loop has on it.

import CGLib
import CGRun

/// On the home context the hub carries the loop's items; on every context it is the canary that tells whether GLib really
/// checked its sources.
final class ServedContext {
    let context: OpaquePointer
    let hub: UnsafeMutablePointer<GSource>

    /// Takes a reference of its own. `loop` is nil where the hub is to be a canary only.
    init(_ context: OpaquePointer, carrying loop: GRunLoop?) {
        self.context = g_main_context_ref(context)
        var functions = cgrun_hub_funcs(
            prepare: hubPrepare, check: hubCheck, dispatch: hubDispatch, release: hubRelease)
        // Retained, until GLib lets go of the hub: the cycle ends with the loop's thread.
        hub = cgrun_hub_new(&functions, loop.map { Unmanaged.passRetained($0).toOpaque() })
        g_source_attach(hub, context)
    }

    /// Relies on nothing that belongs to a thread: it may run in the last moments of one.
    deinit {
        g_source_destroy(hub)
        g_source_unref(hub)
        g_main_context_unref(context)
    }
}

private let hubPrepare: @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt32>?) -> Bool = { loop, watched in
    guard let loop, let watched else { return false }
    return Unmanaged<GRunLoop>.fromOpaque(loop).takeUnretainedValue().prepareForHost(&watched.pointee)
}

private let hubCheck: @convention(c) (UnsafeMutableRawPointer?, UInt32) -> Bool = { loop, found in
    guard let loop else { return false }
    return Unmanaged<GRunLoop>.fromOpaque(loop).takeUnretainedValue().checkForHost(found)
}

private let hubDispatch: @convention(c) (UnsafeMutableRawPointer?) -> Void = { loop in
    guard let loop else { return }
    Unmanaged<GRunLoop>.fromOpaque(loop).takeUnretainedValue().serveHost()
}

private let hubRelease: @convention(c) (UnsafeMutableRawPointer?) -> Void = { loop in
    guard let loop else { return }
    Unmanaged<GRunLoop>.fromOpaque(loop).release()
}
