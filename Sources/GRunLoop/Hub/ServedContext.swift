// SPDX-License-Identifier: Apache-2.0
// A context that a loop serves, and the hub that the loop has on it.

import CGLib
import CGRun

/// What GLib asks of the hub's loop, which stands above: GLib knows the GSource only.
protocol HubOwner: AnyObject {
    var isMain: Bool { get }
    /// Whether there is work in memory; if not, what to watch and that the host may sleep now.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool
    /// Whether there is work, `found` being the records that the poll has found ready.
    func checkForHost(hasSlept: Bool, found: UInt32) -> Bool
    func serveHost()
    /// Whether observers were told that the host sleeps. Without the lock: only the loop's own thread writes it.
    var isWaitTold: Bool { get }
    func hostIsIdle(isStale: Bool)
}

/// On the home context the hub carries the loop's items; on every context it is the canary that tells whether GLib
/// really checked its sources.
final class ServedContext {
    let context: OpaquePointer
    let hub: UnsafeMutablePointer<GSource>

    /// Takes a reference of its own. `loop` is nil where the hub is to be a canary only.
    init(_ context: OpaquePointer, carrying loop: GRunLoop?) {
        self.context = g_main_context_ref(context)
        var functions = cgrun_hub_funcs(
            prepare: hubPrepare, check: hubCheck, dispatch: hubDispatch, is_waiting: hubIsWaiting, idle: hubIdle,
            release: hubRelease)
        let owner: (any HubOwner)? = loop
        // Retained, until GLib lets go of the hub: the cycle ends with the loop's thread.
        hub = cgrun_hub_new(&functions, loop.map { Unmanaged.passRetained($0).toOpaque() }, owner?.isMain ?? false)
        _ = Contexts.withoutCancellation { [hub] in g_source_attach(hub, context) }
    }

    /// Takes the hub out of the context. Code that still holds this object sees a hub without a context.
    func close() {
        cgrun_hub_close(hub)
    }

    /// Uses no thread-specific state: it may run while its thread ends.
    deinit {
        // GLib's own locks may be held there for ever.
        guard !Fork.isChild else { return }
        cgrun_hub_close(hub)
        g_source_unref(hub)
        g_main_context_unref(context)
    }
}

/// GLib holds the hub during the call, and the hub holds the loop: no reference is counted.
private func with<Result>(_ pointer: UnsafeMutableRawPointer, _ body: (any HubOwner) -> Result) -> Result {
    Unmanaged<GRunLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
}

private let hubPrepare: @convention(c) (UnsafeMutableRawPointer?, Bool, UnsafeMutablePointer<UInt32>?) -> Bool = {
    pointer, isStale, watched in
    guard let pointer, let watched else { return false }
    return with(pointer) { $0.prepareForHost(isStale: isStale, &watched.pointee) }
}

private let hubCheck: @convention(c) (UnsafeMutableRawPointer?, Bool, UInt32) -> Bool = { pointer, hasSlept, found in
    guard let pointer else { return false }
    return with(pointer) { $0.checkForHost(hasSlept: hasSlept, found: found) }
}

private let hubDispatch: @convention(c) (UnsafeMutableRawPointer?) -> Void = { pointer in
    guard let pointer else { return }
    with(pointer) { $0.serveHost() }
}

private let hubIsWaiting: @convention(c) (UnsafeMutableRawPointer?) -> Bool = { pointer in
    guard let pointer else { return false }
    return with(pointer) { $0.isWaitTold }
}

private let hubIdle: @convention(c) (UnsafeMutableRawPointer?, Bool) -> Void = { pointer, isStale in
    guard let pointer else { return }
    with(pointer) { $0.hostIsIdle(isStale: isStale) }
}

private let hubRelease: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
    guard let pointer = $0 else { return }
    Unmanaged<GRunLoop>.fromOpaque(pointer).release()
}
