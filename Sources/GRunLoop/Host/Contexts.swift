// SPDX-License-Identifier: Apache-2.0
// GLib's main contexts, as the rest of the loop needs them. Only this folder calls GLib's main-loop functions.
//
// What a context must provide: it can be acquired by one thread at a time, prepared, queried, checked and dispatched by
// its owner, and woken from any thread.

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

    /// A new context; nil if no descriptor is left for it, where GLib would end the process.
    static func make() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_new() }
    }

    /// Adding a source to a context, and before GLib 2.68 making one, writes to its wakeup descriptor. pthread_cancel()
    /// may end a thread in that write, and its loop's lock would stay locked for ever.
    static func withoutCancellation<Result>(_ body: () -> Result) -> Result {
        var state: Int32 = 0
        pthread_setcancelstate(Int32(PTHREAD_CANCEL_DISABLE), &state)
        defer { pthread_setcancelstate(state, nil) }
        return body()
    }

    /// A context that is the calling thread's default from now on, until ``pop(_:)``; nil if no descriptor is left for
    /// it.
    static func pushNew() -> OpaquePointer? {
        let context = make()
        if let context { g_main_context_push_thread_default(context) }
        return context
    }

    static func pop(_ context: OpaquePointer) {
        g_main_context_pop_thread_default(context)
        release(context)
    }

    /// The context that GLib's functions use on the main thread, referenced; nil if it does not exist yet and no
    /// descriptor is left.
    static func ofMainThread() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_ref(g_main_context_default()) }
    }

    /// Whether GIO operations that this thread starts now complete in that context. For the default context GLib
    /// reports none, even where it was pushed over another.
    static func isThreadDefault(_ context: OpaquePointer) -> Bool {
        context == g_main_context_get_thread_default() ?? g_main_context_default()
    }

    /// The context that was pushed on this thread, referenced; nil if none was, or GLib's default one.
    static func pushedOnThisThread() -> OpaquePointer? {
        g_main_context_get_thread_default().map { g_main_context_ref($0) }
    }
}
