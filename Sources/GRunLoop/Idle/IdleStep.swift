// SPDX-License-Identifier: Apache-2.0
// The end of stage 7: idle work, which comes when every observer of beforeWaiting was called and nothing at all is
// ready.

import CGRun

extension GRunLoop {
    /// Calls idle work if the loop would sleep now, and no host drives the loop. The lock is held before and after.
    /// Another pass follows in any case: it handles what is ready, and observers see what the idle work has changed.
    func runIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        var turn: IdleTurn?
        while isAboutToSleepLocked(frame, mode), callIdleWorkLocked(&turn, frame, mode) {}
        pendingPasses.add(.wakeUp)
    }

    /// Calls one idle closure where a host drives the loop, when none of the host's sources is ready either. If the
    /// queue's turn goes on, the host checks its sources again before the next closure.
    @inline(never) func runHostedIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        guard !pendingPasses.contains(.wakeUp) else { return }
        if hasLeftoversLocked(mode) || !callIdleWorkLocked(&host.idleTurn, frame, mode) { pendingPasses.add(.wakeUp) }
    }

    /// Calls one closure. Returns whether another may be called before the next pass.
    private func callIdleWorkLocked(_ turn: inout IdleTurn?, _ frame: Frame, _ mode: ModeState) -> Bool {
        guard let queue = mode.nextIdleQueue(turn?.queue) else { return false }
        var current = turn ?? IdleTurn(of: queue, at: time)
        var work = queue.takeLocked()
        let mayGoOn = current.noteCall()
        frame.called.idleQueue = .passUnretained(queue)
        unlock(toCall: .passUnretained(queue), in: frame)
        callOutToIdleWork(&work, queue, of: self)
        queue.endCall()
        lock.lock()
        frame.called.idleQueue = nil
        turn = mayGoOn && !current.isOver(at: time) ? current : nil
        return turn != nil
    }

    /// Whether a sleep of this run that begins now would last, because nothing is ready.
    private func isAboutToSleepLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        guard !run.isStopped, !run.heardWakeUp else { return false }
        acquireContextsLocked(frame, mode)
        let end = wakeUpTimeLocked(frame, mode)
        return end != .min && (end == .never || end > time) && readyForTurnsLocked(frame).isEmpty
    }
}

@inline(never) func callOutToIdleWork(
    _ work: inout (@Sendable () -> Void)?, _ queue: GRunLoop.IdleQueue, of loop: GRunLoop
) {
    loop.tell(CalloutMark(.idleWork, queue), closure: ClosureSymbol.of(work))
    if let body = work.take() { body() }
    cgrun_keep_frame()
}
