// SPDX-License-Identifier: Apache-2.0
// Timers: one-shot or repeating on a fixed grid, movable, with a tolerance. Their dates: TimerDates.swift; how
// they fire: Timers/TimerStep.swift.

extension GRunLoop {
    /// A closure that is called when a point in time has come.
    ///
    /// A timer never fires before its fire date. One that repeats keeps to its grid: after each fire the next date is
    /// the first one of the grid that lies after the end of the closure; dates that were missed are skipped. With an
    /// interval of 50 ms and a closure that takes 70 ms it fires at 0, 100, 200 ms.
    ///
    /// A timer is in one loop at a time, and in any number of its modes: one due time is one call. While its closure
    /// runs a nested loop, it does not fire there.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopTimer`.
    public final class Timer: @unchecked Sendable {
        let guardian = Guardian()
        // Guarded by the guardian. The order of the fields packs the object into 72 bytes, in malloc's class of 80; one
        // byte more costs 96.
        var handler: Handler?
        var firstMode: Unmanaged<ModeState>?
        @exclusivity(unchecked) var dates: TimerDates
        var isCommonItem = false
        var isValidLocked = true
        var isFiring = false
        var firstSlot: Int32 = -1

        /// A struct, because taking a bare closure out of an optional copies and wraps it.
        struct Handler {
            let body: @Sendable (Timer) -> Void
        }

        /// A timer that fires at a date, and then on the grid of its interval. It is in no loop yet, and may be added
        /// to any.
        ///
        /// - Parameters:
        ///   - fireAt: the first fire date. One in the past means now; one that is more than 16 years ahead fires in 16
        ///     years, and is shown as it was given.
        ///   - interval: the grid of the following dates. Zero or negative: the timer fires once, and is then
        ///     invalidated.
        ///   - tolerance: how much later than its date it may fire, so that several wake-ups become one. Negative means
        ///     none; a repeating timer takes at most half its interval.
        ///   - handler: called on the loop's thread. It is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerCreateWithHandler`.
        public convenience init(
            fireAt: Instant, interval: Duration = .zero, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                date: Nanoseconds(saturating: fireAt), period: Nanoseconds(saturating: interval), tolerance: tolerance,
                at: GRunLoop.owner.timeHere, handler: handler)
        }

        /// - Parameter home: where the closure belongs, if that is an actor.
        init(
            date first: Nanoseconds, period span: Nanoseconds, tolerance: Duration, at now: Nanoseconds,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            dates = TimerDates(first: first, period: span, tolerance: tolerance, at: now, home: home)
            self.handler = Handler(body: handler)
        }

        /// A timer whose first fire is `interval` from now. It is in no loop yet, and may be added to any.
        ///
        /// - Parameters:
        ///   - interval: in a timer that repeats, zero and less mean 0.1 ms; in one that fires once, they mean now.
        ///     More than 16 years mean 16 years.
        ///   - repeats: false makes a timer that fires once.
        ///   - tolerance: how much later than its date it may fire. Negative means none; a repeating timer takes at
        ///     most half its interval.
        ///   - handler: called on the loop's thread. It is released when the timer is invalidated.
        ///
        /// Threads: any. The corresponding Foundation initializer is `Timer(timeInterval:repeats:block:)`.
        public convenience init(
            interval: Duration, repeats: Bool, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) {
            self.init(
                interval: interval, startingAt: GRunLoop.owner.timeHere, repeats: repeats, tolerance: tolerance,
                handler: handler)
        }

        /// - Parameter start: the present, or a moment ago.
        convenience init(
            interval: Duration, startingAt start: Nanoseconds, repeats: Bool = true, tolerance: Duration,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            let wanted = Nanoseconds(saturating: interval)
            let span = repeats && wanted <= 0 ? 100_000 : wanted
            self.init(
                date: start.addingSaturating(span), period: repeats ? span : 0, tolerance: tolerance, at: start,
                home: home, handler: handler)
        }

        // MARK: Validity

        /// False from the call of ``invalidate()`` on, and after the closure of a one-shot timer has returned.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Takes the timer out of every mode, for good, and releases its closure. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            invalidate(holding: guardian.lock())
        }

        /// With the timer's guardian held, which this releases.
        func invalidate(holding held: Guardian.Held) {
            let released = endLocked(held) ? handler.take() : nil
            guardian.unlock(held)
            Self.release(released)
        }

        /// Releases it where no lock is held: the deinit of what the closure holds is user code.
        @inline(never) private static func release(_ handler: consuming Handler?) {}
    }
}

