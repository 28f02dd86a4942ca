// SPDX-License-Identifier: Apache-2.0
// We drive: one run of a mode, from its entry to its exit.

import CGRun
import Synchronization

extension GRunLoop {
    /// Runs a mode once, until a point in time. Nil if nothing was run: see ``runMode(_:for:returningAfterSource:)``.
    func runMode(_ name: Mode, until limit: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        let span = limit == .never ? limit : limit.subtractingSaturating(time)
        return runMode(name, for: span, returningAfterSource: returningAfterSource)
    }

    /// Runs a mode once. Nil if nothing was run: the mode has nothing to wait for, or cannot be run now, which is
    /// logged.
    func runMode(_ name: Mode, for span: Nanoseconds, returningAfterSource: Bool) -> RunResult? {
        lock.lock()
        if isWaitTold { endHostWaitBeforeRunLocked() }
        // Needs no retain: the default mode lives as long as the loop.
        if name == .default { return runOnceLocked(defaultMode, for: span, returningAfterSource: returningAfterSource) }
        if let mode = modes[name] { return runOnceLocked(mode, for: span, returningAfterSource: returningAfterSource) }
        lock.unlock()
        if name == .common { explainCommon() }
        return nil
    }

    /// Called with the lock held; releases it.
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
        // What the run has left is for the host that called it.
        if isHostInControl { owed.owe(.work) }
        lock.unlock()
        frame.contexts.releaseAll()
        frame.kept.drop()
        keepForNextRun(frame)
        return result
    }

    /// With the lock held: whether a run of `mode` has nothing to wait for (items 16 to 23).
    func isFinishedLocked(_ mode: ModeState) -> Bool {
        !(mode.hasItems || servesMainQueueLocked(mode) || mode.hasIdleWork || !readyLocked(.block, in: mode).isEmpty)
    }

    /// The limit counts from the first pass, after the entry observers. One that is too large to represent ends the run
    /// at the last instant of the clock.
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

    /// Makes the run the innermost one. False if it has no context and no descriptor to sleep with.
    private func beginLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        if hostPoll.isAbandoned { Self.endForLoss() }
        guard hasContextLocked(mode) else { return false }
        acquireContextsLocked(frame, mode)
        // Where other threads own every context of the mode, the loop sleeps with a descriptor of its own.
        guard !frame.contexts.list.isEmpty || canWakeItself() else { return false }
        frame.contexts.pushThreadDefault()

        // An outer run's deadline that has already passed is a wake-up of that run: pending if wake-ups counted there,
        // else lost.
        if let parent = frame.parent, frame.nextAncestorDeadline != .never,
            frame.takePassedAncestorDeadlines(at: time), parent.run.stage.countsWakeUps
        {
            owed.owe(.wakeUp)
        }
        pushLocked(frame)
        // A wake-up while nothing ran was for a host. Without a host it is dropped: it does not count for a run (item
        // 68).
        if frame.depth == 0 { owed.settle(.hostWakeUp) }
        // Events that were fetched before a nested run are dropped, those of a host's poll as well: the nested run may
        // service them.
        batch.discard()
        host.polled = nil
        return true
    }

    /// Whether the mode has a context to sleep with. A private mode gets its own when it first runs; what GIO starts
    /// there completes only while the mode runs.
    private func hasContextLocked(_ mode: ModeState) -> Bool {
        fixHomeLocked()
        if mode.isCommon ? home != nil : mode.ownContext != nil { return true }
        guard !mode.isCommon, let context = Contexts.make() else { return false }
        mode.ownContext = ServedContext(context, carrying: nil)
        mode.contextsVersion += 1
        Contexts.release(context)
        return true
    }

    /// Whether the mode has, or gets, a context to sleep with: who is to do something before its run asks. If not it is
    /// logged.
    func canRun(_ name: Mode) -> Bool {
        if lock.withLock({ isDead || hasContextLocked(modeLocked(name)) }) { return true }
        explainExhaustion(name)
        return false
    }

    /// In this order: handledSource, timedOut, stopped, finished (item 29).
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
            "no descriptor is left to sleep with, so mode \(name) is not run; close some descriptors or raise "
                + "the limit, and run it again")
    }

    /// ``Mode/common`` has no items of its own, so a run of it is finished at once; but its caller meant something
    /// else.
    private func explainCommon() {
        guard !Self.saidCommon.exchange(true, ordering: .relaxed) else { return }
        Log.misuse(
            "run", ".common stands for all common modes and cannot be run; run one of them, as .default. Said once")
    }

    private static let saidCommon = Atomic(false)
}
