// SPDX-License-Identifier: Apache-2.0
// Fires timers and delayed performs: stage 10 fires all that are due, and `fire()` fires one timer immediately.

import CGRun

extension GRunLoop {
    /// Fires the timers and delayed performs that are due now, in firing order. Stops early if the time slice is used
    /// up and other kinds of work must have their turn. The lock is held before and after.
    ///
    /// Each timer is checked again before its closure is called. A callout of this batch may have invalidated, removed
    /// or moved the timer, and a nested run may have fired it.
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
                callDelayedLocked(&body, PerformName(mode: mode.number, name: name), call, in: frame)
            }
            if endItemLocked(frame, of: .timer) { break }
        }
        frame.kept.keep(all: mode.heap.endBatch(resuming: outer))
    }

    /// Calls the closure of a delayed perform. The lock is held before and after, but not during the call.
    private func callDelayedLocked(
        _ body: inout TimerSlots.Body?, _ perform: PerformName, _ call: Performing, in frame: Frame
    ) {
        performing.append(call)
        lock.unlock()
        frame.kept.drop()
        callDelayed(perform) { callOutToPerform(&body, due: call.due, of: self) }
        lock.lock()
        // The last element of `performing` belongs to this call, unless the end of the loop's thread has emptied the
        // list meanwhile.
        performing.popLast()?.leave()
    }
}

extension GRunLoop.Timer {
    /// Calls the timer's closure now.
    ///
    /// The dates of a repeating timer do not change. A one-shot timer is invalidated after its closure has returned. If
    /// the timer is invalid, the call does nothing.
    ///
    /// Threads: any; the closure is called on the calling thread. The corresponding Foundation method is
    /// `Timer.fire()`.
    public func fire() {
        guard !Fork.refuses("Timer.fire") else { return }
        var (body, isOneShot) = guardian.withLock { (isValidLocked ? handler?.body : nil, dates.period == 0) }
        guard body != nil else { return }
        callOutToTimer(&body, self, of: nil)
        if isOneShot { invalidate() }
    }

    /// Returns whether the timer may fire in the mode. The timer must be valid, in the mode, and not firing already. It
    /// must be due now, or have been due at `limit`, the time when the batch began.
    func canFireLocked(in mode: ModeState, of loop: GRunLoop, by limit: Nanoseconds) -> Bool {
        guardian.isBound(to: loop.lock) && isValidLocked && isIn(mode) && !isFiring
            && (dates.deadline <= limit || dates.deadline <= loop.time)
    }

    /// Calls the timer's closure, and then computes the next date. The lock is held before and after, but not during
    /// the call.
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
            // During the call, the timer was removed from this loop, and may have been added to another loop. So this
            // loop's lock no longer guards the timer.
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

    /// Invalidates a one-shot timer that has fired, and releases the lock. This is a separate function, so that the
    /// timer's closure is released before the caller acquires the lock again.
    private func endOneShot(holding lock: Lock) {
        stopFiring()
        invalidate(holding: lock)
    }

    package var isPerform: Bool { guardian.withLock { isPerformLocked } }

    /// Ends the firing of a timer whose closure has returned or has ended the thread. Called without a lock, because
    /// the closure may have removed the timer or moved it to another loop.
    ///
    /// - Parameter due: the scheduled date of the fire that ends.
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
    loop.tell(CalloutMark(.timer), closure: ClosureSymbol.of(body), due: due)
    body?()
    body = nil
    cgrun_keep_frame()
}

/// Calls a timer's closure. `loop` is nil if `fire()` calls this function.
@inline(never) func callOutToTimer(
    _ handler: inout (@Sendable (GRunLoop.Timer) -> Void)?, _ timer: GRunLoop.Timer, of loop: GRunLoop?
) {
    loop?.tell(CalloutMark(.timer, timer), closure: ClosureSymbol.of(handler))
    handler?(timer)
    handler = nil
    cgrun_keep_frame()
}
