// SPDX-License-Identifier: Apache-2.0
// A host whose context is not GLib's default context. So this host does not serve the main run loop.

import CGRunGLib

final class PrivateHost {
    private let context: OpaquePointer

    init() throws {
        guard let context = g_main_context_new() else { throw ScenarioError("g_main_context_new() has failed") }
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
