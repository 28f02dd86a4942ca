// SPDX-License-Identifier: Apache-2.0
// Which thread has which loop: made at first need, ended with the thread.

import CGRun
import Glibc

/// What a thread does to its loop at its beginning and its end, which stands above.
protocol ThreadOwned: AnyObject {
    /// The environment may ask for it.
    func inspectIfAsked()
    func callEndHandlers()
    func endWithThread()
}

package enum ThreadLoops {
    /// Each thread's loop, retained until the thread ends. The current one is also in `cgrun_current_loop`, which is
    /// faster to read.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, threadWillEnd)
        if error != 0 { endForMissingKey(error) }
        return key
    }()

    static func endForMissingKey(_ error: Int32) -> Never {
        Log.fatal(
            "no key for thread-specific data is left (pthread_key_create: \(errorMessage(error))); something in this "
                + "process uses up all \(PTHREAD_KEYS_MAX) of them")
    }

    static let main: GRunLoop = {
        let loop = GRunLoop(isMain: true)
        // The home context is fixed at first touch, so that a host that iterates it finds the hub there.
        loop.lock.withLock { loop.fixHomeLocked() }
        // Inside virtual time the thread has another loop; this one is set when that has ended.
        if cgrun_is_main_thread(), peek == nil { setCurrent(loop) }
        inspect(loop)
        return loop
    }()

    static var current: GRunLoop {
        if let loop = currentIfAny { return loop }
        let loop = GRunLoop(isMain: false)
        setCurrent(loop)
        inspect(loop)
        return loop
    }

    private static func inspect(_ loop: any ThreadOwned) { loop.inspectIfAsked() }

    private static func setCurrent(_ loop: GRunLoop) {
        setCurrent(Unmanaged.passRetained(loop).toOpaque())
    }

    private static func setCurrent(_ loop: UnsafeMutableRawPointer?) {
        pthread_setspecific(key, loop)
        cgrun_set_current_loop(loop)
    }

    /// The calling thread's loop, if it has one. The main thread always has.
    package static var currentIfAny: GRunLoop? {
        if let known = peek { return known }
        guard cgrun_is_main_thread() else { return nil }
        // The initialiser makes it the current loop, unless another thread has asked for it first.
        let loop = main
        if peek == nil { setCurrent(loop) }
        return loop
    }

    /// The calling thread's loop, if it has one already.
    static var peek: GRunLoop? {
        cgrun_get_current_loop().map { Unmanaged<GRunLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The current time on the clock of the calling thread's loop.
    static var time: Nanoseconds { VirtualClock.isInUse ? peek?.time ?? .now() : .now() }

    /// Ends the calling thread's loop now, while everything else of the thread is still there.
    static func endCurrent() {
        guard let known = cgrun_get_current_loop() else { return }
        let loop = Unmanaged<GRunLoop>.fromOpaque(known)
        // If the thread ends in virtual time, the loop that is hidden by it ends as well.
        let hidden = loop.takeUnretainedValue().virtualTime?.hidden
        let ending: any ThreadOwned = loop.takeUnretainedValue()
        ending.endWithThread()
        setCurrent(hidden.map { Unmanaged.passUnretained($0).toOpaque() })
        loop.release()
        if hidden != nil { endCurrent() }
    }

    /// For the duration of the closure, the calling thread's loop is this one.
    static func withCurrent<Result, Failure: Error>(
        _ loop: GRunLoop, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let former = cgrun_get_current_loop()
        // Retained, as any thread's loop: the closure may end the thread.
        let own = Unmanaged.passRetained(loop)
        setCurrent(own.toOpaque())
        defer {
            setCurrent(former)
            own.release()
        }
        return try body()
    }

    /// Ends the loop in the last round of thread-specific destructors: others may still use it before (item 12).
    private static let threadWillEnd: @convention(c) (UnsafeMutableRawPointer?) -> Void = { known in
        guard let known else { return }
        let loop = Unmanaged<GRunLoop>.fromOpaque(known)
        // Set again, since the system has cleared the key: code that is called meanwhile finds the loop by it.
        pthread_setspecific(key, known)
        // In the first round already: thread-specific data of GLib that the handlers need can still be made, and are
        // freed.
        let ending: any ThreadOwned = loop.takeUnretainedValue()
        ending.callEndHandlers()
        guard loop.takeUnretainedValue().countDestructorRound() >= PTHREAD_DESTRUCTOR_ITERATIONS - 1 else { return }
        endCurrent()
    }
}

extension GRunLoop {
    /// Whether the loop is the calling thread's current one. Any thread; it makes no loop.
    @inline(__always) package var isCurrent: Bool {
        if let known = cgrun_get_current_loop() { return known == Unmanaged.passUnretained(self).toOpaque() }
        return isMain && isCurrentAtLast
    }

    @inline(never) private var isCurrentAtLast: Bool { ThreadLoops.currentIfAny === self }

    /// Whether the loop is the calling thread's, also while another loop is current there, in virtual time: a caller
    /// that waited for the thread would wait for itself. Any thread.
    package var isOfThisThread: Bool { isCurrent || isHidden }

    static var timeHere: Nanoseconds { ThreadLoops.time }

    /// What messages call the loop; on its own thread also by the thread's name.
    var nameForMessages: String {
        let thread = isMain ? " of the main thread" : isCurrent ? threadName().map { " of the thread \"\($0)\"" } : nil
        return "the run loop \(hexAddress(self))\(thread ?? "")"
    }

    /// The present, on the clock of the calling thread's loop: virtual time inside ``withVirtualTime(from:_:)``.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFAbsoluteTimeGetCurrent`, GLib's is
    /// `g_get_monotonic_time`.
    public static var now: Instant { ThreadLoops.time.instant }
}

/// The name of the calling thread, nil if it has none.
func threadName() -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CGRUN_THREAD_NAME)) { buffer in
        guard let start = buffer.baseAddress else { return nil }
        cgrun_get_thread_name(start)
        return start.pointee == 0 ? nil : String(cString: start)
    }
}
