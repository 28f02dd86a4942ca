// SPDX-License-Identifier: Apache-2.0
// The contexts that a run owns while it lasts.

import CGRun
import CGRunGLib

/// The contexts that a run has acquired. The run keeps them until it ends, also between its passes. Otherwise another
/// thread could iterate a context meanwhile, or acquire it in `g_main_context_invoke()` and call a function there.
struct AcquiredContexts {
    private(set) var list: [ServedContext] = []
    private var version = -1
    private var isComplete = false
    /// The context that the run has pushed as the thread's default; nil if there is none. Not retained, because GLib
    /// retains a pushed context.
    private var pushed: OpaquePointer?

    /// The context in which GIO operations complete, and by which a sleep of the run is ended. Nil if the run owns no
    /// context.
    var first: OpaquePointer? { list.first?.context }

    /// Whether the run owns all contexts of this version, so that ``update(to:version:)`` would change nothing.
    func isCurrent(_ version: Int) -> Bool {
        version == self.version && isComplete
    }

    /// Whether the wanted contexts have changed since the last ``update(to:version:)``. A context that another thread
    /// owned then does not count, even if it is free now.
    func isOutdated(_ version: Int) -> Bool { version != self.version }

    /// Acquires the `wanted` contexts and releases all others. Leaves out a context that another thread owns; the next
    /// call tries it again.
    mutating func update(to wanted: __owned [ServedContext], version: Int) {
        self.version = version
        if list.isEmpty {
            // The usual case: a run begins, and no other thread owns a context.
            let refusing = wanted.firstIndex { !acquires($0, of: wanted) }
            isComplete = refusing == nil
            guard let refusing else {
                list = wanted
                return
            }
            list = Array(wanted[..<refusing])
        }
        for served in list where !wanted.contains(where: { $0 === served }) { g_main_context_release(served.context) }
        list = wanted.filter { served in
            list.contains { $0 === served } || acquires(served, of: wanted)
        }
        isComplete = list.count == wanted.count
    }

    private mutating func acquires(_ served: ServedContext, of wanted: [ServedContext]) -> Bool {
        if served !== wanted.first, perturbs(CGRUN_SITE_ACQUIRE) {
            // No other thread really owns the context, so no thread would wake the loop when it releases it. This
            // version makes the run try again before it sleeps.
            version = -1
            return false
        }
        return g_main_context_acquire(served.context) != 0
    }

    /// Makes the first context the thread's default, so that GIO operations that the thread starts from now on complete
    /// there. Does nothing if that context is the default already.
    mutating func pushThreadDefault() {
        guard pushed == nil, let first, !Contexts.isThreadDefault(first) else { return }
        g_main_context_push_thread_default(first)
        pushed = first
    }

    /// Releases the contexts after the thread has ended inside a run. Pops no default context, because GLib has dropped
    /// the thread's default contexts already.
    mutating func abandon() {
        pushed = nil
        releaseAll()
    }

    mutating func releaseAll() {
        if let pushed {
            if Contexts.isThreadDefault(pushed) {
                g_main_context_pop_thread_default(pushed)
            } else {
                Log.misuse(
                    "run",
                    "a callout has pushed a thread-default GMainContext and not popped it again; the run's own one "
                        + "stays pushed below it")
            }
        }
        pushed = nil
        for served in list { g_main_context_release(served.context) }
        list = []
        version = -1
    }
}
