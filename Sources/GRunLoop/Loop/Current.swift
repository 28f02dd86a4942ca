// SPDX-License-Identifier: Apache-2.0
// The loops that a program asks for: the main one, and its own thread's.

extension GRunLoop {
    /// The loop of the process's main thread. Touching it once, from any thread, is all the set-up that a program needs
    /// whose main loop is GLib's.
    ///
    /// It is not Foundation's `RunLoop.main`. That one is served by the product `GRunLoopFoundation` (`try
    /// GRunLoop.main.serve(RunLoop.main)`) and by nothing else: without it Foundation's timers, performs and
    /// notification queues wait until the program runs Foundation's loop, and say nothing.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetMain`, Foundation's property is
    /// `RunLoop.main`.
    public static var main: GRunLoop {
        let loop = ThreadLoops.main
        // Checked here, because a program may never call anything on the main loop.
        if OneCopy.other != nil { OneCopy.explainOnce("main") } else { MainQueue.lookOnce() }
        return loop
    }

    /// The loop of the calling thread, made if it has none yet.
    ///
    /// It cannot fail: descriptors are made when they are needed. A loop can be kept beyond its thread's end; it is
    /// inert then.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopGetCurrent`, Foundation's property is
    /// `RunLoop.current`.
    @available(*, noasync, message: "an async function has no thread of its own, so no current run loop")
    public static var current: GRunLoop { ThreadLoops.current }
}

extension GRunLoop.Timer {
    /// Makes a timer and adds it to the current thread's loop, in the default mode.
    ///
    /// - Parameters:
    ///   - interval: see ``init(interval:repeats:tolerance:handler:)``.
    ///   - repeats: false makes a timer that fires once.
    ///   - tolerance: how much later than its date it may fire.
    ///   - handler: called on this thread, when its loop runs. It is released when the timer is invalidated.
    /// - Returns: the timer, which the loop keeps.
    ///
    /// Threads: any. The corresponding Foundation method is
    /// `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
    @available(*, noasync, message: "an async function has no thread of its own, so no current run loop")
    @discardableResult
    public static func scheduled(
        interval: Duration, repeats: Bool, tolerance: Duration = .zero,
        handler: @escaping @Sendable (GRunLoop.Timer) -> Void
    ) -> GRunLoop.Timer {
        let timer = GRunLoop.Timer(interval: interval, repeats: repeats, tolerance: tolerance, handler: handler)
        GRunLoop.current.add(timer, forMode: .default)
        return timer
    }
}
