// SPDX-License-Identifier: Apache-2.0
// Virtual time, in which a test's loop moves its clock ahead instead of sleeping.

extension GRunLoop {
    /// The clock of a loop in virtual time, which jumps ahead where another loop would sleep: see
    /// ``GRunLoop/withVirtualTime(from:_:)``.
    ///
    /// Work takes no time: the clock stands still while anything is ready. So code that enqueues itself again forever
    /// stops the clock.
    ///
    /// Threads: the thread that called ``GRunLoop/withVirtualTime(from:_:)``.
    public final class VirtualTime {
        /// The loop in virtual time. Inside the closure it is also ``GRunLoop/current``. Threads: the loop's own
        /// thread.
        public let loop: GRunLoop
        private let clock: VirtualClock

        init(_ loop: GRunLoop, _ clock: VirtualClock) {
            self.loop = loop
            self.clock = clock
        }

        /// The current time on the loop's clock. Threads: the loop's own thread.
        public var now: Instant { clock.now.instant }

        /// Moves the clock forward, and runs the loop to serve all items that become due before the new time.
        ///
        /// Each item is served at its own time on the clock. At the end, the loop serves all items that are ready then.
        /// The clock reaches the end even if the mode is finished earlier or a run is stopped.
        ///
        /// - Parameters:
        ///   - span: how far to move the clock. Zero and negative values only serve the items that are ready now.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own thread.
        public func advance(by span: Duration, mode: Mode = .default) {
            advance(to: clock.now.addingSaturating(max(0, Nanoseconds(saturating: span))), mode)
        }

        /// Moves the clock to a point in time: see ``advance(by:mode:)``.
        ///
        /// - Parameters:
        ///   - end: the time at which to stop. If it has passed, the clock does not move, and the loop only serves the
        ///     items that are ready now.
        ///   - mode: the mode to run in.
        ///
        /// Threads: the loop's own thread.
        public func advance(to end: Instant, mode: Mode = .default) {
            advance(to: Nanoseconds(saturating: end), mode)
        }

        /// Moves the clock to the date of the mode's next timer or delayed perform, and fires this timer or perform.
        ///
        /// - Parameter mode: the mode to run in.
        /// - Returns: false if the mode has no timer or delayed perform whose date the clock can reach. The clock ends
        ///   1 ns before ``GRunLoop/distantFuture``.
        ///
        /// Threads: the loop's own thread.
        @discardableResult public func advanceToNextTimer(mode: Mode = .default) -> Bool {
            guard !Fork.refuses("VirtualTime.advanceToNextTimer") else { return false }
            // Uses the deadline, not the fire date: a timer that is more than 16 years ahead fires after 16 years.
            let due = loop.earliestDeadline(in: mode)
            guard due != .never else { return false }
            advance(to: due, mode)
            return true
        }

        private func advance(to date: Nanoseconds, _ mode: Mode) {
            guard !Fork.refuses("VirtualTime.advance") else { return }
            let end = VirtualClock.limited(date)
            serve(mode)
            while clock.now < end {
                // A run would treat a longer span as no limit.
                let result = loop.runMode(mode, for: min(end - clock.now, .longest), returningAfterSource: false)
                if result == nil || result == .finished { break }
            }
            clock.move(to: end)
            serve(mode)
        }

        /// Makes passes without waiting, until nothing is ready. A finished mode gets no pass, so that a pending
        /// wake-up stays for the outer run.
        private func serve(_ mode: Mode) {
            repeat {
                guard loop.runMode(mode, for: 0, returningAfterSource: false) != nil else { return }
            } while loop.isReady(in: mode)
        }
    }

    /// Calls a closure in virtual time, with a new loop as the calling thread's ``current`` loop.
    ///
    /// Time passes only while the closure calls ``VirtualTime/advance(by:mode:)`` or runs the loop. Instead of
    /// sleeping, the loop moves the clock ahead. So a timer that is due in an hour fires without a wait, at its own
    /// date on the clock. Apart from its clock, the loop is like any loop without a host.
    ///
    /// On this thread, ``now`` and the dates of new timers are virtual. The loop's ``sleep(for:tolerance:inModes:)``
    /// and ``clock`` are also virtual. GLib's timeouts, `Task.sleep`, and all other timing by GLib or the kernel use
    /// real time. The main dispatch queue is not served. A run without a limit and without pending timers really waits
    /// for other threads.
    ///
    /// **Replies.** A ``MessagePort`` of another thread or process takes real time to reply. The clock does not wait
    /// for the reply, but jumps to the timeouts of the request. A request without timeouts really waits once the mode
    /// has no timer left.
    ///
    /// **The main actor.** If the closure is on the main actor, the callouts of the loop are also on the main actor. So
    /// you can add items with `@MainActor` closures to the loop. That applies to the main thread, for example in a test
    /// of XCTest. It also applies to a `@MainActor` test of Swift Testing, whose main actor lives on threads of
    /// libdispatch. A task of the main actor runs only when the test returns or awaits.
    ///
    /// ``main`` is still the main loop, but does not run meanwhile: items that are added to ``main`` wait for real
    /// time. Pass the new loop to the code under test, in a parameter whose default is ``main``.
    ///
    /// The closure cannot run the loop that the thread had before virtual time, even if that is the main loop: such a
    /// call is logged. ``performAndWait(inModes:_:)`` of that loop calls its closure immediately, because the caller is
    /// on that loop's thread and would wait for itself.
    ///
    /// - Parameters:
    ///   - start: the first time that the clock shows. A time before the machine's start becomes the machine's start.
    ///   - body: the closure to call, once, with the loop and its clock.
    /// - Returns: the value of the closure.
    /// - Throws: the error of the closure.
    ///
    /// Threads: any. The loop ends when the closure returns, as any other loop ends with its thread. There is no
    /// corresponding Core Foundation function.
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

    /// The deadline of the first timer or delayed perform in the mode; `.never` if there is none.
    func earliestDeadline(in mode: Mode) -> Nanoseconds { lock.withLock { modes[mode]?.heap.earliest ?? .never } }

    /// Returns whether a pass in the mode would find work without waiting.
    fileprivate func isReady(in name: Mode) -> Bool {
        lock.withLock {
            guard let mode = modes[name] else { return false }
            return !readyLocked([.wakeUp, .block, .source, .port, .timer], in: mode, at: time).isEmpty
        }
    }
}
