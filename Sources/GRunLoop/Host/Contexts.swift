// SPDX-License-Identifier: Apache-2.0
// GLib's main contexts, as the rest of the loop needs them. Only this folder calls GLib's main-loop functions.
//
// The loop relies on this: one thread at a time can acquire a context. The owner can prepare, query, check and dispatch
// it. Any thread can wake it.

import CGRun
import CGRunGLib
import Glibc

enum Contexts {
    /// How many dispatches of any context are on this thread's stack.
    static var depth: Int { Int(g_main_depth()) }

    /// The context that a hub is attached to.
    static func of(_ hub: UnsafeMutablePointer<GSource>) -> OpaquePointer { g_source_get_context(hub) }

    static func retain(_ context: OpaquePointer) { g_main_context_ref(context) }
    static func release(_ context: OpaquePointer) { g_main_context_unref(context) }
    static func dispatch(_ context: OpaquePointer) { g_main_context_dispatch(context) }

    /// Creates a context. Returns nil if no descriptor is left for it, because GLib would end the process then.
    static func make() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_new() }
    }

    /// Calls `body` while pthread_cancel() cannot end the thread. Adding a source to a context writes to the context's
    /// wakeup descriptor, and before GLib 2.68 creating a context does, too. If the thread ended in that write, its
    /// loop's lock would stay locked forever.
    static func withoutCancellation<Result>(_ body: () -> Result) -> Result {
        var state: Int32 = 0
        pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
        return body()
    }

    /// Creates a context and makes it the calling thread's default until ``pop(_:)``. Returns nil if no descriptor is
    /// left for it.
    static func pushNew() -> OpaquePointer? {
        let context = make()
        if let context { g_main_context_push_thread_default(context) }
        return context
    }

    static func pop(_ context: OpaquePointer) {
        g_main_context_pop_thread_default(context)
        release(context)
    }

    /// GLib's default context, which its functions use on the main thread, with a reference for the caller. Nil if no
    /// descriptor is left, because GLib may have to create the context.
    static func ofMainThread() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_ref(g_main_context_default()) }
    }

    /// Whether GIO operations that this thread starts now complete in that context. If it is GLib's default context,
    /// GLib reports nil, even where the program has pushed it over another context.
    static func isThreadDefault(_ context: OpaquePointer) -> Bool {
        context == g_main_context_get_thread_default() ?? g_main_context_default()
    }

    /// The context that was last pushed as this thread's default, with a reference for the caller. Nil if no context
    /// was pushed, or if it is GLib's default context.
    static func pushedOnThisThread() -> OpaquePointer? {
        g_main_context_get_thread_default().map { g_main_context_ref($0) }
    }
}
