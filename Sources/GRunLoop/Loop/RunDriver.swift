// SPDX-License-Identifier: Apache-2.0
// One run of a mode without a host, from its entry to its exit.

import CGRun
import Synchronization

extension GRunLoop {
    /// Works like ``runMode(_:for:returningAfterSource:)``, but the limit is a point in time.
    package func runMode(_ name: Mode, until limit: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        let span = limit == .never ? limit : limit.subtractingSaturating(time)
        return runMode(name, for: span, returningAfterSource: returningAfterSource)
    }

    /// Runs a mode once. Returns nil if the mode does not exist, has nothing to wait for, or cannot be run now. The
    /// last case is logged, and so is a run of ``Mode/common``.
    func runMode(_ name: Mode, for span: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        lock.lock()
        if isWaitAnnounced { endHostWaitBeforeRunLocked() }
        if name == .default { return runOnceLocked(defaultMode, for: span, returningAfterSource: returningAfterSource) }
        if let mode = modes[name] { return runOnceLocked(mode, for: span, returningAfterSource: returningAfterSource) }
        lock.unlock()
        if name == .common { explainCommon() }
        return nil
    }

    /// Called with the lock held, and returns without the lock.
    private func runOnceLocked(_ mode: ModeState, for span: Nanoseconds, returningAfterSource: Bool)
        -> RunResult?
    {
        guard !isFinishedLocked(mode) else {
            lock.unlock()
            return nil
        }
        let frame = makeFrame(in: .passUnretained(mode), returningAfterSource: returningAfterSource)
        guard beginLocked(frame, mode) else {
            lock.unlock()
            explainExhaustion(mode.name)
            return nil
        }
        notifyLocked(.entry, mode)  // 1
        let end = deadline(after: span)
        frame.run.setLimit(end)
        let result = runPassesLocked(frame, mode)
        frame.run.alarm = .never
        notifyLocked(.exit, mode)

        batch.discard()
        popLocked(frame)
        // If a callback of a host made this run, the host's next dispatch serves the blocks and signalled sources that
        // this run has not served.
        if isHostInControl { pendingPasses.add(.work) }
        lock.unlock()
        frame.contexts.releaseAll()
        frame.kept.drop()
        keepForNextRun(frame)
        return result
    }

    /// Returns whether a run of `mode` has nothing to wait for (items 16 to 23).
    func isFinishedLocked(_ mode: ModeState) -> Bool {
        !(mode.hasItems || servesMainQueueLocked(mode) || mode.hasIdleWork || !readyLocked(.block, in: mode).isEmpty)
    }

    /// Returns the deadline of a run. Called after the entry observers, so that the time that the observers take does
    /// not count. For a span of zero or less, the result is `.min`, which means one pass. For a span of more than 16
    /// years, the result is `.never`, which means no limit. If the deadline would be after the clock's last instant,
    /// the result is that instant.
    private func deadline(after span: Nanoseconds) -> Nanoseconds {
        span <= 0 ? .min : span > .longest ? .never : min(time.addingSaturating(span), .last)
    }

    private func runPassesLocked(_ frame: Frame, _ mode: ModeState) -> RunResult {
        if frame.run.isStopped { return .stopped }
        while true {
            let end = runPassLocked(frame, mode)
            if let result = endCheckLocked(frame, mode, end == .handledSource) { return result }  // 12
        }
    }

    /// Makes the run the innermost run. Returns false if the mode has no context, or if no context or eventfd could
    /// wake the run.
    private func beginLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        if host.poll.isAbandoned { Self.endForLoss() }
        guard hasContextLocked(mode) else { return false }
        acquireContextsLocked(frame, mode)
        // If other threads own every context of the mode, the loop's own eventfd must end the loop's sleeps.
        guard !frame.contexts.list.isEmpty || canWakeItself() else { return false }
        frame.contexts.pushThreadDefault()

        // A passed deadline of an outer run counts as a wake-up, unless the parent frame's run is in a stage that
        // ignores wake-ups.
        if let parent = frame.parent, frame.nextAncestorDeadline != .never,
            frame.takePassedAncestorDeadlines(at: time), parent.run.stage.countsWakeUps
        {
            pendingPasses.add(.wakeUp)
        }
        pushLocked(frame)
        // A wake-up that came while no run was under way is for a host. If no dispatch of a host is on the stack, the
        // wake-up is dropped, because it must not count for this run (item 68).
        if frame.depth == 0 { pendingPasses.clear(.hostWakeUp) }
        // Drops the events that an outer run has fetched, and the results of a host's poll, because this run may
        // service these events itself.
        batch.discard()
        host.polled = nil
        return true
    }

    /// Returns whether the mode has a context to poll while it sleeps. A private mode gets its own context when it
    /// first runs. So GIO operations that are started in the mode complete only while the mode runs.
    private func hasContextLocked(_ mode: ModeState) -> Bool {
        fixHomeLocked()
        if mode.isCommon ? home != nil : mode.ownContext != nil { return true }
        guard !mode.isCommon, let context = Contexts.make() else { return false }
        mode.ownContext = ServedContext(context, carrying: nil)
        mode.contextsVersion += 1
        Contexts.release(context)
        return true
    }

    /// Returns true if the mode has a context to poll while it sleeps, or if the loop's thread has ended. Otherwise
    /// logs that the mode cannot be run. Call this function before work that needs a run of the mode.
    package func canRun(_ name: Mode) -> Bool {
        if lock.withLock({ isDead || hasContextLocked(modeLocked(name)) }) { return true }
        explainExhaustion(name)
        return false
    }

    /// If the run ends after this pass, returns the run's result, otherwise nil. Checks handledSource, timedOut,
    /// stopped and finished, in this order (item 29).
    @inline(never) private func endCheckLocked(_ frame: Frame, _ mode: ModeState, _ handledSource: Bool)
        -> RunResult?
    {
        if handledSource && frame.run.returnsAfterSource { return .handledSource }
        if frame.run.deadline != .never, frame.run.onlyLooks || frame.run.deadline <= time { return .timedOut }
        if frame.run.isStopped { return .stopped }
        return isFinishedLocked(mode) ? .finished : nil
    }

    private func explainExhaustion(_ name: Mode) {
        guard lock.withLock({ host.detachedFrom == nil }) else {
            return Log.misuse(
                "run", "the loop was detached from its context, so mode \(name) is not run; call attach() first")
        }
        Log.misuse(
            "run",
            "mode \(name) was not run, because the loop needs a descriptor to sleep and none is left. Close "
                + "descriptors or raise the limit, and run the mode again")
    }

    /// Logs once that ``Mode/common`` cannot be run. A run of ``Mode/common`` returns immediately, because no mode of
    /// this name exists, but the caller expected the run to serve the common modes.
    private func explainCommon() {
        guard !Self.saidCommon.exchange(true, ordering: .relaxed) else { return }
        Log.misuse(
            "run",
            ".common stands for all common modes and cannot be run; run one of them, for example .default. Logged once")
    }

    private static let saidCommon = Atomic(false)
}
