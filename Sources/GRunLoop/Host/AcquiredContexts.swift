// SPDX-License-Identifier: Apache-2.0
// The GLib contexts that a run of the loop owns.

import CGRun
import CGRunGLib

/// The GLib contexts that a run has acquired. The run owns them until the run ends. Otherwise another thread could
/// iterate a context between two passes, or call a function there by `g_main_context_invoke()`.
struct AcquiredContexts {
    private(set) var list: [ServedContext] = []
    private var version = -1
    private var isComplete = false
    /// The context that the run has pushed as the thread's default; nil if there is none. GLib retains the context.
    private var pushed: OpaquePointer?

    /// The run's first context; nil if the run owns none. GIO operations that the thread starts in the run complete
    /// there, and other threads wake the run through this context.
    var first: OpaquePointer? { list.first?.context }

    /// Returns whether the run owns every context that the mode has at this ``ModeState/contextsVersion``.
    func isCurrent(_ version: Int) -> Bool {
        version == self.version && isComplete
    }

    /// Returns whether the mode's contexts have changed since the last ``update(to:version:)``. A context that could
    /// not be acquired then and is free now is not a change.
    func isOutdated(_ version: Int) -> Bool { version != self.version }

    /// Acquires the `wanted` contexts, and releases all others. Skips a context that another thread owns; the next call
    /// tries again.
    mutating func update(to wanted: __owned [ServedContext], version: Int) {
        self.version = version
        if list.isEmpty {
            // The usual case: no other thread owns a context.
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
            // A perturbation test simulates this refusal. No thread owns the context, so no thread will release it and
            // wake the loop. Version -1 makes the run try again before it sleeps.
            version = -1
            return false
        }
        return g_main_context_acquire(served.context) != 0
    }

    /// Pushes the first context as the thread's default, so that GIO operations that the thread starts now complete
    /// there.
    mutating func pushThreadDefault() {
        guard pushed == nil, let first, !Contexts.isThreadDefault(first) else { return }
        g_main_context_push_thread_default(first)
        pushed = first
    }

    /// Releases the contexts of a run in which a callout has ended the thread. Pops no default context, because GLib
    /// has already dropped the thread's default contexts.
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
                    "a callback pushed a thread-default GMainContext and did not pop it, so the run cannot pop its own "
                        + "context. Pop the context in the same callback")
            }
        }
        pushed = nil
        for served in list { g_main_context_release(served.context) }
        list = []
        version = -1
    }
}
