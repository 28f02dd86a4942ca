// SPDX-License-Identifier: Apache-2.0
// Timers: one-shot or repeating on a fixed grid, movable, with a tolerance.

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
        // Guarded by the guardian.
        @exclusivity(unchecked) var deadline: Nanoseconds
        @exclusivity(unchecked) private var handler: Handler?
        @exclusivity(unchecked) var firstMode: Unmanaged<ModeState>?
        // The order of these fields packs the object into 72 bytes, in malloc's class of 80; one byte more costs 96.
        @exclusivity(unchecked) private var more = More.slack(0)
        @exclusivity(unchecked) var isCommonItem = false
        @exclusivity(unchecked) private var valid = true
        @exclusivity(unchecked) private(set) var isFiring = false
        @exclusivity(unchecked) var firstSlot: Int32 = -1

        /// What a timer has beside a date and a mode.
        private enum More {
            case slack(Nanoseconds)
            case extras(TimerExtras)
        }

        /// A struct, because taking a bare closure out of an optional copies and wraps it.
        private struct Handler {
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
                at: ThreadLoops.time, handler: handler)
        }

        /// - Parameter home: where the closure belongs, if that is an actor.
        init(
            date first: Nanoseconds, period span: Nanoseconds, tolerance: Duration, at now: Nanoseconds,
            home: Home? = nil, handler: @escaping @Sendable (Timer) -> Void
        ) {
            deadline = Self.deadline(for: first, at: now)
            self.handler = Handler(body: handler)
            guard span > 0 || tolerance.attoseconds > 0 || deadline != first || home != nil else { return }
            let period = Swift.min(Swift.max(0, span), .longest)
            let slack = Self.slack(for: tolerance, period: period)
            guard span > 0 || deadline != first || home != nil else {
                more = .slack(slack)
                return
            }
            let extras =
                home.map { ConfinedTimerExtras(period: period, slack: slack, home: $0) }
                ?? TimerExtras(period: period, slack: slack)
            if deadline != first { extras.requested = first }
            more = .extras(extras)
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
                interval: interval, startingAt: ThreadLoops.time, repeats: repeats, tolerance: tolerance,
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

        /// Makes a timer and adds it to the current thread's loop, in the default mode.
        ///
        /// - Parameters:
        ///   - interval: see ``init(interval:repeats:tolerance:handler:)``.
        ///   - repeats: false makes a timer that fires once.
        ///   - tolerance: how much later than its date it may fire.
        ///   - handler: called on this thread, when its loop runs. It is released when the timer is invalidated.
        /// - Returns: the timer, which the loop keeps.
        ///
        /// Threads: any. The corresponding Foundation method is
        /// `Timer.scheduledTimer(withTimeInterval:repeats:block:)`.
        @available(*, noasync, message: "an async function has no thread of its own, so no current run loop")
        @discardableResult
        public static func scheduled(
            interval: Duration, repeats: Bool, tolerance: Duration = .zero,
            handler: @escaping @Sendable (Timer) -> Void
        ) -> Timer {
            let timer = Timer(interval: interval, repeats: repeats, tolerance: tolerance, handler: handler)
            GRunLoop.current.add(timer, forMode: .default)
            return timer
        }

        // MARK: Dates

        /// The date of the next fire; of an invalid timer, the last date that it had.
        ///
        /// Setting it moves the timer in all its modes: to fire at once if the date has passed. One that is more than
        /// 16 years ahead fires in 16 years, and is returned as it was given. Inside the timer's own closure it
        /// replaces the next date of the grid; a one-shot timer cannot be moved from there. An invalid timer ignores
        /// it.
        ///
        /// Threads: any; from another one than the loop's own it wakes the loop. The corresponding Core Foundation
        /// functions are `CFRunLoopTimerGetNextFireDate` and `CFRunLoopTimerSetNextFireDate`.
        public var fireDate: Instant {
            get { Fork.refuses("Timer.fireDate") ? GRunLoop.distantFuture : guardian.withLock { requested }.instant }
            set { move(to: Nanoseconds(saturating: newValue)) }
        }

        /// The date of the next fire, nil once the timer is invalid.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetNextFireDate`, which returns 0
        /// then.
        public var nextFireDate: Instant? {
            guard !Fork.refuses("Timer.nextFireDate") else { return nil }
            return guardian.withLock { valid ? requested : nil }?.instant
        }

        /// The distance of the grid's dates: at most 16 years, and zero in a timer that fires once.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetInterval`.
        public var interval: Duration {
            Fork.refuses("Timer.interval") ? .zero : guardian.withLock { period }.duration
        }

        /// Whether the timer has a grid of dates. If not, it fires once and is then invalidated.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerDoesRepeat`.
        public var repeats: Bool { !Fork.refuses("Timer.repeats") && guardian.withLock { period } > 0 }

        /// How much later than its date the timer may fire, so that several wake-ups become one.
        ///
        /// Setting a negative one means none; a repeating timer takes at most half its interval.
        ///
        /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopTimerGetTolerance` and
        /// `CFRunLoopTimerSetTolerance`.
        public var tolerance: Duration {
            get { Fork.refuses("Timer.tolerance") ? .zero : guardian.withLock { slack }.duration }
            set {
                guard !Fork.refuses("Timer.tolerance") else { return }
                let wake = guardian.withLock { () -> Kick? in
                    let wanted = Self.slack(for: newValue, period: period)
                    let change = { self.setSlack(wanted) }
                    if let loop = guardian.loop { return loop.changeLocked(self, change) }
                    change()
                    return nil
                }
                wake?.send()
            }
        }

        // MARK: Validity

        /// False from the call of ``invalidate()`` on, and after the closure of a one-shot timer has returned.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerIsValid`.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { valid } }

        /// Takes the timer out of every mode, for good, and releases its closure. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            guard valid else { return guardian.unlock(held) }
            invalidate(holding: held)
        }

        /// With the timer's guardian held, which this releases.
        @inline(__always) private func invalidate(holding held: Guardian.Held) {
            valid = false
            let released = handler.take()
            let item = held?.owner?._withUnsafeGuaranteedRef { $0.removeEverywhereLocked(self) }
            guardian.unlock(held)
            Self.release(released, item)
        }

        /// Releases them where no lock is held: the deinit of what the closure holds is user code.
        @inline(never) private static func release(_ handler: consuming Handler?, _ item: consuming Item?) {}

        /// Calls the closure now. A repeating timer keeps its dates; a one-shot timer is invalidated. An invalid timer
        /// ignores it.
        ///
        /// Threads: any; the closure is called on this one. The corresponding Foundation method is `Timer.fire()`.
        public func fire() {
            guard !Fork.refuses("Timer.fire") else { return }
            var (body, isOneShot) = guardian.withLock { (valid ? handler?.body : nil, period == 0) }
            guard body != nil else { return }
            callOutToTimer(&body, self, of: nil)
            if isOneShot { invalidate() }
        }

        // MARK: For the loop, which holds its lock

        var isValidLocked: Bool { valid }

        var extras: TimerExtras? {
            if case .extras(let extras) = more { extras } else { nil }
        }

        /// Where the closure belongs, if that is an actor.
        @inline(__always) var homeLocked: Home? {
            if case .extras(let extras) = more, extras.isConfined { confinedHome(extras) } else { nil }
        }

        @inline(never) private func confinedHome(_ extras: TimerExtras) -> Home {
            unsafeDowncast(extras, to: ConfinedTimerExtras.self).home
        }

        private var period: Nanoseconds { extras?.period ?? 0 }

        var slack: Nanoseconds {
            switch more {
            case .slack(let slack): slack
            case .extras(let extras): extras.slack
            }
        }

        private func setSlack(_ slack: Nanoseconds) {
            if let extras { extras.slack = slack } else { more = .slack(slack) }
        }

        /// What `fireDate` returns: a requested date in the past stays readable until the timer fires (item 112).
        private var requested: Nanoseconds { extras?.requested ?? deadline }

        func needExtras() -> TimerExtras {
            if let extras { return extras }
            let made = TimerExtras(slack: slack)
            more = .extras(made)
            return made
        }

        private func setDates(requested date: Nanoseconds, deadline due: Nanoseconds) {
            deadline = due
            if date != due { needExtras().requested = date } else { extras?.requested = nil }
        }

        /// The date that `nextFireDate(forMode:)` shows.
        var shownDateLocked: Nanoseconds { requested }

        /// With the lock held: whether the timer is in the mode, and was due when its batch began, or is due now if it
        /// was moved since.
        @inline(__always) func canFireLocked(in mode: ModeState, of loop: GRunLoop, by limit: Nanoseconds) -> Bool {
            guardian.isBound(to: loop.lock) && valid && isIn(mode) && !isFiring
                && (deadline <= limit || deadline <= loop.time)
        }

        /// With the lock held before and after: calls the closure without it, and computes the next date.
        func fireLocked(of loop: GRunLoop, in frame: Frame) {
            var body = handler?.body
            isFiring = true
            let due = deadline
            let isOneShot = period == 0
            loop.suspendInHeapsLocked(self)
            loop.firing.append(.passUnretained(self))
            loop.unlock(toCall: .passUnretained(self), in: frame)

            callOutToTimer(&body, self, of: loop)

            loop.lock.lock()
            // Always the last one, unless the thread has ended meanwhile.
            if loop.firing.last === self { loop.firing.removeLast() }
            guard guardian.isBound(to: loop.lock) else {
                // Its own closure took it out of the loop, and may have added it to another one: our lock does not
                // guard it any more.
                loop.lock.unlock()
                if isOneShot { invalidate() }
                guardian.withLock { endFiringLocked(due) }?.send()
                return loop.lock.lock()
            }
            if isOneShot {
                endOneShot(holding: loop.lock)
                loop.lock.lock()
            } else {
                loop.sendLocked(endFiringLocked(due))
            }
        }

        /// Ends a timer that fires once. Releases the lock. A function of its own, so that what is taken out of the
        /// timer is released before the caller locks again.
        @inline(never) private func endOneShot(holding lock: Lock) {
            isFiring = false
            invalidate(holding: lock)
        }

        private func endFiringLocked(_ due: Nanoseconds) -> Kick? {
            isFiring = false
            guard valid else { return nil }
            if deadline <= due { advance(from: due) }
            return guardian.loop?.resumeInHeapsLocked(self)
        }

        /// The first date of the grid after now: phase is kept, what was missed is skipped.
        private func advance(from due: Nanoseconds) {
            let dates = missedDatesLocked(since: due).addingSaturating(1)
            let next = due.addingSaturating(dates.multipliedSaturating(by: period))
            setDates(requested: next, deadline: next)
        }

        /// In the closure of a repeating timer: the latest date of its grid that has come.
        var latestDate: Instant {
            guardian.withLock {
                requested.addingSaturating(missedDatesLocked(since: requested).multipliedSaturating(by: period))
            }.instant
        }

        /// How many dates of the grid have come since that one.
        private func missedDatesLocked(since due: Nanoseconds) -> Nanoseconds {
            Swift.max(0, nowLocked.subtractingSaturating(due) / period)
        }

        /// The current time on the clock of the timer's dates.
        fileprivate var nowLocked: Nanoseconds { guardian.loop?.time ?? ThreadLoops.time }

        private func move(to date: Nanoseconds) {
            guard !Fork.refuses("Timer.fireDate") else { return }
            let wake = guardian.withLock { () -> Kick? in
                guard valid else { return nil }
                let due = Self.deadline(for: date, at: nowLocked)
                if let loop = guardian.loop {
                    return loop.moveLocked(self) { setDates(requested: date, deadline: due) }
                }
                setDates(requested: date, deadline: due)
                return nil
            }
            wake?.send()
        }

        private static func deadline(for date: Nanoseconds, at now: Nanoseconds) -> Nanoseconds {
            Swift.min(Swift.max(date, now), now.addingSaturating(.longest))
        }

        private static func slack(for tolerance: Duration, period: Nanoseconds) -> Nanoseconds {
            let wanted = Swift.max(0, Nanoseconds(saturating: tolerance))
            return period > 0 ? Swift.min(wanted, period / 2) : wanted
        }
    }
}

extension GRunLoop.Timer: CustomStringConvertible {
    /// Whether it is valid and firing, its interval, tolerance and next date, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.Timer \(hexAddress(self))>{forked}" }
        let (valid, firing, date, now) = guardian.withLock {
            (isValidLocked, isFiring, shownDateLocked, nowLocked)
        }
        let ahead = seconds(date.subtractingSaturating(now))
        let state =
            "valid = \(yesNo(valid)), firing = \(yesNo(firing)), interval = \(interval), tolerance = \(tolerance)"
        return
            "<GRunLoop.Timer \(hexAddress(self))>{\(state), next fire date = \(ahead) s from now (@ \(date)), callout "
            + "= closure}"
    }
}
