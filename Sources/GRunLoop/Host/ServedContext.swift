// SPDX-License-Identifier: Apache-2.0
// A context that a loop serves, and the hub that the loop has on it.

import CGRun
import CGRunGLib

/// A context that a loop serves, with a hub on it. On the home context, the hub carries the loop's items. On every
/// context, the hub is also a canary: it shows whether GLib has really checked the context's sources.
final class ServedContext {
    let context: OpaquePointer
    let hub: UnsafeMutablePointer<GSource>

    /// Retains the context, and attaches a hub to it.
    ///
    /// - Parameter loop: the loop whose items the hub carries. Nil if the hub is only a canary.
    init(_ context: OpaquePointer, carrying loop: GRunLoop?) {
        self.context = g_main_context_ref(context)
        // A hub that is only a canary calls no function of a loop.
        var functions = loop?.hubFunctions ?? cgrun_hub_funcs()
        // The hub retains the loop until GLib releases the hub. This reference cycle ends with the loop's thread.
        hub = cgrun_hub_new(&functions, loop.map { Unmanaged.passRetained($0).toOpaque() }, loop?.isMain ?? false)
        _ = Contexts.withoutCancellation { [hub] in g_source_attach(hub, context) }
    }

    /// Removes the hub from the context. Code that still holds this object then sees a hub without a context.
    func close() {
        cgrun_hub_close(hub)
    }

    /// Uses no thread-specific state, because it may run while its thread ends.
    deinit {
        // In a forked child, GLib's own locks may be held forever.
        guard !Fork.isChild else { return }
        cgrun_hub_close(hub)
        g_source_unref(hub)
        g_main_context_unref(context)
    }
}
