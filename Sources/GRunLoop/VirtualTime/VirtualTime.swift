// SPDX-License-Identifier: Apache-2.0
// Virtual time: a loop for tests, whose clock jumps where another loop would sleep.

extension GRunLoop {
    /// The time of a loop that never sleeps through it: see ``GRunLoop/withVirtualTime(from:_:)``.
    ///
    /// Work takes no time: the clock stands still while anything is ready, so that what enqueues itself for ever keeps
    /// it from ever moving.
    ///
    /// Threads: the one that called ``GRunLoop/withVirtualTime(from:_:)``.
    public final class VirtualTime {
        /// The loop, which is also ``GRunLoop/current`` meanwhile. Threads: its own.
        public let loop: GRunLoop
        private let clock: VirtualClock

        init(_ loop: GRunLoop, _ clock: VirtualClock) {
            self.loop = loop
            self.clock = clock
        }

        /// The present on the loop's clock. Threads: the loop's own.
        public var now: Instant { clock.now.instant }

        /// Moves the clock on, and has the loop serve on the way what falls due, each at its time and in its order;
        /// then whatever is ready.
        ///
        /// The clock reaches the end in any case: also if the mode is finished before, or stopped.
        ///
        /// - Parameters:
        ///   - span: how far. Zero and negative serve what is ready now.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own.
        public func advance(by span: Duration, inMode mode: Mode = .default) {
            advance(to: clock.now.addingSaturating(max(0, Nanoseconds(saturating: span))), mode)
        }

        /// Moves the clock to a point in time: see ``advance(by:inMode:)``.
        ///
        /// - Parameters:
        ///   - end: how far. One that has passed serves what is ready now: time does not go back.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own.
        public func advance(to end: Instant, inMode mode: Mode = .default) {
            advance(to: Nanoseconds(saturating: end), mode)
        }

        /// Moves the clock to where the mode's first timer is due, and fires it.
        ///
        /// - Parameter mode: the mode to run in.
        /// - Returns: false if there is no timer whose time comes: the clock ends 1 ns before
        ///   ``GRunLoop/distantFuture``.
        ///
        /// Threads: the loop's own.
        @discardableResult public func advanceToNextTimer(inMode mode: Mode = .default) -> Bool {
            guard !Fork.refuses("VirtualTime.advanceToNextTimer") else { return false }
            // The deadline and not the fire date, which may lie beyond the 16 years after which a timer fires.
            let due = loop.lock.withLock { loop.modes[mode]?.heap.earliest ?? .never }
            guard due != .never else { return false }
            advance(to: due, mode)
            return true
        }

        private func advance(to date: Nanoseconds, _ mode: Mode) {
            guard !Fork.refuses("VirtualTime.advance") else { return }
            let end = VirtualClock.limited(date)
            serve(mode)
            while clock.now < end {
                // A longer span would be no limit of a run.
                let result = loop.runMode(mode, for: min(end - clock.now, .longest), returningAfterSource: false)
                if result == nil || result == .finished { break }
            }
            clock.move(to: end)
            serve(mode)
        }

        /// Makes passes without waiting until nothing is ready. A finished mode gets none: a wake-up stays for the
        /// outer run.
        private func serve(_ mode: Mode) {
            repeat {
                guard loop.runMode(mode, for: 0, returningAfterSource: false) != nil else { return }
            } while loop.isReady(in: mode)
        }
    }

    /// Runs the closure with a loop of its own as the calling thread's ``current``, whose time passes only as the
    /// closure says: by ``VirtualTime/advance(by:inMode:)``, or by running the loop, which jumps where it would sleep.
    /// A timer that is an hour away fires at once, at its date on the loop's clock and in its order. It is the same run
    /// loop, with another clock and without a host.
    ///
    /// On this thread ``now`` is virtual, as are the dates of timers that are made here. What GLib and the kernel time
    /// by themselves (GLib's timeouts, `Task.sleep`) goes on in real time; ``sleep(for:tolerance:inModes:)`` and
    /// ``clock`` of the loop are virtual. The main dispatch queue is not served. A run with nothing to come waits in
    /// earnest, for other threads.
    ///
    /// **Replies.** A ``MessagePort`` of another thread or process takes real time to reply, for which the clock does
    /// not wait: it jumps to the limits of the request. Without limits it waits in earnest, once the mode has no timer
    /// left.
    ///
    /// **The main actor.** Where the closure is on the main actor, so are the callouts of the loop: items whose
    /// closures are `@MainActor` can be added to it. That is so on the main thread, as in a test of XCTest's, and in a
    /// `@MainActor` test of Swift Testing's, whose main actor lives on threads of libdispatch. ``main`` stays the main
    /// loop, which does not run meanwhile: what is added to it waits for its own, real time. So code that is to be
    /// tested is given its loop, ``main`` unless told otherwise. A task of the main actor runs when the test has
    /// returned or awaits.
    ///
    /// The loop that the thread has otherwise, the main one included, cannot be run in there, which is logged;
    /// ``performAndWait(inModes:_:)`` of it performs at once, since the caller is on its thread and would wait for
    /// itself.
    ///
    /// - Parameters:
    ///   - start: the first reading of the clock; one before the machine's start is that.
    ///   - body: what is called, once, with the loop and its clock.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    ///
    /// Threads: any; the loop ends with the closure, as with a thread. There is no corresponding Core Foundation
    /// function.
    public static func withVirtualTime<Result, Failure: Error>(
        from start: Instant = now, _ body: (VirtualTime) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let clock = VirtualClock(at: Nanoseconds(saturating: start), hiding: ThreadLoops.peek)
        let loop = GRunLoop(isMain: false, virtualTime: clock)
        return try ThreadLoops.withCurrent(loop) { () throws(Failure) -> Result in
            defer { loop.endWithThread() }
            return try body(VirtualTime(loop, clock))
        }
    }

    /// Whether a pass in the mode would find something to do without waiting.
    fileprivate func isReady(in name: Mode) -> Bool {
        lock.withLock {
            guard let mode = modes[name] else { return false }
            return !readyLocked([.wakeUp, .block, .source, .port, .timer], in: mode, at: time).isEmpty
        }
    }
}
