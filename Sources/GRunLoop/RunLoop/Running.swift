// SPDX-License-Identifier: Apache-2.0
// Running a loop: Core Foundation's two functions and Foundation's five methods, all of which end in one.

import CGRun
import Synchronization

extension GRunLoop {
    // MARK: Core Foundation's

    /// Runs the loop in a mode until the time is up, it is stopped, the mode is finished or, if asked for, a source was
    /// handled.
    ///
    /// - Parameters:
    ///   - mode: the mode to run in. ``Mode/common`` is not a mode that can run: that is logged once, and nothing is run.
    ///   - limit: how long. Zero or negative: one pass, which services what is ready without sleeping. Nil, or 16 years and
    ///     more: no limit.
    ///   - returningAfterSourceHandled: whether to return after the pass in which a source was performed, the main queue served or a
    ///     context dispatched.
    ///
    /// Threads: the loop's own; from another thread it is logged, and nothing is run. Runs nest: it may be called from every
    /// callout. The corresponding Core Foundation function is `CFRunLoopRunInMode`.
    @discardableResult
    public func run(
        mode: Mode = .default, for limit: Duration? = nil, returningAfterSourceHandled: Bool = false
    ) -> RunResult {
        guard canRunHere("run(mode:for:)") else { return .finished }
        return runOnce(mode, for: limit.map { Nanoseconds(saturating: $0) } ?? .never, returningAfterSourceHandled)
    }

    /// Runs the loop in the default mode until it is stopped or the mode is finished.
    ///
    /// Threads: the loop's own. The corresponding Core Foundation function is `CFRunLoopRun`.
    public func runUntilStopped() {
        guard canRunHere("runUntilStopped") else { return }
        while true {
            let result = runOnce(.default, for: .never, false)
            if result == .stopped || result == .finished { return }
        }
    }

    /// Has the innermost run return ``RunResult/stopped`` at the end of its pass, and wakes it. A loop that does not run ignores it: it
    /// is not remembered.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopStop`.
    public func stop() {
        guard !refuses("stop") else { return }
        lock.withLock { () -> Kick? in
            activation?.isStopped = true
            return wakeUpLocked(owesPass: false)
        }?.send()
    }

    // MARK: Foundation's

    /// Runs the loop in the default mode for as long as there is something to wait for. ``stop()`` does not end it.
    ///
    /// Threads: the loop's own. The corresponding Foundation method is `RunLoop.run()`.
    public func run() {
        while run(mode: .default, before: Self.distantFuture) {}
    }

    /// Runs the loop in the default mode until a point in time, or until there is nothing to wait for.
    ///
    /// Threads: the loop's own. The corresponding Foundation method is `RunLoop.run(until:)`.
    public func run(until limit: Instant) {
        let end = Nanoseconds(saturating: limit)
        while run(mode: .default, before: limit), end > .now() {}
    }

    /// Runs the loop in a mode until a source was handled, or until a point in time; one that has passed means one pass. Answers
    /// whether there was anything to wait for.
    ///
    /// Threads: the loop's own. The corresponding Foundation method is `RunLoop.run(mode:before:)`.
    @discardableResult public func run(mode: Mode, before limit: Instant) -> Bool {
        guard canRunHere("run(mode:before:)"), !isFinished(mode) else { return false }
        runOnce(mode, until: Nanoseconds(saturating: limit), true)
        return true
    }

    /// Runs the loop in a mode until a source was handled, or until a point in time.
    ///
    /// Threads: the loop's own. The corresponding Foundation method is `RunLoop.acceptInput(forMode:before:)`.
    public func acceptInput(forMode mode: Mode, before limit: Instant) {
        guard canRunHere("acceptInput") else { return }
        runOnce(mode, until: Nanoseconds(saturating: limit), true)
    }

    /// Makes one pass without sleeping, and answers how long a run of the mode could sleep: until its next timer, for ever
    /// (``distantFuture``) if it has none, or nil if there is nothing to wait for.
    ///
    /// Threads: the loop's own. The corresponding Foundation method is `RunLoop.limitDate(forMode:)`.
    public func limitDate(forMode mode: Mode) -> Instant? {
        guard canRunHere("limitDate") else { return nil }
        runOnce(mode, for: 0, true)
        if isFinished(mode) { return nil }
        return nextFireDate(forMode: mode) ?? Self.distantFuture
    }

