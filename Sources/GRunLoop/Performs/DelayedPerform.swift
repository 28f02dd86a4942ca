// SPDX-License-Identifier: Apache-2.0
// What names a delayed perform, and how one joins and leaves a mode.

extension GRunLoop {
    /// Which closure ``GRunLoop/perform(after:_:)`` or ``GRunLoop/perform(after:inModes:target:key:_:)`` is to perform,
    /// for ``GRunLoop/cancelPerform(_:)``. It is a plain value, and keeps neither the closure nor the loop.
    ///
    /// No two performs of the process have equal ones; all that are never to be performed have the same.
    ///
    /// Threads: any. The corresponding GLib type is the number that `g_timeout_add` returns. Foundation has none, and
    /// cancels by target, selector and object.
    public struct DelayedPerform: Hashable, Sendable {
        /// ``ModeState/number`` of the mode in which it has its slot; 0 if it is never to be performed.
        let mode: UInt64
        let name: TimerSlots.Name

        static var none: DelayedPerform { DelayedPerform(mode: 0, name: TimerSlots.Name(slot: 0, use: 0)) }

        /// For descriptions.
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

    /// What is to be released, or invalidated, after the lock.
    func remove(_ name: TimerHeap.Name) -> TimerHeap.Occupant? {
        let occupant = heap.takeOut(name)
        if case .perform = occupant { timerCount -= 1 }
        return occupant
    }

    /// In the place of a closure.
    func replace(
        _ name: TimerHeap.Name, by makeTimer: (Nanoseconds, @escaping TimerSlots.Body) -> GRunLoop.Timer
    ) -> GRunLoop.Timer {
        let timer = heap.replace(name, in: self) { deadline, body in
            let timer = makeTimer(deadline, body)
            // Before it knows its slot.
            timer.note(self)
            return timer
        }
        _ = Unmanaged.passRetained(timer)
        return timer
    }
}
