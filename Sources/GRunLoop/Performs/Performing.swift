// SPDX-License-Identifier: Apache-2.0
// Delayed performs whose closures are being called.

/// A delayed perform whose closure is on the stack. Like a firing timer, the perform has left the heap, but its modes
/// still count it.
struct Performing {
    let due: Nanoseconds
    let isCommon: Bool
    /// The perform's own mode, and the modes that became common during the call.
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

    /// Removes the perform from all modes, because the closure has returned or the loop ends.
    func leave() { places.forEach { $0._withUnsafeGuaranteedRef { $0.timerCount -= 1 } } }
}

extension GRunLoop {
    /// Calls the closure of a delayed perform without the lock, and then releases the target. The perform cannot be
    /// cancelled any more.
    func callDelayed(_ perform: PerformName, _ call: () -> Void) {
        let entry = cancellables.isEmpty ? nil : cancellables.remove(perform)
        call()
        withExtendedLifetime(entry) {}
    }
}
