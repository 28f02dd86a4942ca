// SPDX-License-Identifier: Apache-2.0
// The token and the name of a delayed perform, and how the perform joins and leaves a mode.

extension GRunLoop {
    /// Identifies a closure that ``GRunLoop/perform(after:_:)`` or ``GRunLoop/perform(after:inModes:target:key:_:)``
    /// has added, so that ``cancel()`` can cancel it.
    ///
    /// The token retains neither the loop nor the closure. Each delayed perform of the process has a unique token.
    /// Calls that add no closure all return equal tokens.
    ///
    /// Threads: any. The corresponding GLib type is the number that `g_timeout_add` returns. Foundation has no such
    /// type, because it cancels by target, selector and object.
    public struct DelayedPerform: Hashable, Sendable {
        /// The number of the perform's mode in the upper 63 bits. The lowest bit is 1 if the perform is in the loop's
        /// table ``Cancellables``.
        private let modeAndTarget: UInt64
        private let slot: TimerSlots.Name

        init(_ name: PerformName, hasTarget: Bool = false) {
            modeAndTarget = name.mode << 1 | (hasTarget ? 1 : 0)
            slot = name.name
        }

        /// Cancels the closure, if it was not called yet.
        ///
        /// - Returns: true if this call cancelled the closure. False if the closure was called, is being called, or was
        ///   cancelled before. Also false if no closure was added, or if the loop's thread has ended.
        ///
        /// Threads: any. The closure is released on the calling thread or, if it belongs to an actor, on that actor. A
        /// target is released on the loop's thread, in the loop's next pass if another thread cancels the closure. The
        /// corresponding GLib function is `g_source_remove`.
        @discardableResult public func cancel() -> Bool {
            guard !Fork.refuses("DelayedPerform.cancel") else { return false }
            let name = PerformName(mode: modeAndTarget >> 1, name: slot)
            return ThreadLoops.withLoop(ofModeNumbered: name.mode) { loop in
                guard loop.removePerform(name) else { return false }
                if modeAndTarget & 1 == 1 { loop.releaseTarget(of: name) }
                return true
            } ?? false
        }
    }

    /// The name of a delayed perform, which is unique in the process.
    package struct PerformName: Hashable, Sendable {
        /// The ``ModeState/number`` of the mode whose heap has the perform's slot; 0 if no closure was added.
        let mode: UInt64
        let name: TimerSlots.Name

        package static var none: PerformName { PerformName(mode: 0, name: TimerSlots.Name(slot: 0, use: 0)) }

        /// Describes a delayed perform for the description of a timer or a mode.
        static func text(isFiring: Bool, ahead: Nanoseconds) -> String {
            "<delayed perform>{firing = \(yesNo(isFiring)), next fire date = \(seconds(ahead)) s from now}"
        }
    }
}

extension ModeState {
    func insert(
        _ body: consuming @escaping TimerSlots.Body, at deadline: Nanoseconds, isCommon: Bool
    ) -> GRunLoop.PerformName {
        timerCount += 1
        return GRunLoop.PerformName(mode: number, name: heap.insert(body, at: deadline, isCommon: isCommon))
    }

    /// Removes the perform with this name from the heap. Returns nil if the perform has already left the heap. The
    /// caller must release the closure or invalidate the timer after unlocking.
    func remove(_ name: TimerHeap.Name) -> TimerHeap.Occupant? {
        let occupant = heap.takeOut(name)
        if case .perform = occupant { timerCount -= 1 }
        return occupant
    }

    /// Puts a timer, which the mode retains, into the slot of a perform's closure.
    func replace(
        _ name: TimerHeap.Name, by makeTimer: (Nanoseconds, @escaping TimerSlots.Body) -> GRunLoop.Timer
    ) -> GRunLoop.Timer {
        let timer = heap.replace(name, in: self) { deadline, body in
            let timer = makeTimer(deadline, body)
            // The timer must store its mode before the heap gives the perform's slot to the timer.
            timer.note(self)
            return timer
        }
        _ = Unmanaged.passRetained(timer)
        return timer
    }
}
