// SPDX-License-Identifier: Apache-2.0
// The end of stage 7: calls idle work after the observers of beforeWaiting, if no item and no context is ready.

import CGRun

extension GRunLoop {
    /// Without a host: calls idle work if the loop would sleep now. The lock is held before and after. Another pass
    /// always follows. That pass handles the ready items, and its observers see the changes that the idle work made.
    func runIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        var turn: IdleTurn?
        while isAboutToSleepLocked(frame, mode), callIdleWorkLocked(&turn, frame, mode) {}
        pendingPasses.add(.wakeUp)
    }

    /// Under a host: calls one closure, after the host has found none of its own sources ready. Before this function is
    /// called again for the next closure, the host checks its own sources again.
    @inline(never) func runHostedIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        guard !pendingPasses.contains(.wakeUp) else { return }
        if hasLeftoversLocked(mode) || !callIdleWorkLocked(&host.idleTurn, frame, mode) { pendingPasses.add(.wakeUp) }
    }

    /// Calls one closure. Returns whether another closure may be called before the next pass.
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

    /// Returns true if nothing is ready, so that the run would sleep now.
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
