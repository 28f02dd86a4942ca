// SPDX-License-Identifier: Apache-2.0
// The token of a delayed perform, and how a delayed perform joins and leaves a mode.

extension GRunLoop {
    /// The token of a closure that ``GRunLoop/perform(after:_:)`` or ``GRunLoop/perform(after:inModes:target:key:_:)``
    /// has added, for ``GRunLoop/cancelPerform(_:)``.
    ///
    /// It is a plain value, and retains neither the closure nor the loop.
    ///
    /// Each delayed perform of the process has a unique token. Calls that add no closure all return the same token.
    ///
    /// Threads: any. The corresponding GLib type is the number that `g_timeout_add` returns. Foundation has no such
    /// type: it cancels by target, selector and object.
    public struct DelayedPerform: Hashable, Sendable {
        /// The ``ModeState/number`` of the mode whose heap has the perform's slot; 0 if no closure was added.
        let mode: UInt64
        let name: TimerSlots.Name

        package static var none: DelayedPerform { DelayedPerform(mode: 0, name: TimerSlots.Name(slot: 0, use: 0)) }

        /// Describes a delayed perform, in the descriptions of timers and modes.
        static func text(isFiring: Bool, ahead: Nanoseconds) -> String {
            "<delayed perform>{firing = \(yesNo(isFiring)), next fire date = \(seconds(ahead)) s from now}"
        }
    }
}

extension ModeState {
    func insert(
        _ body: consuming @escaping TimerSlots.Body, at deadline: Nanoseconds, isCommon: Bool
    ) -> GRunLoop.DelayedPerform {
        timerCount += 1
        return GRunLoop.DelayedPerform(mode: number, name: heap.insert(body, at: deadline, isCommon: isCommon))
    }

    /// Removes the perform of that name; nil if it is not there any more. The caller releases the closure, or
    /// invalidates the timer, after the lock.
    func remove(_ name: TimerHeap.Name) -> TimerHeap.Occupant? {
        let occupant = heap.takeOut(name)
        if case .perform = occupant { timerCount -= 1 }
        return occupant
    }

    /// Replaces a closure by a timer, which the mode retains.
    func replace(
        _ name: TimerHeap.Name, by makeTimer: (Nanoseconds, @escaping TimerSlots.Body) -> GRunLoop.Timer
    ) -> GRunLoop.Timer {
        let timer = heap.replace(name, in: self) { deadline, body in
            let timer = makeTimer(deadline, body)
            // The timer must know its mode before it gets its slot.
            timer.note(self)
            return timer
        }
        _ = Unmanaged.passRetained(timer)
        return timer
    }
}
