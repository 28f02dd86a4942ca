// SPDX-License-Identifier: Apache-2.0
// The primitive that awaits any pair of an _async function and its _finish function.

public import CGRunGIO
import GRunLoop

/// The functions and types for GIO: files, streams and subprocesses. For all other asynchronous functions, use
/// ``call(cancellable:keeping:isolation:_:finish:)``.
public enum GIO {
    /// The place where a finish function of C stores its error.
    public typealias ErrorPlace = UnsafeMutablePointer<UnsafeMutablePointer<GError>?>

    /// Starts an asynchronous operation of a GLib library, and awaits its result.
    ///
    /// The function works for each pair of functions that uses a `GAsyncReadyCallback`, for example in GIO, GTK,
    /// libsoup and libportal.
    ///
    /// ```swift
    /// let file = try await GIO.call { cancellable, done, data in
    ///     gtk_file_dialog_open(dialog, window, cancellable, done, data)
    /// } finish: { _, result, error in
    ///     GRef(full: gtk_file_dialog_open_finish(dialog, result, error))
    /// }
    /// ```
    ///
    /// Both closures are called in the caller's isolation. So the closures need not be `@Sendable`, and the value need
    /// not be `Sendable`. `finish` is called once, even if the operation fails. If `finish` stores an error, the call
    /// throws this error, and the value of `finish` is dropped.
    ///
    /// Cancelling the task cancels the operation, as soon as the loop runs. The call then still waits until the library
    /// has called back. So the caller may free memory that the operation uses, except after a
    /// `GRunLoop.LoopEndedError`. To be safe even after this error, let an object own the memory, and pass the object
    /// as `keeping`. After the end of the loop, GIO never completes the operation, so the operation's descriptors stay
    /// open.
    ///
    /// If a method has no cancellable, `begin` ignores its first argument. Cancelling the task then has no effect.
    ///
    /// - Parameters:
    ///   - cancellable: a cancellable of the program. Cancelling it also cancels the operation. One cancellable can
    ///     serve many calls, at the same time and in succession. After a call, the call's handler is removed from the
    ///     cancellable.
    ///   - object: an object that is retained until the library has called back, even if the loop ends before that.
    ///   - isolation: the caller's actor. Do not pass this argument.
    ///   - begin: a closure that starts the operation, and passes its three arguments to the library. The library must
    ///     call the callback once. If the closure throws an error, it must not have started the operation.
    ///   - finish: a closure that calls the finish function. The closure gets the source object, the result and the
    ///     place for the error. The source object is nil if the function is static.
    /// - Returns: the value of `finish`.
    /// - Throws: the ``GLibError`` that `finish` has stored. `CancellationError` if the task was cancelled before the
    ///   call, or if this task or `cancellable` has cancelled the operation. ``WrongThreadError`` if no loop of the
    ///   calling thread would complete the operation. `GRunLoop.LoopEndedError` if the loop ends before the operation
    ///   does. Also the error of `begin`.
    ///
    /// Threads: a thread that runs a loop: the main actor, an actor or a task on a loop's executor, or a callback of a
    /// loop. The corresponding GLib type is `GAsyncReadyCallback`.
    public static func call<Value>(
        cancellable: UnsafeMutablePointer<GCancellable>? = nil,
        keeping object: (any AnyObject & Sendable)? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ begin: (UnsafeMutablePointer<GCancellable>, @escaping GAsyncReadyCallback, gpointer) throws -> Void,
        finish: (_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer, _ error: ErrorPlace) -> Value
    ) async throws -> Value {
        let loop = try callersLoop()
        try Task.checkCancellation()
        let operation = Operation(on: loop, keeping: object)
        if let cancellable { operation.link(to: cancellable) }
        defer { operation.unlink() }
        try operation.begin(begin)
        let outcome = await withTaskCancellationHandler {
            // This capture keeps the closure on the caller's executor.
            _ = isolation
            return await operation.wait()
        } onCancel: {
            operation.cancel()
        }
        return try operation.take(outcome, finish)
    }

    /// Awaits an operation that the task's cancellation must not cancel, such as closing a stream.
    ///
    /// - Parameter begin: starts the operation without a cancellable.
    static func callToTheEnd<Value>(
        keeping object: any AnyObject & Sendable, isolation: isolated (any Actor)? = #isolation,
        _ begin: (@escaping GAsyncReadyCallback, gpointer) -> Void,
        finish: (_ source: UnsafeMutablePointer<GObject>?, _ result: OpaquePointer, _ error: ErrorPlace) -> Value
    ) async throws -> Value {
        let loop = try callersLoop()
        let operation = Operation(on: loop, keeping: object)
        try operation.begin { begin($1, $2) }
        return try operation.take(await operation.wait(), finish)
    }

    /// True if the calling thread runs the context in which GIO would complete a new operation.
    static var isOnLoop: Bool {
        let context = g_main_context_get_thread_default() ?? g_main_context_default()
        return g_main_context_is_owner(context) != 0
            || GRunLoop.willDriveAsyncMain && context == g_main_context_default()
    }

    /// The loop of the calling thread. Throws if no operation of GIO would complete on this thread.
    static func callersLoop() throws(WrongThreadError) -> GRunLoop {
        guard isOnLoop else { throw WrongThreadError() }
        return .current
    }

    /// The error of a call on a thread on which no operation of GIO can complete.
    public struct WrongThreadError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Creates the error.
        public init() {}

        /// The meaning of the error, and what to do.
        public var description: String {
            "no loop of this thread would complete the operation; call the function on the main actor, on an actor "
                + "of a loop's executor, or in a task that prefers such an executor"
        }
    }
}
