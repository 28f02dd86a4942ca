// SPDX-License-Identifier: Apache-2.0
// The contexts that a run owns while it lasts.

import CGRun
import CGRunGLib

/// The contexts that one run has acquired, for as long as it lasts: between its passes no other thread may iterate
/// them, or take itself for their owner in `g_main_context_invoke()`.
struct AcquiredContexts {
    private(set) var list: [ServedContext] = []
    private var version = -1
    private var isComplete = false
    /// GLib holds it as long as it is pushed.
    private var pushed: OpaquePointer?

    /// In which GIO completes, and by which a sleep is ended.
    var first: OpaquePointer? { list.first?.context }

    /// Whether ``update(to:version:)`` would change anything.
    func isCurrent(_ version: Int) -> Bool {
        version == self.version && isComplete
    }

    /// Whether others are wanted than at the last ``update(to:version:)``. Not whether one that was refused then can be
    /// had now.
    func isOutdated(_ version: Int) -> Bool { version != self.version }

    /// Acquires the `wanted` contexts and releases all others. One that another thread owns is left out, and tried
    /// again next time.
    mutating func update(to wanted: __owned [ServedContext], version: Int) {
        self.version = version
        if list.isEmpty {
            // The usual case: a run begins, and acquires all of them.
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
            // No other thread owns it, so nothing would end the sleep: it is tried again before that.
            version = -1
            return false
        }
        return g_main_context_acquire(served.context) != 0
    }

    /// GIO operations that this thread starts from now on complete in the first of the contexts.
    mutating func pushThreadDefault() {
        guard pushed == nil, let first, !Contexts.isThreadDefault(first) else { return }
        g_main_context_push_thread_default(first)
        pushed = first
    }

    /// The thread has ended inside a run: its default context went with it.
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
