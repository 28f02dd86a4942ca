// SPDX-License-Identifier: Apache-2.0
// A delayed perform that is being called.

/// A delayed perform whose closure is on the stack. It has left the heap and is still in its modes, as a timer is that
/// fires.
struct Performing {
    let due: Nanoseconds
    let isCommon: Bool
    /// Its own, and those that have become common meanwhile.
    private var places = Places<Unmanaged<ModeState>>()

    init(due: Nanoseconds, isCommon: Bool, in mode: ModeState) {
        (self.due, self.isCommon) = (due, isCommon)
        places.add(.passUnretained(mode))
    }

    func isIn(_ mode: ModeState) -> Bool { places.contains(mode) }

    mutating func join(_ mode: ModeState) {
        mode.timerCount += 1
        places.add(.passUnretained(mode))
    }

    /// It has returned.
    func leave() { places.forEach { $0._withUnsafeGuaranteedRef { $0.timerCount -= 1 } } }
}

extension GRunLoop {
    /// Without the lock: calls the closure of a delayed perform, which cannot be cancelled any more. Its target goes
    /// after it.
    func callDelayed(_ perform: DelayedPerform, _ call: () -> Void) {
        let entry = cancellables.isEmpty ? nil : cancellables.remove(perform)
        call()
        withExtendedLifetime(entry) {}
    }
}
