// SPDX-License-Identifier: Apache-2.0
// Makes the loop of each thread when the loop is first needed, and ends it with the thread.

import CGRun
import Glibc

package enum ThreadLoops {
    /// The key of the thread-specific data in which each thread stores its loop. The loop is retained until the thread
    /// ends. The current loop is also in `cgrun_current_loop`, which is faster to read.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let error = pthread_key_create(&key, threadWillEnd)
        if error != 0 { endForMissingKey(error) }
        return key
    }()

    private static let lock = Lock.take()
    /// The loops that have not ended, by ``GRunLoop/number``. Guarded by `lock`.
    nonisolated(unsafe) private static var loops: [UInt64: GRunLoop] = [:]

    static func endForMissingKey(_ error: Int32) -> Never {
        Log.fatal(
            "no key for thread-specific data is left (pthread_key_create: \(errorMessage(error))); other code in this "
                + "process uses all \(PTHREAD_KEYS_MAX) keys")
    }

    static let main: GRunLoop = {
        let loop = GRunLoop(isMain: true)
        // Sets the home context now, so that a host that iterates this context finds the hub in it.
        loop.lock.withLock { loop.fixHomeLocked() }
        // If the main thread is in virtual time, another loop is current. In that case, the main loop becomes current
        // at its first use after virtual time.
        if cgrun_is_main_thread(), peek == nil { setCurrent(loop) }
        loop.probe?.loopIsReady(loop)
        return loop
    }()

    static var current: GRunLoop {
        if let loop = currentIfAny { return loop }
        let loop = GRunLoop(isMain: false)
        setCurrent(loop)
        loop.probe?.loopIsReady(loop)
        return loop
    }

    private static func setCurrent(_ loop: GRunLoop) {
        setCurrent(Unmanaged.passRetained(loop).toOpaque())
    }

    private static func setCurrent(_ loop: UnsafeMutableRawPointer?) {
        pthread_setspecific(key, loop)
        cgrun_set_current_loop(loop)
    }

    /// The calling thread's loop; nil if the thread has no loop. On the main thread, the loop is made if needed.
    package static var currentIfAny: GRunLoop? {
        if let known = peek { return known }
        guard cgrun_is_main_thread() else { return nil }
        // The initialiser of `main` has made the loop current, unless another thread ran the initialiser.
        let loop = main
        if peek == nil { setCurrent(loop) }
        return loop
    }

    /// The calling thread's loop if it was made already, otherwise nil.
    package static var peek: GRunLoop? {
        cgrun_get_current_loop().map { Unmanaged<GRunLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Calls `body` with the loop that has the mode with this number; returns nil if the loop has ended.
    @inline(__always) static func withLoop<Result>(
        ofModeNumbered number: UInt64, _ body: (GRunLoop) -> Result
    ) -> Result? {
        let loopNumber = ModeState.loopNumber(of: number)
        // Usually this is the calling thread's loop. The thread retains its loop during the call.
        if let known = cgrun_get_current_loop() {
            let own = Unmanaged<GRunLoop>.fromOpaque(known)
            if own._withUnsafeGuaranteedRef({ $0.number == loopNumber }) { return own._withUnsafeGuaranteedRef(body) }
        }
        return lock.withLock { loops[loopNumber] }.map(body)
    }

    /// Makes a new loop known to ``withLoop(ofModeNumbered:_:)``.
    static func add(_ loop: GRunLoop) {
        // In a forked child, the lock may be locked forever.
        if !Fork.isChild, !loop.isDead { lock.withLock { loops[loop.number] = loop } }
    }

    static func remove(_ loop: GRunLoop) { lock.withLock { loops[loop.number] = nil } }

    /// The current time on the clock of the calling thread's loop; real time if the thread has no loop.
    static var time: Nanoseconds { VirtualClock.isInUse ? peek?.time ?? .now() : .now() }

    /// Ends the calling thread's loop immediately.
    static func endCurrent() {
        guard let known = cgrun_get_current_loop() else { return }
        let loop = Unmanaged<GRunLoop>.fromOpaque(known)
        // If the thread ends in virtual time, the loop that virtual time hides ends as well.
        let hidden = loop.takeUnretainedValue().virtualTime?.hidden
        loop.takeUnretainedValue().endWithThread()
        setCurrent(hidden.map { Unmanaged.passUnretained($0).toOpaque() })
        loop.release()
        if hidden != nil { endCurrent() }
    }

    /// Makes `loop` the calling thread's current loop while the closure runs.
    static func withCurrent<Result, Failure: Error>(
        _ loop: GRunLoop, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let former = cgrun_get_current_loop()
        // The loop is retained, because the closure may end the thread, and then `endCurrent()` releases the loop.
        let own = Unmanaged.passRetained(loop)
        setCurrent(own.toOpaque())
        defer {
            setCurrent(former)
            own.release()
        }
        return try body()
    }

    /// Ends the loop in the last round of thread-specific destructors, because destructors may use the loop in earlier
    /// rounds (item 12).
    private static let threadWillEnd: @convention(c) (UnsafeMutableRawPointer?) -> Void = { known in
        guard let known else { return }
        let round = cgrun_note_thread_ends()
        let loop = Unmanaged<GRunLoop>.fromOpaque(known)
        // The thread library has cleared the thread's value of the key. If the value is set again, this destructor is
        // also called in the next round.
        pthread_setspecific(key, known)
        // Calls the end handlers already in the first round. If a handler makes thread-specific data of GLib, a later
        // round still frees the data.
        loop.takeUnretainedValue().callEndHandlers()
        guard round >= PTHREAD_DESTRUCTOR_ITERATIONS - 1 else { return }
        endCurrent()
    }
}

extension GRunLoop {
    /// Whether the loop is the calling thread's current loop. Reading the property never creates a loop. Threads: any.
    @inline(__always) package var isCurrent: Bool {
        if let known = cgrun_get_current_loop() { return known == Unmanaged.passUnretained(self).toOpaque() }
        return isMain && isCurrentAtLast
    }

    @inline(never) private var isCurrentAtLast: Bool { ThreadLoops.currentIfAny === self }

    /// Whether the loop belongs to the calling thread, even if virtual time replaces the loop there. If true, a wait
    /// for the loop's thread would never end. Threads: any.
    package var isOfThisThread: Bool { isCurrent || isHidden }

    /// The loop's name in log messages: its address and, for the main loop and the calling thread's loop, also the
    /// thread.
    var nameForMessages: String {
        let thread = isMain ? " of the main thread" : isCurrent ? threadName().map { " of the thread \"\($0)\"" } : nil
        return "the run loop \(hexAddress(self))\(thread ?? "")"
    }

    /// The current time on the clock of the calling thread's loop: virtual time inside ``withVirtualTime(from:_:)``.
    ///
    /// Threads: any. The corresponding functions are `CFAbsoluteTimeGetCurrent` in Core Foundation and
    /// `g_get_monotonic_time` in GLib.
    public static var now: Instant { ThreadLoops.time.instant }
}

/// The name of the calling thread; nil if the thread has no name.
func threadName() -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CGRUN_THREAD_NAME)) { buffer in
        guard let start = buffer.baseAddress else { return nil }
        cgrun_get_thread_name(start)
        return start.pointee == 0 ? nil : String(cString: start)
    }
}
