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

/// One whose closure is on the stack. It has left the heap and is still in its modes, as a timer that fires is.
struct Performing {
    let due: Nanoseconds
    let isCommon: Bool
    private let mode: Unmanaged<ModeState>
    /// Those that have become common meanwhile.
    private var later: [Unmanaged<ModeState>] = []

    init(due: Nanoseconds, isCommon: Bool, in mode: ModeState) {
        (self.due, self.isCommon, self.mode) = (due, isCommon, .passUnretained(mode))
    }

    func isIn(_ mode: ModeState) -> Bool { self.mode === mode || later.contains { $0 === mode } }

    mutating func join(_ mode: ModeState) {
        mode.timerCount += 1
        later.append(.passUnretained(mode))
    }

    /// It has returned.
    func leave() {
        mode._withUnsafeGuaranteedRef { $0.timerCount -= 1 }
        for mode in later { mode._withUnsafeGuaranteedRef { $0.timerCount -= 1 } }
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
        let timer = heap.replace(key, in: self) { deadline, body in
            let timer = makeTimer(deadline, body)
            // Before it knows its slot.
            timer.note(self)
            return timer
        }
        _ = Unmanaged.passRetained(timer)
        return timer
    }
}
