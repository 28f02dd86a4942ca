// SPDX-License-Identifier: Apache-2.0
// Stages 2, 3, 7 and 9, entry and exit: the observers of a mode.

import CGRun

extension GRunLoop {
    /// Calls the observers of a stage. The mode is an autoclosure, because an earlier lookup would occupy a register
    /// while `tell` compares and jumps.
    @inline(__always) func notifyLocked(_ activity: Activity, _ mode: @autoclosure () -> ModeState) {
        tell(activity)
        let mode = mode()
        if mode.observed.contains(activity) { callObserversLocked(activity, mode) }
    }

    /// Calls the observers in order. If an observer of the stage removes another observer, the other observer is still
    /// called. If it invalidates another observer, the other observer is not called (items 149, 150).
    @inline(never) private func callObserversLocked(_ activity: Activity, _ mode: ModeState) {
        let called = mode.observers.toCall(at: activity)
        let frame = self.frame
        if !called.isEmpty {
            frame?.kept.keep(all: called)
            lock.unlock()
            for observer in called { observer.deliver(activity, in: frame, of: self) }
            lock.lock()
        }
        // Under a host, idle work is called later, after the host has checked its own sources again.
        if activity == .beforeWaiting, mode.hasIdleWork, let frame, !frame.run.isHosted {
            runIdleWorkLocked(frame, mode)
        }
    }
}

extension GRunLoop.Observer {
    /// Calls the closure, unless the observer was invalidated after `toCall(at:)` returned it. Call this function
    /// without a lock.
    func deliver(_ activity: GRunLoop.Activity, in frame: Frame?, of loop: GRunLoop) {
        var body = guardian.withLock { () -> (@Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void)? in
            // If the observer is firing here, it was moved to another loop meanwhile, and that loop's thread is calling
            // it.
            guard canBeCalledLocked else { return nil }
            firing = true
            return handler
        }
        guard body != nil else { return }
        frame?.called.observer = .passUnretained(self)
        callOutToObserver(&body, self, activity, of: loop)
        endCall()
        frame?.called.observer = nil
    }

    /// Called without a lock, after the closure has returned or has ended the thread.
    func endCall() {
        if !repeats { invalidate() }
        guardian.withLock { firing = false }
    }
}

@inline(never) func callOutToObserver(
    _ handler: inout (@Sendable (GRunLoop.Observer, GRunLoop.Activity) -> Void)?, _ observer: GRunLoop.Observer,
    _ activity: GRunLoop.Activity, of loop: GRunLoop
) {
    loop.tell(CalloutMark(observer, activity), closure: ClosureSymbol.of(handler))
    handler?(observer, activity)
    handler = nil
    cgrun_keep_frame()
}
