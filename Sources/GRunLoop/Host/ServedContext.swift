// SPDX-License-Identifier: Apache-2.0
// A GLib context that a loop serves.

import CGRun
import CGRunGLib

/// A GLib context that a loop serves, with the GSource that this library attaches to it: the hub. In the home context,
/// the hub represents the loop's items. In every context, the hub is also a canary: it shows whether GLib has really
/// called `check` for the context's sources.
final class ServedContext {
    let context: OpaquePointer
    let hub: UnsafeMutablePointer<GSource>

    /// Retains the context, and attaches a hub to it.
    ///
    /// - Parameter loop: the loop whose items the hub represents. Nil if the hub is only a canary.
    init(_ context: OpaquePointer, carrying loop: GRunLoop?) {
        self.context = g_main_context_ref(context)
        var functions = loop?.hubFunctions ?? cgrun_hub_funcs()
        // The hub retains the loop until GLib releases the hub. The reference cycle of loop, home context and hub ends
        // when the loop is detached, or when the loop's thread ends.
        hub = cgrun_hub_new(&functions, loop.map { Unmanaged.passRetained($0).toOpaque() }, loop?.isMain ?? false)
        _ = Contexts.withoutCancellation { [hub] in g_source_attach(hub, context) }
    }

    /// Permanently removes the hub from the context.
    func close() {
        cgrun_hub_close(hub)
    }

    /// Uses no thread-specific data, because this deinit may run while the thread ends.
    deinit {
        // In a forked child, GLib's own locks may stay locked forever.
        guard !Fork.isChild else { return }
        cgrun_hub_close(hub)
        g_source_unref(hub)
        g_main_context_unref(context)
    }
}
