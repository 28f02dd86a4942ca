// SPDX-License-Identifier: Apache-2.0
// Runs a blocking function of GIO on GIO's thread pool.

import CGRunGIO

extension GIO {
    /// Runs `body` on GIO's thread pool, and awaits its value.
    ///
    /// Use this function if GIO has no asynchronous function, or if GIO's own function switches to the pool for every
    /// few KiB. `body` must not call a closure of the program. `body` must own all objects that it uses, because it may
    /// still run after the loop has ended.
    ///
    /// - Parameter body: the blocking code. It returns nil if it has stored an error. If it returns a value, the call
    ///   returns this value even if the task is cancelled.
    nonisolated(nonsending) static func onPool<Value: Sendable>(_ body: @escaping PoolWork<Value>.Body) async throws
        -> Value
    {
        let work = PoolWork(body)
        return try await call {
            work.start($0, $1, $2)
        } finish: {
            work.finish($1, $2)
        }.get()
    }
}

/// One call of a blocking function. The task of GIO retains the object until the function has returned.
final class PoolWork<Value: Sendable>: AnyPoolWork, @unchecked Sendable {
    typealias Body = @Sendable (UnsafeMutablePointer<GCancellable>?, GIO.ErrorPlace) -> Value?

    /// Used only by the pool's thread.
    private var body: Body?
    /// Written by the pool's thread. The caller reads the value after the task has completed.
    private var value: Value?

    init(_ body: @escaping Body) { self.body = body }

    override func run(_ cancellable: UnsafeMutablePointer<GCancellable>?, _ error: GIO.ErrorPlace) {
        value = body.take()?(cancellable, error)
    }

    /// Returns the value; call this function once. If there is an error, also stores it in `error`.
    func finish(_ result: OpaquePointer, _ error: GIO.ErrorPlace) -> Result<Value, GLibError> {
        _ = g_task_propagate_boolean(result, error)
        return value.take().map { .success($0) } ?? .failure(GLibError(.failed, "no value and no error"))
    }
}

/// The part of a ``PoolWork`` that the function of C needs.
class AnyPoolWork {
    func run(_ cancellable: UnsafeMutablePointer<GCancellable>?, _ error: GIO.ErrorPlace) {}

    func start(
        _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: @escaping GAsyncReadyCallback, _ data: gpointer
    ) {
        guard let task = g_task_new(nil, cancellable, done, data) as OpaquePointer? else { return }
        // If the function succeeds, a later cancellation of the task must not replace the result.
        g_task_set_check_cancellable(task, 0)
        g_task_set_task_data(task, Unmanaged.passRetained(self).toOpaque()) { data in
            data.map { Unmanaged<AnyPoolWork>.fromOpaque($0).release() }
        }
        g_task_run_in_thread(task) { task, _, data, cancellable in
            guard let data, let task else { return }
            var error: UnsafeMutablePointer<GError>?
            Unmanaged<AnyPoolWork>.fromOpaque(data).takeUnretainedValue().run(cancellable, &error)
            if let error { g_task_return_error(task, error) } else { g_task_return_boolean(task, 1) }
        }
        g_object_unref(UnsafeMutableRawPointer(task))
    }
}
