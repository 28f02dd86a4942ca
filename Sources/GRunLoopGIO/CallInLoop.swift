// SPDX-License-Identifier: Apache-2.0
// Calls a function on the thread that runs a context.

import CGRunGIO

/// Calls `function` once with an object on the thread that runs the context, and then releases the object by `release`.
/// If the context is never run again, only `release` is called, when GLib frees the context.
///
/// `g_main_context_invoke_full` is not used. If no thread runs the context, that function acquires the context, and the
/// loop would leave the context out of a pass that begins at this moment.
func callInLoop(
    of context: OpaquePointer?, priority: Int32, _ object: AnyObject, _ function: @escaping GSourceFunc,
    release: @escaping GDestroyNotify
) {
    let source = g_idle_source_new()
    g_source_set_priority(source, priority)
    g_source_set_callback(source, function, Unmanaged.passRetained(object).toOpaque(), release)
    g_source_attach(source, context)
    g_source_unref(source)
}
