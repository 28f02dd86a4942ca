// SPDX-License-Identifier: Apache-2.0
// The end of stage 7: idle work, when every observer of beforeWaiting was called and nothing at all is ready.

import CGRun

extension GRunLoop {
    /// With the lock held before and after, where we drive: calls idle work if the loop would sleep now. A pass follows
    /// in any case: for what is ready, or for what the work has changed, which no observer has seen yet.
    func runIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        var turn: IdleTurn?
        while isAboutToSleepLocked(frame, mode), callIdleWorkLocked(&turn, frame, mode) {}
        owed.owe(.wakeUp)
    }

    /// The same where a host drives, and nothing of the host's is ready either: one closure. If its queue's turn goes
    /// on, the host looks again before the next one.
    @inline(never) func runHostedIdleWorkLocked(_ frame: Frame, _ mode: ModeState) {
        guard !owed.contains(.wakeUp) else { return }
        if hasLeftoversLocked(mode) || !callIdleWorkLocked(&host.idleTurn, frame, mode) { owed.owe(.wakeUp) }
    }

    /// Calls one closure. Returns whether another may be called before the next pass.
    private func callIdleWorkLocked(_ turn: inout IdleTurn?, _ frame: Frame, _ mode: ModeState) -> Bool {
        guard let queue = mode.nextIdleQueue(turn?.queue) else { return false }
        var current = turn ?? IdleTurn(of: queue, at: time)
        var work = queue.takeLocked()
        let mayGoOn = current.noteCall()
        frame.called.idleQueue = .passUnretained(queue)
        unlock(toCall: .passUnretained(queue), in: frame)
        callOutToIdleWork(&work, of: self)
        queue.endCall()
        lock.lock()
        frame.called.idleQueue = nil
        turn = mayGoOn && !current.isOver(at: time) ? current : nil
        return turn != nil
    }

    /// Whether nothing would end a sleep of the run that began now.
    private func isAboutToSleepLocked(_ frame: Frame, _ mode: ModeState) -> Bool {
        let run = frame.run
        guard !run.isStopped, !run.heardWakeUp else { return false }
        acquireContextsLocked(frame, mode)
        let end = wakeUpTimeLocked(frame, mode)
        return end != .min && (end == .never || end > time) && readyForTurnsLocked(frame).isEmpty
    }
}

@inline(never) func callOutToIdleWork(_ work: inout (@Sendable () -> Void)?, of loop: GRunLoop) {
    loop.begin(CalloutMark(.idleWork), .idleWork, closure: Code.of(work))
    if let body = work.take() { body() }
    cgrun_keep_frame()
}
