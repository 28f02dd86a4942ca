// SPDX-License-Identifier: Apache-2.0
// Keeps the main thread of an async program for the main run loop.

import CGRun
import Synchronization

extension GRunLoop {
    /// Makes the main run loop drive a program whose entry point is `static func main() async`, or a `main.swift` that
    /// awaits. Call this function first, before the program awaits anything:
    ///
    /// ```swift
    /// @main struct Program {
    ///     static func main() async {
    ///         GRunLoop.driveAsyncMain()
    ///         …
    ///     }
    /// }
    /// ```
    ///
    /// Without this call, Swift's runtime gives the main thread to libdispatch permanently when `main()` first
    /// suspends. GTK and the main run loop can then no longer use that thread. With this call, the main thread runs the
    /// main run loop whenever `main()` is suspended. That loop also serves the main actor and the main dispatch queue.
    /// The process ends when `main()` returns.
    ///
    /// - Parameter drive: a function that drives instead of the main run loop, such as
    ///   `{ g_application_run(application, 0, nil) }`. The library calls the function on the main thread when `main()`
    ///   first suspends. The function must iterate GLib's default context. When the function returns, the main run loop
    ///   drives until `main()` returns. Do not call such a function in `main()` itself, because `main()` is a job of
    ///   the main actor after its first suspension. Until that job suspends, no other job and no block of the main
    ///   dispatch queue runs. The library logs this mistake.
    ///
    /// Threads: the main thread, before the first suspension. A call on another thread, or after the first suspension,
    /// is logged and does nothing. In a program with a synchronous `main()`, the call does nothing. There is no
    /// corresponding Core Foundation function.
    public static func driveAsyncMain(by drive: (@MainActor @Sendable () -> Void)? = nil) {
        guard cgrun_is_main_thread(), cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_NONE) else {
            let isDriven = cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            return Log.misuse(
                "driveAsyncMain",
                "too late: "
                    + (isDriven
                        ? "the run loop already drives the main thread. Call this function once, before the first "
                            + "await of main()"
                        : "main() has already suspended and lost the main thread to libdispatch, or the caller is on "
                            + "another thread. Call this function on the main thread, before the first await of "
                            + "main()"))
        }
        // Creates the main loop now, because `drive` is about to iterate its context.
        _ = main
        MainActor.assumeIsolated { AsyncMain.driver = drive }
        if cgrun_set_async_main_driver({ MainActor.assumeIsolated { AsyncMain.drive() } }) {
            AsyncMain.isExpected.store(true, ordering: .relaxed)
        } else {
            Log.misuse(
                "driveAsyncMain",
                "this Swift runtime cannot keep the main thread in an async main(). Use a synchronous main() that runs "
                    + "the main run loop")
        }
    }

    /// True on the main thread if the main loop will drive this thread when the async `main()` first suspends.
    package static var willDriveAsyncMain: Bool {
        AsyncMain.isExpected.load(ordering: .relaxed) && cgrun_is_main_thread()
            && cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_NONE)
    }
}

@MainActor private enum AsyncMain {
    nonisolated static let isExpected = Atomic(false)
    static var driver: (@MainActor @Sendable () -> Void)?

    /// Drives the main thread after main() has first suspended. Returns only when no mode of the main loop has an item
    /// left.
    static func drive() {
        driver?()
        while GRunLoop.main.run() != .finished {}
    }
}
