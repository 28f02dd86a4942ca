// SPDX-License-Identifier: Apache-2.0
// GLib's main contexts, as the rest of the loop needs them. Only this folder calls GLib's main-loop functions.
//
// What a context must provide: it can be acquired by one thread at a time, prepared, queried, checked and dispatched by
// its owner, and woken from any thread.

import CGLib
import CGRun

enum Contexts {
    static func retain(_ context: OpaquePointer) { g_main_context_ref(context) }
    static func release(_ context: OpaquePointer) { g_main_context_unref(context) }
    static func wakeUp(_ context: OpaquePointer) { g_main_context_wakeup(context) }
    static func dispatch(_ context: OpaquePointer) { g_main_context_dispatch(context) }

    /// A context that nobody else has; nil if no descriptor is left for it. GLib itself would end the process then.
    static func make() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return g_main_context_new()
    }

    /// The context that GLib's functions use on the main thread, referenced; nil if it does not exist yet and no descriptor is left.
    static func ofMainThread() -> OpaquePointer? {
        guard cgrun_has_descriptors_left() else { return nil }
        return g_main_context_ref(g_main_context_default())
    }

    /// The context that was pushed on this thread, referenced; nil if none was.
    static func pushedOnThisThread() -> OpaquePointer? {
        g_main_context_get_thread_default().map { g_main_context_ref($0) }
    }
}

/// A wake-up that is owed to a thread that sleeps in poll(): sent after the lock, since the woken thread wants it.
struct Kick {
    private let waker: SleepState.Waker

    init(_ waker: SleepState.Waker) {
        self.waker = waker
        if case .context(let context) = waker { Contexts.retain(context) }
    }

    /// Exactly once.
    func send() {
        switch waker {
        case .context(let context):
            Contexts.wakeUp(context)
            Contexts.release(context)
        case .descriptor(let descriptor):
            cgrun_event_signal(descriptor)
        }
    }
}

/// The contexts that one run has acquired, for as long as it lasts: between its passes no other thread may iterate them, or take
/// itself for their owner in `g_main_context_invoke()`.
struct AcquiredContexts {
    private(set) var list: [ServedContext] = []
    private var version = -1
    private var isComplete = false
    private var pushed: ServedContext?

    /// Whether ``update(to:version:)`` would change anything.
    func isCurrent(_ version: Int) -> Bool {
        version == self.version && isComplete
    }

    /// Makes what `wanted` names now what is acquired. One that another thread owns is left out, and tried again next time.
    mutating func update(to wanted: [ServedContext], version: Int) {
        for served in list where !wanted.contains(where: { $0 === served }) { g_main_context_release(served.context) }
        list = wanted.filter { served in
            list.contains { $0 === served } || g_main_context_acquire(served.context) != 0
        }
        isComplete = list.count == wanted.count
        self.version = version
    }

    /// What this thread starts from now on with GIO completes in the first of them.
    mutating func pushThreadDefault() {
        guard pushed == nil, let first = list.first else { return }
        let current = g_main_context_get_thread_default() ?? g_main_context_default()
        guard current != first.context else { return }
        g_main_context_push_thread_default(first.context)
        pushed = first
    }

    mutating func releaseAll() {
        if let pushed { g_main_context_pop_thread_default(pushed.context) }
        pushed = nil
        for served in list { g_main_context_release(served.context) }
        list = []
        version = -1
    }
}
