// SPDX-License-Identifier: Apache-2.0
// One-shot and repeating timers. The code in TimerDates.swift computes their dates, and the code in TimerStep.swift
// fires them.

extension GRunLoop {
    /// A closure that a run loop calls at a date, or repeatedly at an interval.
    ///
    /// A timer never fires before its fire date. A repeating timer has a grid of dates, one interval apart. After the
    /// closure has returned, the timer's next date is the first later date of the grid. Missed dates are skipped. With
    /// an interval of 50 ms and a closure that takes 70 ms, a timer fires at 0, 100 and 200 ms.
    ///
    /// A timer is in one loop at a time, and in any number of the loop's modes. Even if the timer is in several modes,
    /// it fires only once for a date. If the timer's closure starts a nested run, the timer does not fire in that run.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopTimer`.
    public final class Timer: @unchecked Sendable {
        let guardian = Guardian()
        // Guarded by the guardian. With the properties in this order, the object takes 72 bytes, for which malloc uses
        // 80. With one byte more, malloc would use 96.
        var handler: Handler?
        var firstMode: Unmanaged<ModeState>?
        @exclusivity(unchecked) var dates: TimerDates
        var isCommonItem = false
        var isValidLocked = true
        var isFiring = false
        var firstSlot: Int32 = -1

        /// This is a struct, because taking a bare closure out of an optional would copy and wrap the closure.
        struct Handler {
            let body: @Sendable (Timer) -> Void
        }

        /// Creates a timer that fires at a date and, if it repeats, at the later dates of its grid. The timer is in no
        /// loop yet, and can be added to any loop.
        ///
        /// - Parameters:
        ///   - fireAt: the first fire date. A date in the past means now, and a date more than 16 years ahead means in
        ///     16 years. In both cases ``fireDate`` returns the given date.
        ///   - interval: the time between two dates of the grid. If it is zero or negative, the timer fires once and is
        ///     then invalidated.
        ///   - tolerance: how much later than its date the timer may fire, so that several wake-ups become one.
        ///     Negative values mean no tolerance. In a repeating timer, the tolerance is at most half the interval.
        ///   - handler: a closure that is called on the loop's thread. A call of ``fire()`` calls the closure on the
        ///     calling thread. The closure is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerCreateWithHandler`.
        public convenience init(
            fireAt: Instant, interval: Duration = .zero, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
                at: ThreadLoops.time, handler: handler)
        }

        /// - Parameter home: the home of the actor that owns the closure; nil if no actor owns the closure.
        init(
            date first: Nanoseconds, period span: Nanoseconds, tolerance: Duration, at now: Nanoseconds,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            dates = TimerDates(first: first, period: span, tolerance: tolerance, at: now, home: home)
            self.handler = Handler(body: handler)
        }

        /// Creates a timer that first fires after `interval`, or after `delay` if `delay` is given. The timer is in no
        /// loop yet, and can be added to any loop. `interval` and `delay` count on the clock of the calling thread's
        /// loop.
        ///
        /// - Parameters:
        ///   - interval: the time until the first fire and, in a repeating timer, between two dates. Zero and negative
        ///     values mean 0.1 ms in a repeating timer, and now in a one-shot timer. More than 16 years means 16 years.
        ///   - repeats: false makes a one-shot timer.
        ///   - delay: the time until the first fire, if it differs from `interval`. Zero and negative values mean now.
        ///   - tolerance: how much later than its date the timer may fire. Negative values mean no tolerance. In a
        ///     repeating timer, the tolerance is at most half the interval.
        ///   - handler: a closure that is called on the loop's thread. A call of ``fire()`` calls the closure on the
        ///     calling thread. The closure is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Foundation initializer is `Timer(timeInterval:repeats:block:)`.
        public convenience init(
            interval: Duration, repeats: Bool, after delay: Duration? = nil, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                interval: interval, after: delay, startingAt: ThreadLoops.time, repeats: repeats,
                tolerance: tolerance, handler: handler)
        }

        /// - Parameter start: the time from which `interval` or `delay` counts: the current time, or a time shortly
        ///   before it.
        convenience init(
            interval: Duration, after delay: Duration? = nil, startingAt start: Nanoseconds, repeats: Bool = true,
            tolerance: Duration, home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            let wanted = Nanoseconds(saturating: interval)
            let span = repeats && wanted <= 0 ? 100_000 : wanted
            let first = delay.map { Nanoseconds(saturating: $0) } ?? span
            self.init(
                date: start.addingSaturating(first), period: repeats ? span : 0, tolerance: tolerance, at: start,
                home: home, handler: handler)
        }

        // MARK: Validity

        /// Whether the timer is valid. False after ``invalidate()`` was called, after the closure of a one-shot timer
        /// has returned, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the timer from every mode, permanently, and releases its closure. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            invalidate(holding: guardian.lock())
        }

        /// Invalidates the timer. The caller holds the guardian, and this call releases the guardian.
        func invalidate(holding held: Guardian.Held) {
            let released = endLocked(held) ? handler.take() : nil
            guardian.unlock(held)
            Self.release(released)
        }

        /// Releases the closure. Call this function without a lock, because the release may run a deinit, which is user
        /// code.
        @inline(never) private static func release(_ handler: consuming Handler?) {}
    }
}

