// SPDX-License-Identifier: Apache-2.0
// The token of a delayed perform, its name, and how a delayed perform joins and leaves a mode.

extension GRunLoop {
    /// The token of a closure that ``GRunLoop/perform(after:_:)`` or ``GRunLoop/perform(after:inModes:target:key:_:)``
    /// has added: ``cancel()`` cancels the closure.
    ///
    /// It retains the loop, and not the closure. Each delayed perform of the process has a unique token. Calls that add
    /// no closure all return the same token.
    ///
    /// Threads: any. The corresponding GLib type is the number that `g_timeout_add` returns. Foundation has no such
    /// type: it cancels by target, selector and object.
    public struct DelayedPerform: Hashable, Sendable {
        let name: PerformName
        private let owner: Owner

        /// - Parameter hasTarget: whether the loop's table of targets has the perform.
        init(_ name: PerformName, of loop: GRunLoop, hasTarget: Bool = false) {
            self.name = name
            owner = Owner(loop: loop, hasTarget: hasTarget)
        }

        /// Cancels the closure, if it was not called yet.
        ///
        /// - Returns: true if the closure was cancelled; false if it was called, is being called, or was cancelled
        ///   before, however long ago that was. False, too, if no closure was added, or if the loop's thread has ended.
        ///
        /// Threads: any. The closure is released on the calling thread, or on its actor if it belongs to one. The
        /// corresponding GLib function is `g_source_remove`.
        @discardableResult public func cancel() -> Bool {
            guard !Fork.refuses("DelayedPerform.cancel"), owner.loop.removePerform(name) else { return false }
            if owner.hasTarget { owner.loop.releaseTarget(of: name) }
            return true
        }

        /// The loop that has the perform. It does not count when tokens are compared, because the name is unique.
        private struct Owner: Hashable {
            let loop: GRunLoop
            let hasTarget: Bool

            static func == (one: Owner, other: Owner) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
    }

    /// The name of a delayed perform, which no other perform of the process ever has.
    package struct PerformName: Hashable, Sendable {
        /// The ``ModeState/number`` of the mode whose heap has the perform's slot; 0 if no closure was added.
        let mode: UInt64
        let name: TimerSlots.Name

        package static var none: PerformName { PerformName(mode: 0, name: TimerSlots.Name(slot: 0, use: 0)) }

        /// Describes a delayed perform, in the descriptions of timers and modes.
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
