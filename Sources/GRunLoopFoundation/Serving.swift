// SPDX-License-Identifier: Apache-2.0
// The public interface for serving Foundation's run loop: `serve(_:)`, its token and its errors.

public import Foundation
public import GRunLoop

extension GRunLoop {
    /// Serves Foundation's run loop of this thread while this loop runs, even if a host drives this loop.
    ///
    /// Serving is driven by events and does not poll. If the program runs Foundation's loop instead, that run also
    /// serves this loop.
    ///
    /// ```swift
    /// let serving = try GRunLoop.main.serve(RunLoop.main)
    /// ```
    ///
    /// The following are served: timers, `RunLoop.perform`, sources of both versions, `NotificationQueue`, `Process`,
    /// `FileHandle`, `URLSession` and `OperationQueue` with `.main`, and sockets of Core Foundation. Modes have the
    /// same names in both loops, and a mode that becomes common in one loop becomes common in the other. While no
    /// events occur, serving makes no system calls and does not wake the thread.
    ///
    /// While this loop serves Foundation's loop, its runs in a served mode do not return `finished`, because they wait
    /// for Foundation's loop.
    ///
    /// **Waiting in Foundation's loop.** Foundation's `run(mode:before:)` returns `false` immediately if its mode has
    /// no source and no timer of Foundation. This rule holds on every thread except the main thread, and items of this
    /// loop do not count. So on other threads, `while !done { RunLoop.current.run(mode: .default, before:
    /// .distantFuture) }` spins, and neither loop is served. Instead, run this loop, so that both loops are served:
    /// `while !done { loop.run(mode: .default, for: .seconds(60)) }`. If your code must run Foundation's loop, first
    /// add a timer of Foundation to the mode, such as one for `Date.distantFuture`.
    ///
    /// To check that serving works, this function runs a test block and a test timer in the default mode of
    /// Foundation's loop. Other pending work in that mode may also be called. To rule out serving as the cause of a
    /// problem, set the environment variable `GRUN_NO_FOUNDATION`: then this function throws.
    ///
    /// Threads: this loop's own thread, with the Foundation run loop of the same thread; otherwise the process ends
    /// with a message. A second call returns another token for the same loop. Serving ends when the last token is
    /// cancelled or released. There is no corresponding function in Foundation.
    ///
    /// - Parameter runLoop: `RunLoop.current`, which on the main thread is `RunLoop.main`.
    /// - Throws: ``SystemError/unsupported(_:)`` if this process cannot be served, ``SystemError/limitReached(errno:)``
    ///   if no descriptor or memory is left, and ``SystemError/forked``. After an error, nothing has changed.
    public func serve(_ runLoop: RunLoop) throws(SystemError) -> Serving {
        if Fork.isChild { throw .forked }
        if isDead { throw ServingRefusal.loopEnded.error }
        guard GRunLoop.VirtualTime(of: GRunLoop.current) == nil else { throw ServingRefusal.virtualTime.error }
        guard isCurrent, runLoop === RunLoop.current else {
            Log.fatal(
                "serve(_:)",
                "called with a run loop of another thread; call this function on the loop's thread, with "
                    + "RunLoop.current")
        }
        return Serving(try Guest.use(of: self))
    }

    /// A token of ``GRunLoop/serve(_:)``. Foundation's run loop is served until every token is cancelled by
    /// ``cancel()`` or released.
    public final class Serving: Sendable {
        private let use: Guest.Use

        init(_ use: Guest.Use) { self.use = use }

        deinit { use.end() }

        /// Cancels this token. Cancelling the last token of the loop undoes all changes to Foundation's run loop and
        /// functions. A second call for the same token does nothing.
        ///
        /// Threads: any. If you call this function on a thread other than the loop's thread, the cancellation takes
        /// effect later, on the loop's thread.
        public func cancel() { use.end() }

        /// Whether Foundation's run loop is served, because of this token or another token. False after the loop's
        /// thread has ended.
        ///
        /// Threads: any.
        public var isServing: Bool { use.isServing }
    }
}

extension GRunLoop.SystemError: LocalizedError {
    /// Returns ``description``, for code that prints `localizedDescription`.
    public var errorDescription: String? { description }
}

/// The reasons why Foundation's run loop cannot be served in this process, for
/// ``GRunLoop/SystemError/unsupported(_:)``.
enum ServingRefusal {
    /// The run loop of this version of Foundation does not wait in an epoll, so its events cannot be watched.
    case notAnEpoll
    /// Calls that give Foundation's run loop work cannot be noticed, perhaps because Foundation is linked statically.
    case notSeen
    /// A test block or a test timer of Foundation was not called.
    case notServed
    case virtualTime
    case loopEnded
    case anotherCopy
    case environment

    var error: GRunLoop.SystemError { .unsupported(text) }

    private var text: String {
        switch self {
        case .notAnEpoll:
            "the epoll descriptor of Foundation's run loop was not found; use the Foundation of Swift's toolchain for "
                + "Linux"
        case .notSeen:
            "the calls of Foundation's own run loop cannot be intercepted, perhaps because Foundation is linked "
                + "statically; link the program without --static-swift-stdlib"
        case .notServed:
            "a test block or timer of Foundation's run loop was not called, so this Foundation cannot be served; "
                + "please report this with the version of Swift"
        case .virtualTime:
            "a loop in virtual time cannot serve Foundation's run loop, which uses real time; call serve(_:) outside "
                + "of withVirtualTime"
        case .loopEnded: "the loop's thread has ended, or is about to end; call serve(_:) earlier"
        case .anotherCopy:
            "another copy of GRunLoop serves this process; link the program and its plug-ins to one shared library "
                + "that contains GRunLoop and GRunLoopFoundation"
        case .environment:
            "GRUN_NO_FOUNDATION is set, so Foundation's run loop is not served; unset the variable to allow serve(_:)"
        }
    }
}