// MARK: Joining and leaving modes, and the slot in the heap of each mode

/// A timer does not retain its modes, because modes live as long as their loop.
extension GRunLoop.Timer: ModeItem {
    /// Adds the timer to a mode, removes it, or returns whether it is in the mode: see
    /// ``GRunLoop/Item/carryOut(_:of:forMode:)``. Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) -> Bool {
        carryOut(operation, loop, mode)
    }

    static var kind: StaticString { "Timer" }
    var asCommonItem: CommonItem { .timer(self) }
    var homeLocked: Home? { dates.home }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) {
        mode.insert(self)
        effects.kick.merge(loop.rearmLocked(mode))
    }

    func leave(_ mode: ModeState, _ effects: inout DeferredEffects) { mode.remove(self) }

    /// Marks the timer as firing. Removes it from every heap, so that a nested run does not fire it. The timer stays in
    /// its modes.
    func beginFiring() {
        isFiring = true
        forEachMode { mode in
            mode.takeOut(self)
            mode.noteFiring(self)
        }
    }

    /// Marks the timer as no longer firing. If the timer is valid, the caller returns it to its heaps.
    func stopFiring() {
        isFiring = false
        forEachMode { $0.noteFired(self) }
    }

    /// Removes the timer from every heap. Call this function before the timer's dates change.
    func leaveHeaps() { forEachMode { $0.takeOut(self) } }

    /// Inserts the timer into the heap of each of its modes, after it has fired or was moved to another date. The timer
    /// then fires after the other timers with the same deadline. If the loop's current sleep would last too long,
    /// returns a kick that ends the sleep.
    func returnToHeaps(of loop: GRunLoop) -> Kick? {
        var kick: Kick?
        forEachMode { mode in
            mode.heap.insert(self, in: mode)
            kick.merge(loop.rearmLocked(mode))
        }
        return kick
    }

    private var extras: TimerExtras? { dates.extras }
    var isPerformLocked: Bool { extras?.isPerform ?? false }

    /// Calls `body` with each of the timer's modes. Nearly all timers are in one mode, and then no array is needed.
    private func forEachMode(_ body: (ModeState) -> Void) {
        if let firstMode { firstMode._withUnsafeGuaranteedRef(body) }
        extras?.others?.forEach { $0.modeOfPlace._withUnsafeGuaranteedRef(body) }
    }

    func isIn(_ mode: ModeState) -> Bool {
        isFirst(mode) || extras?.others?[mode] != nil
    }

    /// The timer's slot in the mode's heap; -1 if the timer is not in the heap. A firing timer is in the mode's
    /// `firing` list instead.
    @inline(__always) func slot(in mode: ModeState) -> Int {
        Int(isFirst(mode) ? firstSlot : otherSlot(in: mode))
    }

    @inline(never) private func otherSlot(in mode: ModeState) -> Int32 { extras?.others?[mode]?.slot ?? -1 }

    @inline(__always) func setSlot(_ slot: Int, in mode: ModeState) {
        let slot = Int32(truncatingIfNeeded: slot)
        if isFirst(mode) { firstSlot = slot } else { setOther(slot, in: mode) }
    }

    func note(_ mode: ModeState) {
        if firstMode == nil {
            firstMode = .passUnretained(mode)
        } else {
            dates.makeExtrasIfNeeded().add(TimerExtras.Slot(modeOfPlace: .passUnretained(mode), slot: -1))
        }
    }

    @inline(__always) func forget(_ mode: ModeState) {
        if extras != nil { return forgetOneOfSeveral(mode) }
        firstMode = nil
        firstSlot = -1
    }

    @inline(never) private func forgetOneOfSeveral(_ mode: ModeState) {
        if !isFirst(mode) {
            _ = extras?.others?.remove(mode)
        } else {
            let next = extras?.others?.removeNext()
            firstMode = next?.modeOfPlace
            firstSlot = next?.slot ?? -1
        }
    }

    @inline(__always) private func isFirst(_ mode: ModeState) -> Bool {
        firstMode === mode
    }

    @inline(never) private func setOther(_ slot: Int32, in mode: ModeState) {
        extras?.others?[mode] = TimerExtras.Slot(modeOfPlace: .passUnretained(mode), slot: slot)
    }
}