    // MARK: One run

    @discardableResult
    private func runOnce(_ mode: Mode, until limit: Nanoseconds, _ returnsAfterSource: Bool) -> RunResult {
        runOnce(mode, for: limit == .never ? .never : limit.addingSaturating(-Nanoseconds.now()), returnsAfterSource)
    }

    @discardableResult
    private func runOnce(_ name: Mode, for span: Nanoseconds, _ returnsAfterSource: Bool) -> RunResult {
        lock.lock()
        guard let mode = modes[name], !isFinishedLocked(mode) else {
            lock.unlock()
            if name == .common { explainCommon() }
            return .finished
        }
        guard hasContextLocked(mode) else {
            lock.unlock()
            explainExhaustion(name)
            return .finished
        }
        let run = Activation(
            mode: mode, parent: activation, span: span, returnsAfterSource: returnsAfterSource)
        noteParentDeadlinesLocked(run)
        activation = run
        // A wake-up that came while nothing ran was for a host; it does not count for a run (item 68).
        host.isWakePending = false
        // A batch dies at any nested run: what is in it may have been serviced by then.
        batch.discard()
        acquireContextsLocked(run)
        guard canBeWokenLocked(run) else {
            activation = run.parent
            lock.unlock()
            explainExhaustion(name)
            return .finished
        }
        run.contexts.pushThreadDefault()

        notifyLocked(.entry, mode)  // 1
        run.startClock()
        let result = runPassesLocked(run)
        run.isDeadlineSpent = true
        notifyLocked(.exit, mode)

        batch.discard()
        activation = run.parent
        lock.unlock()
        run.contexts.releaseAll()
        return result
    }

    /// A limit of an outer run that has come already was a wake-up of that run: pending where it counted, lost where it did not.
    private func noteParentDeadlinesLocked(_ run: Activation) {
        guard let parent = run.parent, run.nextAncestorDeadline != .never else { return }
        if run.takePassedAncestorDeadlines(at: .now()), !parent.ignoresWakeUps { sleep.isWakePending = true }
    }

    /// With the lock held: whether the mode has a context to sleep with. A private mode gets its own when it first runs; what GIO
    /// starts there completes only while the mode runs.
    private func hasContextLocked(_ mode: ModeState) -> Bool {
        fixHomeLocked()
        if mode.isCommon ? home != nil : mode.ownContext != nil { return true }
        if !mode.isCommon, let context = Contexts.make() {
            mode.ownContext = ServedContext(context, carrying: nil)
            mode.contextsVersion += 1
            Contexts.release(context)
            return true
        }
        return false
    }

    /// With the lock held: where other threads own every context of the mode, the loop sleeps with a descriptor of its own.
    private func canBeWokenLocked(_ run: Activation) -> Bool {
        if run.contexts.list.isEmpty, wakeDescriptor < 0 { wakeDescriptor = cgrun_event_new() }
        return !run.contexts.list.isEmpty || wakeDescriptor >= 0
    }

    private func explainExhaustion(_ name: Mode) {
        Log.critical(
            "GRunLoop.run: no descriptor is left to sleep with, so mode \(name) is not run; close some descriptors or raise "
                + "the limit, and run it again")
    }

    /// ``Mode/common`` can have no items of its own, so that it is finished; but whoever runs it meant something else.
    private func explainCommon() {
        guard !Self.saidCommon.exchange(true, ordering: .relaxed) else { return }
        Log.critical(
            "GRunLoop.run: .common stands for all common modes and cannot be run; run one of them, as .default. Said once")
    }

    private static let saidCommon = Atomic(false)

    private func isFinished(_ name: Mode) -> Bool {
        lock.withLock { modes[name].map(isFinishedLocked) ?? true }
    }

    private func canRunHere(_ call: StaticString) -> Bool {
        guard !refuses(call), requireOwnThread(call) else { return false }
        if isMain { MainQueue.explainIfLost() }
        return true
    }
}
