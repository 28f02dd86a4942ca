// SPDX-License-Identifier: Apache-2.0
// A context that a loop serves, and the hub that the loop has on it.

import CGRun
import CGRunGLib

/// What GLib asks of the hub's loop, which stands above: GLib knows the GSource only.
protocol HubOwner: AnyObject {
    var isMain: Bool { get }
    var hubFunctions: cgrun_hub_funcs { get }
}

/// On the home context the hub carries the loop's items; on every context it is the canary that tells whether GLib
/// really checked its sources.
final class ServedContext {
    let context: OpaquePointer
    let hub: UnsafeMutablePointer<GSource>

    /// Takes a reference of its own. `loop` is nil where the hub is to be a canary only.
    init(_ context: OpaquePointer, carrying loop: GRunLoop?) {
        self.context = g_main_context_ref(context)
        let owner: (any HubOwner)? = loop
        // A canary calls none.
        var functions = owner?.hubFunctions ?? cgrun_hub_funcs()
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
