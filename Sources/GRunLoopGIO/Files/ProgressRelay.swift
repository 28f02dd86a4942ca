// SPDX-License-Identifier: Apache-2.0
// Passes reports of progress from GIO's thread pool to the task that awaits the operation.

import CGRunGIO
import GRunLoop

/// Passes the latest report to the task, and then the end of the operation.
final class ProgressRelay: Invalidatable {
    struct Step: Sendable {
        var report: GIO.File.CopyProgress?
        var hasEnded = false
    }

    let mailbox: Mailbox<Step>
    /// The callback of the operation, and its data. Set before the operation begins.
    private nonisolated(unsafe) var completion: (done: GAsyncReadyCallback, data: gpointer)?

    init(on loop: GRunLoop) {
        mailbox = Mailbox(of: loop) { older, newer in
            Step(report: newer.report ?? older.report, hasEnded: newer.hasEnded)
        }
    }

    /// The address for C functions. It is valid only while another reference retains the relay.
    var address: gpointer { Unmanaged.passUnretained(self).toOpaque() }

    /// Does nothing when the mailbox is closed, because the operation continues until GIO ends it.
    func invalidate() {}

    /// Starts `work`. When `work` completes, the operation gets the result before the task is notified of the end.
    func start(
        _ work: AnyPoolWork, _ cancellable: UnsafeMutablePointer<GCancellable>, _ done: @escaping GAsyncReadyCallback,
        _ data: gpointer
    ) {
        completion = (done, data)
        work.start(cancellable, relayCompletion, address)
    }

    fileprivate func complete(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer?) {
        if let completion { completion.done(source, result, completion.data) }
        mailbox.send(Step(hasEnded: true))
    }
}

private let relayCompletion: GAsyncReadyCallback = { source, result, data in
    guard let data else { return }
    Unmanaged<ProgressRelay>.fromOpaque(data).takeUnretainedValue().complete(source, result)
}

/// Called on GIO's thread pool. The task takes the report on this thread, and continues on its own executor.
private let reportProgress: GFileProgressCallback = { completed, total, data in
    guard let data else { return }
    let report = GIO.File.CopyProgress(completed: Int64(completed), total: Int64(total))
    Unmanaged<ProgressRelay>.fromOpaque(data).takeUnretainedValue().mailbox.send(ProgressRelay.Step(report: report))
}

extension GIO {
    /// Runs `body` on GIO's thread pool, and meanwhile calls `progress` in the caller's isolation.
    ///
    /// - Parameter body: passes the callback and its data to the blocking function, and returns nil if it has stored an
    ///   error.
    static func onPool<Value: Sendable>(
        _ progress: ((File.CopyProgress) -> Void)?, isolation: isolated (any Actor)? = #isolation,
        _ body:
            @escaping @Sendable (
                UnsafeMutablePointer<GCancellable>?, GFileProgressCallback?, gpointer?, ErrorPlace
            ) -> Value?
    ) async throws -> Value {
        guard let progress else { return try await onPool { body($0, nil, nil, $1) } }
        let loop = try callersLoop()
        try Task.checkCancellation()
        let relay = ProgressRelay(on: loop)
        relay.mailbox.open(for: relay)
        defer { relay.mailbox.close(.done) }
        let work = PoolWork { body($0, reportProgress, relay.address, $1) }
        let operation = Operation(on: loop, keeping: relay)
        try operation.begin { relay.start(work, $0, $1, $2) }
        let outcome = await withTaskCancellationHandler {
            // The mailbox is closed early if the task is cancelled, and if the loop ends.
            while let step = await relay.mailbox.next(isolation: isolation) {
                if let report = step.report { progress(report) }
                if step.hasEnded { break }
            }
            return await operation.wait()
        } onCancel: {
            operation.cancel()
        }
        return try operation.take(outcome) { work.finish($1, $2) }.get()
    }
}
