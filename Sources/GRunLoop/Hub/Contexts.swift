// SPDX-License-Identifier: Apache-2.0
// GLib's main contexts, as the rest of the loop needs them. Only this folder calls GLib's main-loop functions.
//
// What a context must provide: it can be acquired by one thread at a time, prepared, queried, checked and dispatched by
// its owner, and woken from any thread.

import CGLib
import CGRun
import Glibc

enum Contexts {
    /// How many dispatches of any context are on this thread's stack.
    static var depth: Int { Int(g_main_depth()) }

    static func retain(_ context: OpaquePointer) { g_main_context_ref(context) }
    static func release(_ context: OpaquePointer) { g_main_context_unref(context) }
    static func wakeUp(_ context: OpaquePointer) { g_main_context_wakeup(context) }
    static func dispatch(_ context: OpaquePointer) { g_main_context_dispatch(context) }

    /// A context that nobody else has; nil if no descriptor is left for it. GLib itself would end the process then.
    static func make() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return withoutCancellation { g_main_context_new() }
    }

    /// GLib writes to the wakeup descriptor of a context that it adds a source to, before 2.68 also of one that it
    /// makes: a point at which pthread_cancel() ends a thread, whose loop's lock would stay locked for ever.
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

    /// Whether what GIO starts on this thread now completes in that context. Of the default context GLib says that
    /// there is none, also where it was pushed over another.
    static func isThreadDefault(_ context: OpaquePointer) -> Bool {
        context == g_main_context_get_thread_default() ?? g_main_context_default()
    }

    /// The context that was pushed on this thread, referenced; nil if none was, or GLib's default one.
    static func pushedOnThisThread() -> OpaquePointer? {
        g_main_context_get_thread_default().map { g_main_context_ref($0) }
    }
}