extension ModeState {
    func insert(_ timer: GRunLoop.Timer) {
        timerCount += 1
        _ = Unmanaged.passRetained(timer)
        timer.note(self)
        if timer.isFiring { noteFiring(timer) } else { heap.insert(timer, in: self) }
    }

    func remove(_ timer: GRunLoop.Timer) {
        timerCount -= 1
        takeOut(timer)
        if timer.isFiring { noteFired(timer) }
        timer.forget(self)
        Unmanaged.passUnretained(timer).release()
    }

    @inline(__always) func takeOut(_ timer: GRunLoop.Timer) {
        let slot = timer.slot(in: self)
        if slot >= 0 { heap.remove(timer, from: slot, in: self) }
    }

    // These two functions are not inlined, so that `insert` and `remove` stay small. Few timers join or leave a mode
    // while they fire.

    @inline(never) func noteFiring(_ timer: GRunLoop.Timer) { firing.append(.passUnretained(timer)) }

    @inline(never) func noteFired(_ timer: GRunLoop.Timer) {
        // Usually the timer is at the end of the list. If its closure has moved the timer to another loop, the thread
        // of that loop may have appended other timers.
        if firing.last === timer { firing.removeLast() } else { firing.removeAll { $0 === timer } }
    }
}

/// The parts of a timer that few timers need, such as a grid, several modes, or a fire date other than the deadline.
/// The object is made when it is first needed, so that other timers stay small. Guarded by the timer's guardian.
class TimerExtras {
    struct Slot: Place {
        let modeOfPlace: Unmanaged<ModeState>
        let slot: Int32
    }

    let period: Nanoseconds
    var slack: Nanoseconds
    /// The date that `fireDate` returns, if it is not the deadline; otherwise nil.
    var requested: Nanoseconds?
    /// Whether this object is a ``ConfinedTimerExtras``. The flag is in a byte of padding, so it costs no memory.
    let isConfined: Bool
    /// Whether the timer represents a delayed perform. The program has no reference to a timer of this kind.
    var isPerform = false
    /// The timer's modes except the first mode, with the timer's slot in the heap of each mode.
    @exclusivity(unchecked) private(set) var others: OtherPlaces<Slot>?

    init(period: Nanoseconds = 0, slack: Nanoseconds, isConfined: Bool = false) {
        self.period = period
        self.slack = slack
        self.isConfined = isConfined
    }

    func add(_ slot: Slot) {
        if let others { others.add(slot) } else { others = OtherPlaces(slot) }
    }
}

final class ConfinedTimerExtras: TimerExtras {
    let home: Home

    init(period: Nanoseconds, slack: Nanoseconds, home: Home) {
        self.home = home
        super.init(period: period, slack: slack, isConfined: true)
    }
}

extension GRunLoop.Timer: CustomStringConvertible {
    /// Describes the timer for people: whether it is valid and firing, its interval, its tolerance and its next fire
    /// date. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Timer \(hexAddress(self))>{forked}" }
        let (valid, firing, date, now, isPerform) = guardian.withLock {
            (isValidLocked, isFiring, dates.requested, nowLocked, isPerformLocked)
        }
        if isPerform {
            return GRunLoop.PerformName.text(isFiring: firing, ahead: date.subtractingSaturating(now))
        }
        let ahead = seconds(date.subtractingSaturating(now))
        let state =
            "valid = \(yesNo(valid)), firing = \(yesNo(firing)), interval = \(interval), tolerance = \(tolerance)"
        return
            "<GRunLoop.Timer \(hexAddress(self))>{\(facts(of: self))\(state), next fire date = \(ahead) s from "
            + "now (@ \(date)), callout = closure}"
    }
}
