// SPDX-License-Identifier: Apache-2.0
// Storms of GIO.call itself: tasks of GIO, and one cancellable for all calls.

import CGRunGIO
import GRunLoopGIO
import TestSupport

extension KindMaker {
    static let calls = [
        KindMaker(name: "GIO.call") { setting in
            Kind(name: "GIO.call", count: setting.count) { _, number in
                _ = try await GIO.call {
                    start(Way(rawValue: number % 3) ?? .pool, $0, $1, $2)
                } finish: { _, result, error in
                    g_task_propagate_int(result, error)
                }
            }
        },
        KindMaker(name: "one GCancellable") { setting in
            nonisolated(unsafe) let shared: UnsafeMutablePointer<GCancellable> = g_cancellable_new()
            let signal = g_signal_lookup("cancelled", g_cancellable_get_type())
            return Kind(
                name: "one GCancellable", count: setting.count,
                run: { _, number in
                    _ = try await GIO.call(cancellable: shared) {
                        start(number % 4 == 0 ? .timeout : .endless, $0, $1, $2)
                    } finish: { _, result, error in
                        g_task_propagate_int(result, error)
                    }
                },
                prepare: { g_cancellable_reset(shared) }, finish: { g_cancellable_cancel(shared) },
                leftovers: {
                    if references(shared) != 1 { return "the cancellable has \(references(shared)) references" }
                    return g_signal_has_handler_pending(shared, signal, 0, 1) == 0 ? nil : "a handler is left"
                }, close: { _ in g_object_unref(shared) })
        },
    ]
}

/// How a task of GIO completes.
private enum Way: Int {
    /// In the next iteration of the context.
    case immediate
    /// On GIO's thread pool.
    case pool
    /// After a millisecond.
    case timeout
    /// When its cancellable is cancelled.
    case endless
}

/// Starts a task of GIO.
private func start(
    _ way: Way, _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: GAsyncReadyCallback?, _ data: gpointer?
) {
    let task: OpaquePointer = g_task_new(nil, cancellable, done, data)
    Census.add(task)
    switch way {
    case .immediate: g_task_return_int(task, 1)
    case .pool: g_task_run_in_thread(task) { task, _, _, _ in g_task_return_int(task, 1) }
    case .timeout: complete(task, after: 1)
    case .endless:
        // The source passes its cancellable first.
        let callback: @convention(c) (UnsafeMutablePointer<GCancellable>?, gpointer?) -> gboolean = { complete($1) }
        attach(g_cancellable_source_new(cancellable), task, unsafeBitCast(callback, to: GSourceFunc.self))
    }
    g_object_unref(UnsafeMutableRawPointer(task))
}

private func attach(_ source: UnsafeMutablePointer<GSource>, _ task: OpaquePointer, _ callback: GSourceFunc) {
    g_task_attach_source(task, source, callback)
    g_source_unref(source)
}

/// Completes a task of GIO later.
func complete(_ task: OpaquePointer, after milliseconds: guint) {
    attach(g_timeout_source_new(milliseconds), task) { complete($0) }
}

private func complete(_ task: gpointer?) -> gboolean {
    g_task_return_int(OpaquePointer(task), 1)
    return 0
}