// MARK: How it joins and leaves modes, and its slot in the heap of each

/// Modes live as long as their loop, and are neither retained nor released here.
extension GRunLoop.Timer: ModeItem {
    static var kind: StaticString { "Timer" }
    var asItem: Item { .timer(self) }
    var homeLocked: Home? { dates.home }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) {
        mode.insert(self)
        effects.kick.merge(loop.owner.rearmLocked(mode))
    }

    func leave(_ mode: ModeState, _ effects: inout Effects) { mode.remove(self) }

    /// The timer begins to fire: it stays in its modes, and a nested run does not see it.
    func beginFiring() {
        isFiring = true
        forEachMode { mode in
            mode.takeOut(self)
            mode.noteFiring(self)
        }
    }

    /// The timer has fired. The caller returns it to its heaps if it is valid.
    func stopFiring() {
        isFiring = false
        forEachMode { $0.noteFired(self) }
    }

    /// The timer begins to move.
    func leaveHeaps() { forEachMode { $0.takeOut(self) } }

    /// The timer has fired, or moved: it is behind those of the same deadline.
    func returnToHeaps(of loop: GRunLoop) -> Kick? {
        var kick: Kick?
        forEachMode { mode in
            mode.heap.insert(self, in: mode)
            kick.merge(loop.owner.rearmLocked(mode))
        }
        return kick
    }

    private var extras: TimerExtras? { dates.extras }
    var isPerformLocked: Bool { extras?.isPerform ?? false }

    /// Nearly all timers are in one mode, and need no array.
    private func forEachMode(_ body: (ModeState) -> Void) {
        if let firstMode { firstMode._withUnsafeGuaranteedRef(body) }
        extras?.others?.forEach { $0.modeOfPlace._withUnsafeGuaranteedRef(body) }
    }

    func isIn(_ mode: ModeState) -> Bool {
        isFirst(mode) || extras?.others?[mode] != nil
    }

    /// Its slot in the mode's heap. -1 while it is firing: then the mode's list of firing timers has it.
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
            dates.needExtras().add(TimerExtras.Slot(modeOfPlace: .passUnretained(mode), slot: -1))
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

    // Not inlined, because most timers are added and cancelled while they do not fire.

    @inline(never) func noteFiring(_ timer: GRunLoop.Timer) { firing.append(.passUnretained(timer)) }

    @inline(never) func noteFired(_ timer: GRunLoop.Timer) {
        // The last one, unless another loop's thread calls it.
        if firing.last === timer { firing.removeLast() } else { firing.removeAll { $0 === timer } }
    }
}

/// What few timers need: a grid, a fire date other than the deadline, several modes. Made when needed, so that other
/// timers stay small. Guarded as the timer is.
class TimerExtras {
    struct Slot: Place {
        let modeOfPlace: Unmanaged<ModeState>
        let slot: Int32
    }

    /// 0 in a timer that fires once.
    let period: Nanoseconds
    var slack: Nanoseconds
    /// What `fireDate` returns, if it is not the deadline.
    var requested: Nanoseconds?
    /// Whether it is a ``ConfinedTimerExtras``: in a byte that is there anyway.
    let isConfined: Bool
    /// It stands for a delayed perform: the program does not know it.
    var isPerform = false
    /// The modes but the first.
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

/// Of a timer whose closure belongs to an actor.
final class ConfinedTimerExtras: TimerExtras {
    let home: Home

    init(period: Nanoseconds, slack: Nanoseconds, home: Home) {
        self.home = home
        super.init(period: period, slack: slack, isConfined: true)
    }
}

extension GRunLoop.Timer: CustomStringConvertible {
    /// Whether it is valid and firing, its interval, tolerance and next date, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Timer \(hexAddress(self))>{forked}" }
        let (valid, firing, date, now, isPerform) = guardian.withLock {
            (isValidLocked, isFiring, dates.requested, nowLocked, isPerformLocked)
        }
        if isPerform {
            return GRunLoop.DelayedPerform.text(isFiring: firing, ahead: date.subtractingSaturating(now))
        }
        let ahead = seconds(date.subtractingSaturating(now))
        let state =
            "valid = \(yesNo(valid)), firing = \(yesNo(firing)), interval = \(interval), tolerance = \(tolerance)"
        return
            "<GRunLoop.Timer \(hexAddress(self))>{\(facts(of: self))\(state), next fire date = \(ahead) s from "
            + "now (@ \(date)), callout = closure}"
    }
}
