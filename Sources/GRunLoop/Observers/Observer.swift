// SPDX-License-Identifier: Apache-2.0
// Observers: closures that are called at the stages of a run.

extension GRunLoop {
    /// A closure that is called at chosen stages of a run, in the modes that contain the observer.
    ///
    /// An observer can be in one loop at a time, and in any number of that loop's modes. An observer does not keep a
    /// run from finishing. If the closure starts a nested run, the observer is not called in that run.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopObserver`.
    public final class Observer: @unchecked Sendable {
        /// The stages at which the observer is called.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverGetActivities`.
        public let activities: Activity
        /// Whether the observer is called repeatedly. If false, the observer is called once and then invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverDoesRepeat`.
        public let repeats: Bool
        /// The order of the observer. Observers are called in ascending order, and observers of equal order in the
        /// order in which they were added.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverGetOrder`.
        public let order: Int

        /// The home of the actor that owns the closure; nil if no actor owns the closure.
        let homeLocked: Home?
        let guardian = Guardian()
        // Guarded by the guardian.
        @exclusivity(unchecked) private var places = Places<ObserverPlace>()
        var isCommonItem = false
        var isValidLocked = true
        var firing = false
        var handler: (@Sendable (Observer, Activity) -> Void)?

        /// Creates an observer that is in no loop yet, and can be added to any loop.
        ///
        /// - Parameters:
        ///   - activities: the stages at which the observer is called.
        ///   - repeats: if false, the observer is called once, at the first stage that matches, and then invalidated.
        ///   - order: observers of a lower order are called first.
        ///   - handler: a closure that is called on the loop's thread. It is released when the observer is invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverCreateWithHandler`.
        public convenience init(
            activities: Activity, repeats: Bool = true, order: Int = 0,
            handler: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.init(activities, repeats, order, home: nil, handler)
        }

        init(
            _ activities: Activity, _ repeats: Bool, _ order: Int, home: Home?,
            _ handler: @escaping @Sendable (Observer, Activity) -> Void
        ) {
            self.activities = activities
            self.repeats = repeats
            self.order = order
            homeLocked = home
            self.handler = handler
        }

        /// Whether the observer is valid. False after ``invalidate()`` was called, after the only call of an observer
        /// that does not repeat, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the observer from every mode, permanently, and releases its closure. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopObserverInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            let released = endLocked(held) ? handler.take() : nil
            guardian.unlock(held)
            // The closure is released after the guardian is unlocked, because the deinit of a captured object is user
            // code.
            withExtendedLifetime(released) {}
        }

        // MARK: For the loop, which holds its lock

        var canBeCalledLocked: Bool { isValidLocked && !firing }
    }
}

extension GRunLoop.Observer: ModeItem {
    /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``. Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) -> Bool {
        carryOut(operation, loop, mode)
    }

    static var kind: StaticString { "Observer" }
    var asCommonItem: CommonItem { .observer(self) }
    var firstMode: Unmanaged<ModeState>? { places.first }

    func isIn(_ mode: ModeState) -> Bool { places.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) {
        places.add(ObserverPlace(modeOfPlace: .passUnretained(mode), number: mode.observers.insert(self)))
        mode.noteObserved()
    }

    func leave(_ mode: ModeState, _ effects: inout DeferredEffects) {
        guard let place = places.remove(mode) else { return }
        mode.observers.remove(self, place.number)
        mode.noteObserved()
    }
}

extension ModeState {
    func noteObserved() {
        observed = hasIdleWork ? observers.activities.union(.beforeWaiting) : observers.activities
    }
}

extension GRunLoop.Observer: CustomStringConvertible {
    /// A text for people: whether the observer is valid, its activities and its order. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.Observer \(hexAddress(self))>{\(facts(of: self))valid = \(yesNo(isValid)), "
            + "activities = 0x" + String(activities.rawValue, radix: 16)
            + ", repeats = \(yesNo(repeats)), order = \(order), callout = closure}"
    }
}
