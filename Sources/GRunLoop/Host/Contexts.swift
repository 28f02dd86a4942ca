// SPDX-License-Identifier: Apache-2.0
// The GLib functions for main contexts that the loop needs. In Swift, only this folder calls GLib's main-loop
// functions.
//
// The loop relies on three properties of a context. One thread at a time can acquire it. The owner can prepare, query,
// check and dispatch it. Any thread can wake it.

import CGRun
import CGRunGLib
import Glibc

enum Contexts {
    /// The number of context dispatches on this thread's stack.
    static var depth: Int { Int(g_main_depth()) }

    static func of(_ hub: UnsafeMutablePointer<GSource>) -> OpaquePointer { g_source_get_context(hub) }

    static func retain(_ context: OpaquePointer) { g_main_context_ref(context) }
    static func release(_ context: OpaquePointer) { g_main_context_unref(context) }
    static func dispatch(_ context: OpaquePointer) { g_main_context_dispatch(context) }

    /// Creates a context. Returns nil if no file descriptor is left, because GLib would then end the process.
    static func make() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_new() }
    }

    /// Calls `body` while pthread_cancel() cannot end the thread. Adding a GSource writes to a descriptor, and so does
    /// creating a context before GLib 2.68. If the thread ended in this write, its loop's lock would stay locked
    /// forever.
    static func withoutCancellation<Result>(_ body: () -> Result) -> Result {
        var state: Int32 = 0
        pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
        return body()
    }

    /// Creates a context and makes it the calling thread's default until ``pop(_:)``. Returns nil if no file descriptor
    /// is left.
    static func pushNew() -> OpaquePointer? {
        let context = make()
        if let context { g_main_context_push_thread_default(context) }
        return context
    }

    static func pop(_ context: OpaquePointer) {
        g_main_context_pop_thread_default(context)
        release(context)
    }

    /// Returns GLib's global default context, with a reference for the caller. Nil if no file descriptor is left,
    /// because GLib may have to create the context.
    static func ofMainThread() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_ref(g_main_context_default()) }
    }

    /// Returns whether GIO operations that this thread starts now complete in `context`.
    /// `g_main_context_get_thread_default()` returns nil for GLib's global default context, even if the program has
    /// pushed that context over another context.
    static func isThreadDefault(_ context: OpaquePointer) -> Bool {
        context == g_main_context_get_thread_default() ?? g_main_context_default()
    }

    /// Returns the context that was pushed last as this thread's default, with a reference for the caller. Nil if no
    /// context is pushed, or if the pushed context is GLib's global default context.
    static func pushedOnThisThread() -> OpaquePointer? {
        g_main_context_get_thread_default().map { g_main_context_ref($0) }
    }
}
