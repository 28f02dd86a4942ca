// SPDX-License-Identifier: Apache-2.0
// What names a closure that is to be performed later.

extension GRunLoop {
    /// A closure that ``GRunLoop/perform(after:inModes:target:key:_:)`` is to perform, for
    /// ``GRunLoop/cancelPerform(_:)``. It keeps nothing: the closure goes when it was performed or cancelled, whoever
    /// holds this.
    ///
    /// Threads: any. There is no corresponding Foundation type; Foundation cancels by target and key.
    public struct DelayedPerform: Hashable, Sendable {
        /// ``ModeState/number`` of the mode in which it has its slot; 0 if it is never to be performed.
        let mode: UInt64
        let key: TimerSlots.Key

        static var none: DelayedPerform { DelayedPerform(mode: 0, key: TimerSlots.Key(slot: 0, use: 0)) }
    }
}

extension ModeState {
    func insert(
        _ body: consuming @escaping @Sendable () -> Void, at deadline: Nanoseconds, isCommon: Bool
    ) -> GRunLoop.DelayedPerform {
        timerCount += 1
        return GRunLoop.DelayedPerform(mode: number, key: heap.insert(body, at: deadline, isCommon: isCommon))
    }

    /// What is to be released, or invalidated, after the lock.
    func remove(_ key: TimerHeap.Key) -> TimerHeap.Occupant? {
        let occupant = heap.takeOut(key)
        if case .perform = occupant { timerCount -= 1 }
        return occupant
    }

    /// In the place of a closure.
    func replace(
        _ key: TimerHeap.Key, by makeTimer: (Nanoseconds, @escaping TimerSlots.Body) -> GRunLoop.Timer
    ) -> GRunLoop.Timer {
        let timer = heap.replace(key, in: self, by: makeTimer)
        timer.note(self)
        _ = Unmanaged.passRetained(timer)
        return timer
    }
}
