// SPDX-License-Identifier: Apache-2.0
// An operation in flight: its cancellable, the task that awaits it, and the end of the loop.

import CGRunGIO
import GRunLoop

/// The state of one call. Until the library has called back, the library and the loop each own a reference.
///
/// Like the core's mailboxes, an operation is an actor and its own executor, so it can keep the job of the suspended
/// task. The callback runs this job, and then the task continues on its own executor.
actor Operation: SerialExecutor, AsyncWaiter {
    enum Outcome: Sendable {
        case finished(Completion)
        case loopEnded
    }

    /// The arguments of the callback, retained.
    struct Completion: @unchecked Sendable {
        let source: UnsafeMutablePointer<GObject>?
        let result: OpaquePointer

        init(retaining source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer) {
            if let source { g_object_ref(source) }
            g_object_ref(UnsafeMutableRawPointer(result))
            (self.source, self.result) = (source, result)
        }

        func release() {
            g_object_unref(UnsafeMutableRawPointer(result))
            if let source { g_object_unref(source) }
        }
    }

    private struct State {
        var outcome: Outcome?
        var suspended: SuspendedJob?
        /// How many threads are cancelling the operation now. The callback may be called inside the cancellation. In
        /// that case it must not run the task, because Swift's runtime may hold the lock of the task's handlers.
        var cancelling = 0
    }

    private nonisolated let loop: GRunLoop
    /// The context in which the operation completes.
    private nonisolated(unsafe) let context = g_main_context_ref_thread_default()
    private nonisolated(unsafe) let cancellable: UnsafeMutablePointer<GCancellable> = g_cancellable_new()
    private nonisolated let kept: (any AnyObject & Sendable)?
    private nonisolated let state = Guarded(State())
    /// The program's cancellable and the number of our handler. Used only by the caller.
    private nonisolated(unsafe) var link: (cancellable: UnsafeMutablePointer<GCancellable>, handler: gulong)?

    init(on loop: GRunLoop, keeping object: (any AnyObject & Sendable)?) {
        self.loop = loop
        kept = object
    }

    deinit {
        g_object_unref(cancellable)
        g_main_context_unref(context)
    }

    /// Calls `begin`, which passes the callback to the library.
    nonisolated func begin(
        _ begin: (UnsafeMutablePointer<GCancellable>, @escaping GAsyncReadyCallback, gpointer) throws -> Void
    ) throws {
        guard loop.addWaiter(self) else { throw GRunLoop.LoopEndedError() }
        let reference = Unmanaged.passRetained(self)
        do {
            try begin(cancellable, operationIsReady, reference.toOpaque())
        } catch {
            reference.release()
            _ = loop.removeWaiter(self)
            throw error
        }
    }

    // MARK: The task that waits

    /// Returns the outcome. The calling task stays suspended until there is an outcome. Call this function once.
    func wait() -> Outcome { state.withLock { $0.outcome } ?? .loopEnded }

    nonisolated var unownedExecutor: UnownedSerialExecutor { asUnownedSerialExecutor() }

    nonisolated func enqueue(_ job: consuming ExecutorJob) {
        let job = SuspendedJob(UnownedJob(job))
        let isReady = state.withLock {
            if $0.outcome == nil { $0.suspended = job }
            return $0.outcome != nil
        }
        if isReady { job.run(on: self) }
    }

    private nonisolated func resume(_ outcome: Outcome) {
        let (job, isCancelling) = state.withLock {
            $0.outcome = outcome
            return ($0.suspended.take(), $0.cancelling > 0)
        }
        if isCancelling { job?.enqueue(for: self) } else { job?.run(on: self) }
    }

    /// Called by the library, on the thread that runs the context in which the operation began.
    fileprivate nonisolated func isReady(_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer) {
        // If the loop has ended, the loop's end has already resumed the task.
        guard loop.removeWaiter(self) else { return }
        resume(.finished(Completion(retaining: source, result)))
    }

    nonisolated func loopHasEnded() {
        cancelHere()
        resume(.loopEnded)
    }

    /// Calls the finish function, and throws its error.
    nonisolated func take<Value>(
        _ outcome: Outcome, _ finish: (UnsafeMutablePointer<GObject>?, OpaquePointer, GIO.ErrorPlace) -> Value
    ) throws -> Value {
        guard case .finished(let completion) = outcome else { throw GRunLoop.LoopEndedError() }
        defer { completion.release() }
        var error: UnsafeMutablePointer<GError>?
        let value = finish(completion.source, completion.result, &error)
        guard let error else { return value }
        let thrown = GLibError(consuming: error)
        if isCancelled, thrown.isCancellation { throw CancellationError() }
        throw thrown
    }

    // MARK: Cancellation

    /// Cancels the operation on the loop's thread. Otherwise GLib 2.74 sometimes leaks the source of the cancellable:
    /// if another thread cancels while the loop dispatches this source, GLib never finalizes the source. Threads: any.
    nonisolated func cancel() {
        if g_main_context_is_owner(context) != 0 { return cancelHere() }
        callInLoop(of: context, priority: G_PRIORITY_HIGH, self, cancelInLoop, release: releaseOperation)
    }

    fileprivate nonisolated func cancelHere() {
        state.withLock { $0.cancelling += 1 }
        g_cancellable_cancel(cancellable)
        state.withLock { $0.cancelling -= 1 }
    }

    nonisolated var isCancelled: Bool { g_cancellable_is_cancelled(cancellable) != 0 }

    /// Makes the program's cancellable cancel the operation, until ``unlink()``.
    nonisolated func link(to other: UnsafeMutablePointer<GCancellable>) {
        g_object_ref(other)
        let handler = g_cancellable_connect(
            other, unsafeBitCast(cancelLinked, to: GCallback.self), Unmanaged.passRetained(self).toOpaque(),
            releaseOperation)
        link = (other, handler)
    }

    /// Removes our handler from the program's cancellable. Waits until a call of the handler on another thread has
    /// returned.
    nonisolated func unlink() {
        guard let (other, handler) = link.take() else { return }
        if handler != 0 { g_cancellable_disconnect(other, handler) }
        g_object_unref(other)
    }
}

private let cancelLinked: @convention(c) (UnsafeMutablePointer<GCancellable>, gpointer) -> Void = { _, operation in
    Unmanaged<Operation>.fromOpaque(operation).takeUnretainedValue().cancel()
}

private let operationIsReady: GAsyncReadyCallback = { source, result, data in
    guard let data, let result else { return }
    Unmanaged<Operation>.fromOpaque(data).takeRetainedValue().isReady(source, result)
}

private let cancelInLoop: GSourceFunc = { data in
    data.map { Unmanaged<Operation>.fromOpaque($0).takeUnretainedValue().cancelHere() }
    return 0
}

private let releaseOperation: GDestroyNotify = { data in data.map { Unmanaged<Operation>.fromOpaque($0).release() } }
