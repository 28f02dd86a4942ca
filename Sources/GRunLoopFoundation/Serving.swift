// SPDX-License-Identifier: Apache-2.0
// Foundation's run loop as a guest of a thread's loop: the public face.

public import Foundation
public import GRunLoop

extension GRunLoop {
    /// Serves Foundation's run loop of this thread, by events: what it has to do is done while this loop runs, also
    /// where a host drives it. While somebody runs Foundation's loop, this one is served there in turn.
    ///
    /// ```swift
    /// let serving = try GRunLoop.main.serve(RunLoop.main)
    /// ```
    ///
    /// Served are timers, `RunLoop.perform`, sources of both versions, `NotificationQueue`, `Process`, `FileHandle`,
    /// `URLSession` and `OperationQueue` with `.main`, and sockets of Core Foundation's. Modes have the same names on
    /// both sides, and what is common here becomes common there. While nothing happens, nothing is done for it: no
    /// system call, no wake-up.
    ///
    /// A loop that serves does not finish by itself: it has that to wait for.
    ///
    /// **A wait by Foundation's loop.** Foundation's `run(mode:before:)` returns `false` immediately if its mode has no
    /// source and no timer of Foundation's. That is the rule on a thread other than the main one, and items of this
    /// loop do not count. So `while !done { RunLoop.current.run(mode: .default, before: .distantFuture) }` spins there,
    /// and neither loop is served. Run this loop instead, which serves both:
    /// `while !done { loop.run(mode: .default, for: .seconds(60)) }`. Code that must run Foundation's loop adds a timer
    /// of Foundation's to the mode before, as one for `Date.distantFuture`.
    ///
    /// To find that it works, a block and a timer are sent through before this returns, in the default mode: what else
    /// waits there may be called, too.
    ///
    /// Threads: this loop's own. Called again it returns another token of the same; the last one that goes or is ended
    /// ends it. There is nothing that corresponds in Foundation.
    ///
    /// - Parameter runLoop: `RunLoop.current`, which on the main thread is `RunLoop.main`.
    /// - Throws: ``ServingError``; then nothing has changed.
    public func serve(_ runLoop: RunLoop) throws(ServingError) -> Serving {
        guard GRunLoop.VirtualTime(of: GRunLoop.current) == nil else { throw .virtualTime }
        guard isCurrent, runLoop === RunLoop.current else { throw .wrongThread }
        return Serving(try Guest.use(of: self))
    }

    /// That a run loop of Foundation's is served: until ``end()``, or the last reference to this goes.
    public final class Serving: Sendable {
        private let use: Guest.Use

        init(_ use: Guest.Use) { self.use = use }

        deinit { use.end() }

        /// Ends it; once the last token of the loop has ended, descriptors, sources and calls are as before. The second
        /// time it does nothing.
        ///
        /// Threads: any; elsewhere than on the loop's own it takes effect there, later.
        public func end() { use.end() }

        /// Whether Foundation's run loop is served, by this token or another one. False once its thread has ended.
        ///
        /// Threads: any.
        public var isServing: Bool { use.isServing }
    }

    /// Why Foundation's run loop is not served.
    public enum ServingError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
        /// The loops are not both the calling thread's.
        case wrongThread
        /// What this Foundation's run loop waits for cannot be found: it does not wait in an epoll.
        case notAnEpoll
        /// What gives this Foundation's run loop something to do cannot be seen: it is linked statically, perhaps.
        case notSeen
        /// A block or a timer of Foundation's did not arrive.
        case notServed
        /// No descriptor, or no memory, is left.
        case exhausted
        /// The loop's time is virtual.
        case virtualTime
        /// The loop's thread is about to end.
        case loopEnded
        /// Another copy of the library serves this process.
        case anotherCopy
        /// This process was forked and did not exec().
        case forked

        /// ``description``, for whoever prints `localizedDescription`.
        public var errorDescription: String? { description }

        /// What is wrong and what to do, as one sentence.
        public var description: String {
            switch self {
            case .wrongThread:
                "serve(_:) was called with a run loop of another thread; call it on the thread of both, with "
                    + "RunLoop.current"
            case .notAnEpoll:
                "the run loop of this Foundation does not wait in an epoll that can be found; use the Foundation of "
                    + "Swift's toolchain for Linux"
            case .notSeen:
                "calls of this Foundation's own run loop cannot be seen, as where it is linked statically; link the "
                    + "program without --static-swift-stdlib"
            case .notServed:
                "a block or a timer that was sent to Foundation's run loop did not arrive, so that it is not served; "
                    + "please report it with the version of Swift"
            case .exhausted:
                "no descriptor or memory is left for serving Foundation's run loop; close some or raise the limit"
            case .virtualTime:
                "a loop of virtual time cannot serve Foundation's run loop, whose time is the system's; call "
                    + "serve(_:) outside of withVirtualTime"
            case .loopEnded: "the loop's thread is about to end; serve Foundation's run loop before"
            case .anotherCopy:
                "another copy of GRunLoop was loaded first and serves this process; link the program and its plug-ins "
                    + "to one shared library with GRunLoop and GRunLoopFoundation in it"
            case .forked:
                "this process was forked and did not exec(): Foundation's run loop is not served in it; call exec() "
                    + "after fork(), or start the child with Process"
            }
        }
    }
}
