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

extension GRunLoop {
    /// With the lock held: fixes the home context if it is not fixed yet and can be now. The main loop's is GLib's default
    /// context. On another thread it is the one that is pushed there when the first item is added or the loop first runs, else one of
    /// its own; what another thread adds before that does not fix it, since nobody else can ask.
    func fixHomeLocked() {
        guard home == nil, !isDead, isMain || isCurrent else { return }
        guard let context = isMain ? Contexts.ofMainThread() : Contexts.pushedOnThisThread() ?? Contexts.make() else {
            return
        }
        home = ServedContext(context, carrying: self)
        Contexts.release(context)
        for mode in modes.values { mode.contextsVersion += 1 }
    }

    /// The context that every common mode serves: GLib's default context on the main thread; elsewhere the thread's default
    /// one, or one of the loop's own. Nil until it is fixed, when the thread adds its first item or first runs the loop.
    ///
    /// Threads: any. It is a `GMainContext *` that belongs to the loop: take a reference to keep it.
    public var homeContext: OpaquePointer? {
        lock.withLock { home?.context }
    }

    /// With the lock held: the contexts that a mode serves, the one first in which GIO is to complete.
    func contextsLocked(of mode: ModeState) -> [ServedContext] {
        var contexts: [ServedContext] = []
        if mode.isCommon, let home { contexts.append(home) }
        if let own = mode.ownContext { contexts.append(own) }
        return contexts + mode.addedContexts
    }
}
