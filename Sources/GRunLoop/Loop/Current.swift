// SPDX-License-Identifier: Apache-2.0
// `GRunLoop.main` and `GRunLoop.current`: the loops of the main thread and of the calling thread.

extension GRunLoop {
    /// The loop of the process's main thread.
    ///
    /// If GLib's main loop drives the program, one access to this property on any thread is the whole set-up.
    ///
    /// The main loop is not Foundation's `RunLoop.main`. To serve Foundation's loop as well, use the product
    /// `GRunLoopFoundation` and call `try GRunLoop.main.serve(RunLoop.main)`. Otherwise Foundation's timers, performs
    /// and notification queues wait until the program runs Foundation's loop, and nothing is logged.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetMain`. The Foundation property is
    /// `RunLoop.main`.
    public static var main: GRunLoop {
        let loop = ThreadLoops.main
        // Logs here if the main loop does not work or cannot serve the main queue. Some programs never call a method of
        // the main loop, which would log this.
        if OneCopy.other != nil { OneCopy.explainOnce("main") } else { MainQueue.checkOwnerOnce() }
        return loop
    }

    /// The loop of the calling thread. The first access on a thread makes the thread's loop.
    ///
    /// The access cannot fail, because a loop makes its descriptors only when it needs them. A program can keep a
    /// reference to a loop after the end of the loop's thread, but then the loop is inert.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetCurrent`. The Foundation property is
    /// `RunLoop.current`.
    @available(*, noasync, message: "an async function has no fixed thread, so it has no current run loop")
    public static var current: GRunLoop { ThreadLoops.current }
}

extension GRunLoop.Timer {
    /// Makes a timer and adds it to the current thread's loop, in the default mode.
    ///
    /// - Parameters:
    ///   - interval: see ``init(interval:repeats:after:tolerance:handler:)``.
    ///   - repeats: false makes a timer that fires once.
    ///   - delay: the time until the first fire; nil means `interval`. Zero or less means now.
    ///   - tolerance: how much later than its date the timer may fire.
    ///   - handler: called on this thread, when the thread's loop runs. The handler is released when the timer is
    ///     invalidated.
    /// - Returns: the timer, which the loop keeps.
    ///
    /// Threads: any. The corresponding Foundation method is `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no fixed thread, so it has no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
        handler: @escaping @Sendable (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(
            interval: interval, repeats: repeats, after: delay, tolerance: tolerance, handler: handler)
        GRunLoop.current.add(timer, forMode: .default)
        return timer
    }
}
