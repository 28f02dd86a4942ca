// SPDX-License-Identifier: Apache-2.0
// The functions that run a loop. All of them call `runMode`.

extension GRunLoop {
    // MARK: The functions of Core Foundation

    /// Runs the loop in a mode. The run ends when the time is up, when it is stopped, or when nothing is left to wait
    /// for. Optionally, it also ends when a source was handled.
    ///
    /// `run()` runs the default mode until the run is stopped, or until nothing is left to wait for. Unlike this
    /// method, Foundation's `run()` does not end when the loop is stopped. Its counterpart is ``run(until:)`` with
    /// ``distantFuture``.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. A run of ``Mode/common`` is refused, and this is logged once.
    ///   - limit: how long to run. Zero or negative means one pass without sleeping. Nil means no limit, and so does a
    ///     limit of more than 16 years.
    ///   - returningAfterSourceHandled: whether to return after the pass in which a source or a port was called, the
    ///     main queue was served or a context was dispatched. Blocks, timers and wake-ups do not count.
    /// - Returns: why the run returned. The result is ``RunResult/finished`` if nothing was run.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. Runs nest: every callout may
    /// call this method. The corresponding Core Foundation functions are `CFRunLoopRun` and `CFRunLoopRunInMode`.
    @available(*, noasync, message: "a run blocks the thread, and on the main actor also the main queue")
    @discardableResult
    public func run(
        mode: Mode = .default, for limit: Duration? = nil, returningAfterSourceHandled: Bool = false
    ) -> RunResult {
        guard canRunHere("run") else { return .finished }
        let span = limit.map { Nanoseconds(saturating: $0) } ?? .never
        return runMode(mode, for: span, returningAfterSource: returningAfterSourceHandled) ?? .finished
    }

    /// Stops the innermost run, which returns ``RunResult/stopped`` at the end of its pass. Wakes the loop if it
    /// sleeps.
    ///
    /// If the loop does not run, the call has no effect, not even on the next run. If a host drives the loop, the call
    /// does not stop the host.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopStop`.
    public func stop() {
        guard !refuses("stop") else { return }
        lock.withLock { () -> Kick? in
            // Skips the run that a host drives, because it cannot be stopped. That run is innermost while a callout of
            // another run runs a foreign loop.
            guard let run = framesLocked.first(where: { !$0.run.isHosted })?.run else { return nil }
            run.isStopped = true
            return wakeUpLocked(for: .innermostRun)
        }?.send()
    }

    // MARK: The methods of Foundation

    /// Runs the loop in the default mode until a point in time, or until nothing is left to wait for. ``stop()`` does
    /// not end the call.
    ///
    /// - Parameter limit: when to return. A time in the past means one pass without sleeping. ``distantFuture``
    ///   means no limit, as in Foundation's `RunLoop.run()`.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `RunLoop.run(until:)`.
    @available(*, noasync, message: "a run blocks the thread, and on the main actor also the main queue")
    public func run(until limit: Instant) {
        guard canRunHere("run(until:)") else { return }
        let end = Nanoseconds(saturating: limit)
        while run(mode: .default, before: limit), end > time {}
    }

    /// Runs the loop in a mode until a source was handled or a point in time is reached. Also returns if the run is
    /// stopped, or if nothing is left to wait for.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` cannot be run.
    ///   - limit: when to return. A time in the past means one pass without sleeping.
    /// - Returns: true if the mode was run. False means that there was nothing to wait for, or that the mode cannot be
    ///   run.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `RunLoop.run(mode:before:)`.
    @available(*, noasync, message: "a run blocks the thread, and on the main actor also the main queue")
    @discardableResult public func run(mode: Mode, before limit: Instant) -> Bool {
        guard canRunHere("run(mode:before:)") else { return false }
        return runMode(mode, until: Nanoseconds(saturating: limit), returningAfterSource: true) != nil
    }

    /// Runs the loop in a mode until a source was handled or a point in time is reached. Also returns if the run is
    /// stopped, or if nothing is left to wait for. The call works like ``run(mode:before:)``, but returns no result.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` cannot be run.
    ///   - limit: when to return. A time in the past means one pass without sleeping.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `RunLoop.acceptInput(forMode:before:)`.
    @available(*, noasync, message: "a run blocks the thread, and on the main actor also the main queue")
    public func acceptInput(forMode mode: Mode, before limit: Instant) {
        guard canRunHere("acceptInput") else { return }
        _ = runMode(mode, until: Nanoseconds(saturating: limit), returningAfterSource: true)
    }

    /// Makes one pass without sleeping, and then returns the time until which a run of the mode could sleep.
    ///
    /// - Returns: the date of the mode's first timer or delayed perform; ``distantFuture`` if the mode has neither; nil
    ///   if there is nothing to wait for.
    ///
    /// Threads: the loop's own thread; on another thread the process ends with a message. The corresponding Foundation
    /// method is `RunLoop.limitDate(forMode:)`.
    @available(*, noasync, message: "a run blocks the thread, and on the main actor also the main queue")
    public func limitDate(forMode mode: Mode) -> Instant? {
        guard canRunHere("limitDate") else { return nil }
        _ = runMode(mode, for: 0, returningAfterSource: true)
        let isFinished = lock.withLock { modes[mode].map(isFinishedLocked) ?? true }
        return isFinished ? nil : nextFireDate(forMode: mode) ?? Self.distantFuture
    }

    private func canRunHere(_ call: StaticString) -> Bool {
        guard !refuses(call), requireOwnThread(call) else { return false }
        if isMain, !MainQueue.isOurs { runWithoutMainQueue() }
        return true
    }

    private func runWithoutMainQueue() {
        lock.withLock { forgetLostMainQueueLocked() }
        MainQueue.explainIfLost()
    }

    // MARK: Waiting

    /// Whether the loop's thread is waiting in the kernel, in a run of the loop or in a host.
    ///
    /// Threads: any. On the loop's own thread the property is always false, because that thread does not wait while it
    /// reads the property. The corresponding Core Foundation function is `CFRunLoopIsWaiting`.
    public var isWaiting: Bool {
        guard !Fork.refuses("isWaiting") else { return false }
        return !isCurrent && lock.withLock { sleep.isUnderWay }
    }

    // MARK: Turns

    /// How long the loop serves its own items in a row before other ready work gets its turn.
    ///
    /// GTK's drawing and other GLib sources then get up to three dispatches, or fewer if these dispatches take as long
    /// as the slice. Each other kind of the loop's ready work gets one turn: blocks, sources, ports, timers,
    /// descriptors and the main queue.
    ///
    /// The default is 4 ms. With this value, GTK draws every frame under any load of the loop. With a slice of more
    /// than 8 ms, GTK loses frames. Zero and negative values mean a row of one item. A value that is too long to
    /// represent means no limit.
    ///
    /// A row of items may exceed the slice by one item, or by eight items if the previous items were short. A snapshot
    /// of the main dispatch queue is one item, because libdispatch always runs the whole snapshot.
    ///
    /// Threads: any. A change takes effect at the next step of a pass. There is no corresponding Core Foundation
    /// function.
    public var timeSlice: Duration {
        get { Fork.refuses("timeSlice") ? .zero : lock.withLock { sliceLength }.duration }
        set {
            guard !Fork.refuses("timeSlice") else { return }
            lock.withLock { sliceLength = max(0, Nanoseconds(saturating: newValue)) }
        }
    }
}
