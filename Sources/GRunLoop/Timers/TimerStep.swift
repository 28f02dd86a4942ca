// SPDX-License-Identifier: Apache-2.0
// Where timers fire, and delayed performs with them: in stage 10 those that are due, and a timer by hand.

import CGRun

extension GRunLoop {
    /// Fires every timer that is due now, in order. Each is checked again before its call: an earlier one may have
    /// invalidated, removed or moved it, and a nested run may have fired it.
    func fireTimersLocked(_ frame: Frame, _ mode: ModeState) {
        let limit = time
        let outer = mode.heap.beginBatch(by: limit)
        var body: TimerSlots.Body?
        while let taken = mode.heap.nextOfBatch(in: mode, &body) {
            switch taken {
            case .timer(let timer):
                let isDue = timer._withUnsafeGuaranteedRef { $0.canFireLocked(in: mode, of: self, by: limit) }
                guard isDue else { continue }
                timer._withUnsafeGuaranteedRef { $0.fireLocked(of: self, in: frame) }
            case .perform(let name, let due, let isCommon):
                let call = Performing(due: due, isCommon: isCommon, in: mode)
                callDelayedLocked(&body, DelayedPerform(mode: mode.number, name: name), call, in: frame)
            }
            if isCutLocked(frame, after: .timer) { break }
        }
        frame.kept.keep(all: mode.heap.endBatch(resuming: outer))
    }

    /// With the lock held before and after.
    private func callDelayedLocked(
        _ body: inout TimerSlots.Body?, _ perform: DelayedPerform, _ call: Performing, in frame: Frame
    ) {
        performing.append(call)
        lock.unlock()
        frame.kept.drop()
        callDelayed(perform) { callOutToPerform(&body, due: call.due, of: self) }
        lock.lock()
        // Always its own, unless the thread has ended meanwhile.
        performing.popLast()?.leave()
    }
}

extension GRunLoop.Timer {
    /// Calls the closure now. A repeating timer keeps its dates; a one-shot timer is invalidated. An invalid timer
    /// ignores it.
    ///
    /// Threads: any; the closure is called on this one. The corresponding Foundation method is `Timer.fire()`.
    public func fire() {
        guard !Fork.refuses("Timer.fire") else { return }
        var (body, isOneShot) = guardian.withLock { (isValidLocked ? handler?.body : nil, dates.period == 0) }
        guard body != nil else { return }
        callOutToTimer(&body, self, of: nil)
        if isOneShot { invalidate() }
    }

    /// With the lock held: whether the timer is in the mode, and was due when its batch began, or is due now if it
    /// was moved since.
    func canFireLocked(in mode: ModeState, of loop: GRunLoop, by limit: Nanoseconds) -> Bool {
        guardian.isBound(to: loop.lock) && isValidLocked && isIn(mode) && !isFiring
            && (dates.deadline <= limit || dates.deadline <= loop.time)
    }

    /// With the lock held before and after: calls the closure without it, and computes the next date.
    func fireLocked(of loop: GRunLoop, in frame: Frame) {
        var body = handler?.body
        let due = dates.deadline
        let isOneShot = dates.period == 0
        beginFiring()
        frame.called.timer = .passUnretained(self)
        frame.called.due = due
        loop.unlock(toCall: .passUnretained(self), in: frame)

        callOutToTimer(&body, self, of: loop)

        loop.lock.lock()
        frame.called.timer = nil
        guard guardian.isBound(to: loop.lock) else {
            // Its own closure took it out of the loop, and may have added it to another one: our lock does not
            // guard it any more.
            loop.lock.unlock()
            endFiring(due)
            return loop.lock.lock()
        }
        if isOneShot {
            endOneShot(holding: loop.lock)
            loop.lock.lock()
        } else {
            loop.sendLocked(endFiringLocked(due))
        }
    }

    /// Ends a timer that fires once. Releases the lock. A function of its own, so that what is taken out of the
    /// timer is released before the caller locks again.
    private func endOneShot(holding lock: Lock) {
        stopFiring()
        invalidate(holding: lock)
    }

    var isPerform: Bool { guardian.withLock { isPerformLocked } }

    /// Called without a lock when the closure has returned, or has ended its thread. The closure may have moved the
    /// timer to another loop, or removed it.
    ///
    /// - Parameter due: the date that it has fired for.
    func endFiring(_ due: Nanoseconds) {
        if guardian.withLock({ dates.period == 0 }) { invalidate() }
        guardian.withLock { endFiringLocked(due) }?.send()
    }

    private func endFiringLocked(_ due: Nanoseconds) -> Kick? {
        stopFiring()
        guard isValidLocked else { return nil }
        if dates.deadline <= due { dates.advance(from: due, at: nowLocked) }
        return guardian.loop.flatMap { returnToHeaps(of: $0) }
    }
}

@inline(never) func callOutToPerform(
    _ body: inout (@Sendable () -> Void)?, due: Nanoseconds, of loop: GRunLoop
) {
    loop.begin(CalloutMark(.timer), .delayedPerform, closure: Code.of(body), due: due)
    body?()
    body = nil
    cgrun_keep_frame()
}

/// `loop` is nil in a timer that is fired by hand.
@inline(never) func callOutToTimer(
    _ handler: inout (@Sendable (GRunLoop.Timer) -> Void)?, _ timer: GRunLoop.Timer, of loop: GRunLoop?
) {
    loop?.begin(
        CalloutMark(.timer, timer), timer.isPerform ? .delayedPerform : .timer(timer), closure: Code.of(handler))
    handler?(timer)
    handler = nil
    cgrun_keep_frame()
}
