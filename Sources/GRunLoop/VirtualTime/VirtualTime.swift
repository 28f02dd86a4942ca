// SPDX-License-Identifier: Apache-2.0
// Virtual time: a loop for tests, whose clock jumps where another loop would sleep.

extension GRunLoop {
    /// The clock of a test's loop, which jumps ahead where another loop would sleep: see
    /// ``GRunLoop/withVirtualTime(from:_:)``.
    ///
    /// Work takes no time: the clock stands still while anything is ready. Code that enqueues itself again forever
    /// therefore stops the clock.
    ///
    /// Threads: the thread that called ``GRunLoop/withVirtualTime(from:_:)``.
    public final class VirtualTime {
        /// The loop in virtual time, which is also ``GRunLoop/current`` inside the closure. Threads: the loop's own.
        public let loop: GRunLoop
        private let clock: VirtualClock

        init(_ loop: GRunLoop, _ clock: VirtualClock) {
            self.loop = loop
            self.clock = clock
        }

        /// The current time on the loop's clock. Threads: the loop's own.
        public var now: Instant { clock.now.instant }

        /// Moves the clock forward, and runs the loop, which serves everything that becomes due on the way.
        ///
        /// Each item is served at its time on the clock and in its order. At the end the loop serves whatever is ready
        /// then.
        ///
        /// The clock reaches the end in any case, even if the mode is finished earlier or a run is stopped.
        ///
        /// - Parameters:
        ///   - span: how far to move the clock. Zero and negative serve what is ready now.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own.
        public func advance(by span: Duration, mode: Mode = .default) {
            advance(to: clock.now.addingSaturating(max(0, Nanoseconds(saturating: span))), mode)
        }

        /// Moves the clock to a point in time: see ``advance(by:mode:)``.
        ///
        /// - Parameters:
        ///   - end: the time at which to stop. If it has passed, the loop serves what is ready now, and the clock does
        ///     not go back.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own.
        public func advance(to end: Instant, mode: Mode = .default) {
            advance(to: Nanoseconds(saturating: end), mode)
        }

        /// Moves the clock to the date of the mode's next timer or delayed perform, and fires it.
        ///
        /// - Parameter mode: the mode to run in.
        /// - Returns: false if the mode has no timer or delayed perform whose date the clock can reach. The clock ends
        ///   1 ns before ``GRunLoop/distantFuture``.
        ///
        /// Threads: the loop's own.
        @discardableResult public func advanceToNextTimer(mode: Mode = .default) -> Bool {
            guard !Fork.refuses("VirtualTime.advanceToNextTimer") else { return false }
            // Moves to the deadline, not to the fire date. A fire date may be more than 16 years ahead, but its timer
            // fires after 16 years.
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
                // A run treats a longer span as no limit.
                let result = loop.runMode(mode, for: min(end - clock.now, .longest), returningAfterSource: false)
                if result == nil || result == .finished { break }
            }
            clock.move(to: end)
            serve(mode)
        }

        /// Makes passes without waiting, until nothing is ready. A finished mode gets no pass, so that a wake-up stays
        /// pending for the outer run.
        private func serve(_ mode: Mode) {
            repeat {
                guard loop.runMode(mode, for: 0, returningAfterSource: false) != nil else { return }
            } while loop.isReady(in: mode)
        }
    }

    /// Runs the closure in virtual time, with a new loop as the calling thread's ``current``.
    ///
    /// Time passes only when the closure calls ``VirtualTime/advance(by:mode:)``, or runs the loop, whose clock jumps
    /// ahead where another loop would sleep. A timer that is an hour away fires without a wait, at its date on the
    /// loop's clock and in its order. The loop is the same as outside of virtual time, but with another clock and
    /// without a host.
    ///
    /// On this thread ``now`` is virtual, and so are the dates of timers that are made here.
    /// ``sleep(for:tolerance:inModes:)`` and ``clock`` of the loop are virtual, too. GLib's timeouts, `Task.sleep` and
    /// everything else that GLib or the kernel times by itself go on in real time. The main dispatch queue is not
    /// served. A run without a limit and without a timer to come really waits, for other threads.
    ///
    /// **Replies.** A ``MessagePort`` of another thread or process takes real time to reply. The clock does not wait
    /// for the reply, but jumps to the timeouts of the request. A request without timeouts really waits once the mode
    /// has no timer left.
    ///
    /// **The main actor.** If the closure is on the main actor, the callouts of the loop are on it as well. Items with
    /// `@MainActor` closures can then be added to the loop. This is so on the main thread, as in a test of XCTest. It
    /// is also so in a `@MainActor` test of Swift Testing, whose main actor lives on threads of libdispatch. A task of
    /// the main actor runs only when the test has returned or awaits.
    ///
    /// ``main`` stays the main loop and does not run meanwhile: items that are added to it wait for its own, real time.
    /// Pass the loop to the code under test, and let the parameter default to ``main``.
    ///
    /// The loop that the thread has outside of virtual time cannot be run inside the closure, even if it is the main
    /// loop: such a call is logged. ``performAndWait(inModes:_:)`` of that loop calls its closure immediately, because
    /// the caller is on the loop's thread and would wait for itself.
    ///
    /// - Parameters:
    ///   - start: the first reading of the clock. A time before the machine's start means the machine's start.
    ///   - body: the closure to call, once, with the loop and its clock.
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws.
    ///
    /// Threads: any. The loop ends with the closure, as any other loop ends with its thread. There is no corresponding
    /// Core Foundation function.
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
