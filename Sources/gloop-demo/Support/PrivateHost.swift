// SPDX-License-Identifier: Apache-2.0
// A host with a context of its own, which is not the default one. It knows nothing of the main run loop.

import CGRunGLib

/// A host that iterates its own context. On the main thread.
final class PrivateHost {
    private let context: OpaquePointer

    init() throws {
        guard let context = g_main_context_new() else { throw ScenarioError("no GMainContext") }
        self.context = context
    }

    deinit {
        g_main_context_unref(context)
    }

    /// Adds a repeating `GTimeoutSource`; returns its id.
    func addTimeout(milliseconds: UInt32, _ body: @escaping () -> Void) -> UInt32 {
        GLibSource.addTimeout(milliseconds: milliseconds, to: context) {
            body()
            return true
        }
    }

    func remove(_ id: UInt32) {
        if let source = g_main_context_find_source_by_id(context, id) { g_source_destroy(source) }
    }

    func iterate() {
        g_main_context_iteration(context, 1)
    }
}
