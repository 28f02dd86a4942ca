// SPDX-License-Identifier: Apache-2.0
// A program whose entry point is async keeps its main thread.

import CGRun

extension GRunLoop {
    /// Has the main run loop drive a program whose entry point is `static func main() async`, or a `main.swift` that
    /// awaits. Call it first, before anything is awaited:
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
    /// Without it Swift's runtime gives the main thread to libdispatch when main first suspends, for good: GTK, GLib's
    /// default context and the main run loop are then out of reach. With it the thread serves the main loop, and
    /// through it the main actor and the main dispatch queue, whenever main is suspended. The process ends when main
    /// returns.
    ///
    /// - Parameter drive: who drives instead, as `{ g_application_run(application, 0, nil) }`: it is called on the main
    ///   thread when main first suspends, and serves the main loop by iterating GLib's default context. When it
    ///   returns, the main run loop drives until main returns. Do not call such a function in main itself: after the
    ///   first suspension main is a job of the main actor, so that no other job and no block of the main dispatch queue
    ///   runs until the function returns. That is logged.
    ///
    /// Threads: the main one, before the first suspension. Too late, which is on any other thread or in a later call,
    /// it is logged and does nothing. In a program with a synchronous main it does nothing. There is no corresponding
    /// Core Foundation function.
    public static func driveAsyncMain(by drive: (@MainActor @Sendable () -> Void)? = nil) {
        guard cgrun_is_main_thread(), cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_NONE) else {
            let isDriven = cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            return Log.misuse(
                "driveAsyncMain",
                "too late: "
                    + (isDriven
                        ? "the main thread is being driven already. Call it once, before the first await of main()"
                        : "main() has already suspended, and Swift's runtime has given the main thread to libdispatch; "
                            + "or this is another thread. Call it on the main thread, before the first await of "
                            + "main()"))
        }
        // A driver finds the loop in its context.
        _ = main
        MainActor.assumeIsolated { AsyncMain.driver = drive }
        if !cgrun_set_async_main_driver({ MainActor.assumeIsolated { AsyncMain.drive() } }) {
            Log.misuse("driveAsyncMain", "Swift's runtime offers no way to keep the main thread of an async main here")
        }
    }
}

@MainActor private enum AsyncMain {
    static var driver: (@MainActor @Sendable () -> Void)?

    /// On the main thread, whose main() has suspended. Returns only if there is nothing to drive.
    static func drive() {
        driver?()
        while GRunLoop.main.runUntilStopped() != .finished {}
    }
}
