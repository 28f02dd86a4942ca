// SPDX-License-Identifier: Apache-2.0
// Running a loop: Core Foundation's two functions and Foundation's five methods, all of which end in one.

extension GRunLoop {
    // MARK: Core Foundation's

    /// Runs the loop in a mode until the time is up, it is stopped, the mode is finished or, if asked for, a source was
    /// handled.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` is not a mode that can run: that is logged once, and nothing is
    ///     run.
    ///   - limit: how long. Zero or negative: one pass, which services what is ready without sleeping. Nil, or 16 years
    ///     and more: no limit.
    ///   - returningAfterSourceHandled: whether to return after the pass in which a source was performed, the main
    ///     queue served or a context dispatched. Blocks, timers and wake-ups do not count.
    /// - Returns: why it returned. ``RunResult/finished`` also where nothing was run.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. Runs nest: it may be called from
    /// every callout. The corresponding Core Foundation function is `CFRunLoopRunInMode`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    @discardableResult
    public func run(mode: Mode, for limit: Duration? = nil, returningAfterSourceHandled: Bool = false) -> RunResult {
        guard canRunHere("run(mode:for:)") else { return .finished }
        let span = limit.map { Nanoseconds(saturating: $0) } ?? .never
        return runMode(mode, for: span, returningAfterSource: returningAfterSourceHandled) ?? .finished
    }

    /// Runs the loop in the default mode for a time: see ``run(mode:for:returningAfterSourceHandled:)``.
    ///
    /// - Parameters:
    ///   - limit: how long. Zero or negative: one pass without sleeping. 16 years and more: no limit.
    ///   - returningAfterSourceHandled: whether to return after the pass in which a source was handled.
    /// - Returns: why it returned.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. The corresponding Core Foundation
    /// function is `CFRunLoopRunInMode`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    @discardableResult
    public func run(for limit: Duration, returningAfterSourceHandled: Bool = false) -> RunResult {
        run(mode: .default, for: limit, returningAfterSourceHandled: returningAfterSourceHandled)
    }

    /// Runs the loop in the default mode until it is stopped or the mode is finished.
    ///
    /// - Returns: ``RunResult/stopped`` or ``RunResult/finished``.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. The corresponding Core Foundation
    /// function is `CFRunLoopRun`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    @discardableResult
    public func runUntilStopped() -> RunResult {
        guard canRunHere("runUntilStopped") else { return .finished }
        while true {
            let result = runMode(.default, for: .never, returningAfterSource: false) ?? .finished
            if result == .stopped || result == .finished { return result }
        }
    }

    /// Has the innermost run return ``RunResult/stopped`` at the end of its pass, and wakes it.
    ///
    /// A loop that does not run ignores it: it is not remembered. In a callout that a host dispatches there is no run
    /// to stop, and it is ignored as well.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopStop`.
    public func stop() {
        guard !refuses("stop") else { return }
        lock.withLock { () -> Kick? in
            // A host's run lies above ours where a callout of ours runs a foreign loop: it cannot be stopped.
            guard let run = framesLocked.first(where: { !$0.run.isHosted })?.run else { return nil }
            run.isStopped = true
            return wakeUpLocked(for: .innermostRun)
        }?.send()
    }

    // MARK: Foundation's

    /// Runs the loop in the default mode for as long as there is something to wait for. ``stop()`` does not end it.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. The corresponding Foundation
    /// method is `RunLoop.run()`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    public func run() {
        while run(mode: .default, before: Self.distantFuture) {}
    }

    /// Runs the loop in the default mode until a point in time, or until there is nothing to wait for. ``stop()`` does
    /// not end it.
    ///
    /// - Parameter limit: one that has passed means one pass without sleeping.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. The corresponding Foundation
    /// method is `RunLoop.run(until:)`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    public func run(until limit: Instant) {
        let end = Nanoseconds(saturating: limit)
        while run(mode: .default, before: limit), end > time {}
    }

    /// Runs the loop in a mode until a source was handled, until a point in time, or until it is stopped.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` cannot be run.
    ///   - limit: one that has passed means one pass without sleeping.
    /// - Returns: whether the mode was run. False means that there was nothing to wait for.
    ///
    /// Threads: the loop's own; from another thread it is logged, nothing is run, and it is false. The corresponding
    /// Foundation method is `RunLoop.run(mode:before:)`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    @discardableResult public func run(mode: Mode, before limit: Instant) -> Bool {
        guard canRunHere("run(mode:before:)") else { return false }
        return runMode(mode, until: Nanoseconds(saturating: limit), returningAfterSource: true) != nil
    }

    /// Runs the loop in a mode until a source was handled, or until a point in time: ``run(mode:before:)`` without a
    /// result.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` cannot be run.
    ///   - limit: one that has passed means one pass without sleeping.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. The corresponding Foundation
    /// method is `RunLoop.acceptInput(forMode:before:)`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
    public func acceptInput(forMode mode: Mode, before limit: Instant) {
        guard canRunHere("acceptInput") else { return }
        _ = runMode(mode, until: Nanoseconds(saturating: limit), returningAfterSource: true)
    }

    /// Makes one pass without sleeping, and tells how long a run of the mode could sleep.
    ///
    /// - Returns: the date of the mode's next timer; ``distantFuture`` if it has none; nil if there is nothing to wait
    ///   for.
    ///
    /// Threads: the loop's own; from another thread it is logged, nothing is run, and it is nil. The corresponding
    /// Foundation method is `RunLoop.limitDate(forMode:)`.
    @available(*, noasync, message: "a run blocks its thread; on the main actor it stops the main queue")
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

    /// Whether the loop waits in the kernel now, by itself or in a host.
    ///
    /// Threads: any. On the loop's own, which does not wait while it asks, it is always false. The corresponding Core
    /// Foundation function is `CFRunLoopIsWaiting`.
    public var isWaiting: Bool {
        guard !Fork.refuses("isWaiting") else { return false }
        return !isCurrent && lock.withLock { sleep.isUnderWay }
    }

    // MARK: Turns

    /// How long the loop serves its own items in a row before others that are ready have their turn: GTK's drawing and
    /// other sources of GLib, for up to three dispatches, fewer once they have taken as long; and those of our own
    /// kinds of work that have waited (blocks, sources, timers, descriptors, the main queue), each once. A row overruns
    /// the slice by one item, or by eight where those before them were short. 4 ms at first, at which GTK draws every
    /// frame under any load of ours; more than 8 costs frames. Zero and negative: a row is one item. One that is too
    /// long is no limit.
    ///
    /// A snapshot of the main dispatch queue is one item: libdispatch runs it to its end.
    ///
    /// Threads: any; it takes effect at the next step of a pass. There is no corresponding Core Foundation function.
    public var timeSlice: Duration {
        get { Fork.refuses("timeSlice") ? .zero : lock.withLock { sliceLength }.duration }
        set {
            guard !Fork.refuses("timeSlice") else { return }
            lock.withLock { sliceLength = max(0, Nanoseconds(saturating: newValue)) }
        }
    }
}
