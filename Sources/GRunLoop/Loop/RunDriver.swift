// SPDX-License-Identifier: Apache-2.0
// One run of a mode without a host, from its entry to its exit.

import CGRun
import Synchronization

extension GRunLoop {
    /// Runs a mode once, until a point in time. Returns nil if nothing was run: see
    /// ``runMode(_:for:returningAfterSource:)``.
    package func runMode(_ name: Mode, until limit: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        let span = limit == .never ? limit : limit.subtractingSaturating(time)
        return runMode(name, for: span, returningAfterSource: returningAfterSource)
    }

    /// Runs a mode once. Returns nil if nothing was run: the mode does not exist, has nothing to wait for, or cannot be
    /// run now. In the last case this is logged.
    func runMode(_ name: Mode, for span: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        lock.lock()
        if isWaitAnnounced { endHostWaitBeforeRunLocked() }
        // Needs no retain: the default mode lives as long as the loop.
        if name == .default { return runOnceLocked(defaultMode, for: span, returningAfterSource: returningAfterSource) }
        if let mode = modes[name] { return runOnceLocked(mode, for: span, returningAfterSource: returningAfterSource) }
        lock.unlock()
        if name == .common { explainCommon() }
        return nil
    }

    /// Runs a mode once. Called with the lock held, which it releases.
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
        // If a host's callback made this run, the blocks and signals that the run has left are for the host.
        if isHostInControl { pendingPasses.add(.work) }
        lock.unlock()
        frame.contexts.releaseAll()
        frame.kept.drop()
        keepForNextRun(frame)
        return result
    }

    /// Whether a run of `mode` has nothing to wait for (items 16 to 23). With the lock held.
    func isFinishedLocked(_ mode: ModeState) -> Bool {
        !(mode.hasItems || servesMainQueueLocked(mode) || mode.hasIdleWork || !readyLocked(.block, in: mode).isEmpty)
    }

    /// Returns the deadline of a run that begins its first pass now, after the entry observers. Zero and negative spans
    /// mean one pass, `.min`. Spans of more than 16 years mean no limit, `.never`. If the end is too late for the
    /// clock, it is the clock's last instant.
    private func deadline(after span: Nanoseconds) -> Nanoseconds {
        span <= 0 ? .min : span > .longest ? .never : min(time.addingSaturating(span), .last)
    }

    /// Makes passes until one of them ends the run.
    private func runPassesLocked(_ frame: Frame, _ mode: ModeState) -> RunResult {
        if frame.run.isStopped { return .stopped }
        while true {
            let end = runPassLocked(frame, mode)
            if let result = endCheckLocked(frame, mode, end == .handledSource) { return result }  // 12
        }
    }

    /// Makes the run the innermost one. Returns false if the run has no context and no descriptor to sleep with.
    private func beginLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        if host.poll.isAbandoned { Self.endForLoss() }
        guard hasContextLocked(mode) else { return false }
        acquireContextsLocked(frame, mode)
        // If other threads own every context of the mode, the loop sleeps with a descriptor of its own.
        guard !frame.contexts.list.isEmpty || canWakeItself() else { return false }
        frame.contexts.pushThreadDefault()

        // If the deadline of an outer run has already passed, that is a wake-up. It is pending if the stage of the
        // parent run counts wake-ups, and is lost otherwise.
        if let parent = frame.parent, frame.nextAncestorDeadline != .never,
            frame.takePassedAncestorDeadlines(at: time), parent.run.stage.countsWakeUps
        {
            pendingPasses.add(.wakeUp)
        }
        pushLocked(frame)
        // A wake-up that came while nothing ran was for a host. This run is outside any dispatch of a host, so the
        // wake-up is dropped: it does not count for a run (item 68).
        if frame.depth == 0 { pendingPasses.clear(.hostWakeUp) }
        // Events that were fetched before a nested run are dropped, because the nested run may service them. So are the
        // results of a host's poll.
        batch.discard()
        host.polled = nil
        return true
    }

    /// Whether the mode has a context to sleep with. A private mode gets a context when it first runs. GIO operations
    /// that are started there complete only while the mode runs.
    private func hasContextLocked(_ mode: ModeState) -> Bool {
        fixHomeLocked()
        if mode.isCommon ? home != nil : mode.ownContext != nil { return true }
        guard !mode.isCommon, let context = Contexts.make() else { return false }
        mode.ownContext = ServedContext(context, carrying: nil)
        mode.contextsVersion += 1
        Contexts.release(context)
        return true
    }

    /// Whether a run of the mode has a context to sleep with, or whether the loop's thread has ended. If false, it is
    /// logged. A caller asks this before it begins something that needs the run.
    package func canRun(_ name: Mode) -> Bool {
        if lock.withLock({ isDead || hasContextLocked(modeLocked(name)) }) { return true }
        explainExhaustion(name)
        return false
    }

    /// Returns the result of the run if it ends after this pass, otherwise nil. The order of the checks is:
    /// handledSource, timedOut, stopped, finished (item 29).
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
            "the loop needs a descriptor to sleep, and none is left, so mode \(name) is not run; close some or raise "
                + "the limit, and run it again")
    }

    /// Logs once that ``Mode/common`` cannot be run. It has no items of its own, so its run is finished immediately,
    /// but the caller meant something else.
    private func explainCommon() {
        guard !Self.saidCommon.exchange(true, ordering: .relaxed) else { return }
        Log.misuse(
            "run",
            ".common stands for all common modes and cannot be run; run one of them, for example .default. Logged once")
    }

    private static let saidCommon = Atomic(false)
}
