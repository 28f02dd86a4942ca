// SPDX-License-Identifier: Apache-2.0
// Lets a program whose entry point is async keep its main thread.

import CGRun

extension GRunLoop {
    /// Lets the main run loop drive a program whose entry point is `static func main() async`, or a `main.swift` that
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
    /// Without this call, Swift's runtime gives the main thread to libdispatch for good when main first suspends. GTK,
    /// GLib's default context and the main run loop are then out of reach. With this call, the thread serves the main
    /// loop whenever main is suspended, and through the loop the main actor and the main dispatch queue. The process
    /// ends when main returns.
    ///
    /// - Parameter drive: a function that drives instead of the main run loop, such as
    ///   `{ g_application_run(application, 0, nil) }`. It is called on the main thread when main first suspends, and
    ///   serves the main loop by iterating GLib's default context. When it returns, the main run loop drives until main
    ///   returns. Do not call such a function in main itself. After the first suspension, main is a job of the main
    ///   actor. Until the function returns, no other job and no block of the main dispatch queue runs. That is logged.
    ///
    /// Threads: the main one, before the first suspension. A call on another thread, or after the first suspension, is
    /// logged and does nothing. In a program with a synchronous main the call does nothing. There is no corresponding
    /// Core Foundation function.
    public static func driveAsyncMain(by drive: (@MainActor @Sendable () -> Void)? = nil) {
        guard cgrun_is_main_thread(), cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_NONE) else {
            let isDriven = cgrun_async_main_state() == Int32(CGRUN_ASYNC_MAIN_DRIVEN)
            return Log.misuse(
                "driveAsyncMain",
                "too late: "
                    + (isDriven
                        ? "the main thread is being driven already. Call it once, before the first await of main()"
                        : "main() has already suspended, and Swift's runtime has given the main thread to libdispatch, "
                            + "or this call is on another thread. Call it on the main thread, before the first await "
                            + "of main()"))
        }
        // Makes the main loop, so that a driver finds it in its context.
        _ = main
        MainActor.assumeIsolated { AsyncMain.driver = drive }
        if !cgrun_set_async_main_driver({ MainActor.assumeIsolated { AsyncMain.drive() } }) {
            Log.misuse("driveAsyncMain", "this Swift runtime cannot keep the main thread for the loop in an async main")
        }
    }
}

@MainActor private enum AsyncMain {
    static var driver: (@MainActor @Sendable () -> Void)?

    /// Drives the main thread after main() has suspended. Returns only if there is nothing to drive.
    static func drive() {
        driver?()
        while GRunLoop.main.run() != .finished {}
    }
}
