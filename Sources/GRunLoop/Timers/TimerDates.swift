// SPDX-License-Identifier: Apache-2.0
// The dates of a timer: its next date, its grid and its tolerance.

/// The next date of a timer, and the data from which the later dates are computed. Guarded by the timer's guardian.
struct TimerDates {
    /// The time at which the timer becomes due.
    var deadline: Nanoseconds
    private var more = More.slack(0)

    private enum More {
        case slack(Nanoseconds)
        case extras(TimerExtras)
    }

    /// - Parameter home: the home of the actor that owns the timer's closure; nil if no actor owns the closure.
    init(
        first: Nanoseconds, period span: Nanoseconds, tolerance: Duration, at now: Nanoseconds, home: Home?
    ) {
        deadline = Self.deadline(for: first, at: now)
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

    var extras: TimerExtras? {
        if case .extras(let extras) = more { extras } else { nil }
    }

    var home: Home? {
        if case .extras(let extras) = more, extras.isConfined { confinedHome(extras) } else { nil }
    }

    private func confinedHome(_ extras: TimerExtras) -> Home {
        unsafeDowncast(extras, to: ConfinedTimerExtras.self).home
    }

    mutating func makeExtrasIfNeeded() -> TimerExtras {
        if let extras { return extras }
        let made = TimerExtras(slack: slack)
        more = .extras(made)
        return made
    }

    /// The time between two dates of the grid; 0 in a one-shot timer.
    var period: Nanoseconds { extras?.period ?? 0 }

    /// How much later than its date the timer may fire.
    var slack: Nanoseconds {
        switch more {
        case .slack(let slack): slack
        case .extras(let extras): extras.slack
        }
    }

    mutating func setTolerance(_ tolerance: Duration) {
        let slack = Self.slack(for: tolerance, period: period)
        if let extras { extras.slack = slack } else { more = .slack(slack) }
    }

    /// The date that `fireDate` returns. If the program has set a date in the past, this date stays readable until the
    /// timer has fired (item 112).
    var requested: Nanoseconds { extras?.requested ?? deadline }

    mutating func move(to date: Nanoseconds, at now: Nanoseconds) {
        deadline = Self.deadline(for: date, at: now)
        if date != deadline { makeExtrasIfNeeded().requested = date } else { extras?.requested = nil }
    }

    /// Moves the deadline to the first date of the grid after `now`. So missed dates are skipped.
    mutating func advance(from due: Nanoseconds, at now: Nanoseconds) {
        let dates = missed(since: due, at: now).addingSaturating(1)
        deadline = due.addingSaturating(dates.multipliedSaturating(by: period))
        extras?.requested = nil
    }

    /// The latest date of the grid that has passed.
    func latest(at now: Nanoseconds) -> Nanoseconds {
        requested.addingSaturating(missed(since: requested, at: now).multipliedSaturating(by: period))
    }

    /// How many dates of the grid after `due` have passed.
    private func missed(since due: Nanoseconds, at now: Nanoseconds) -> Nanoseconds {
        Swift.max(0, now.subtractingSaturating(due) / period)
    }

    private static func deadline(for date: Nanoseconds, at now: Nanoseconds) -> Nanoseconds {
        Swift.min(Swift.max(date, now), now.addingSaturating(.longest))
    }

    private static func slack(for tolerance: Duration, period: Nanoseconds) -> Nanoseconds {
        let wanted = Swift.max(0, Nanoseconds(saturating: tolerance))
        return period > 0 ? Swift.min(wanted, period / 2) : wanted
    }
}

extension GRunLoop.Timer {
    /// The timer's next fire date; in an invalid timer, the last date that it had.
    ///
    /// Setting the date moves the timer in all its modes. To make the timer fire after a delay, call
    /// ``schedule(after:)``. The later dates of a repeating timer follow the new date at the timer's interval. If the
    /// new date has passed, the timer is due immediately. If the new date is more than 16 years ahead, the timer fires
    /// in 16 years, but the property returns the given date.
    ///
    /// Inside the timer's own closure, the new date replaces the next date of the grid. A one-shot timer cannot be
    /// moved inside its own closure. An invalid timer ignores the new date.
    ///
    /// Threads: any. If a thread other than the loop's thread sets the date, the loop wakes up. The corresponding Core
    /// Foundation functions are `CFRunLoopTimerGetNextFireDate` and `CFRunLoopTimerSetNextFireDate`.
    public var fireDate: GRunLoop.Instant {
        get { Fork.refuses("Timer.fireDate") ? GRunLoop.distantFuture : guardian.withLock { dates.requested }.instant }
        set {
            let date = Nanoseconds(saturating: newValue)
            move { _ in date }
        }
    }

    /// Moves the timer in all its modes, so that it fires after `delay`. The delay is measured on the clock of the
    /// timer's loop or, if the timer is in no loop, of the calling thread's loop. So the caller need not read a clock,
    /// even in virtual time. Except for that, the call works like setting ``fireDate``. A one-shot timer cannot be
    /// moved inside its own closure: call ``GRunLoop/perform(after:_:)`` there instead.
    ///
    /// - Parameter delay: the time until the next fire. Zero and negative values mean that the timer is due
    ///   immediately. 16 years and more mean 16 years.
    ///
    /// Threads: any. If a thread other than the loop's thread calls this function, the loop wakes up. The corresponding
    /// Core Foundation function is `CFRunLoopTimerSetNextFireDate`.
    public func schedule(after delay: Duration) {
        let span = Nanoseconds(ahead: delay)
        move { now in now.addingSaturating(span) }
    }

    /// The timer's next fire date; nil once the timer is invalid. Threads: any.
    package var validFireDate: GRunLoop.Instant? {
        guard !Fork.refuses("Timer.fireDate") else { return nil }
        return guardian.withLock { isValidLocked ? dates.requested : nil }?.instant
    }

    /// The time between two dates of the timer's grid: at most 16 years, and zero in a one-shot timer.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetInterval`.
    public var interval: Duration {
        Fork.refuses("Timer.interval") ? .zero : guardian.withLock { dates.period }.duration
    }

    /// Whether the timer repeats. If it does not, it fires once and is then invalidated.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerDoesRepeat`.
    public var repeats: Bool { !Fork.refuses("Timer.repeats") && guardian.withLock { dates.period } > 0 }

    /// How much later than its date the timer may fire, so that several wake-ups become one. Zero means no tolerance.
    ///
    /// A negative value is set as zero. In a repeating timer, the tolerance is at most half the interval.
    ///
    /// Threads: any. The corresponding Core Foundation functions are `CFRunLoopTimerGetTolerance` and
    /// `CFRunLoopTimerSetTolerance`.
    public var tolerance: Duration {
        get { Fork.refuses("Timer.tolerance") ? .zero : guardian.withLock { dates.slack }.duration }
        set {
            guard !Fork.refuses("Timer.tolerance") else { return }
            guardian.withLock { changeLocked { $0.setTolerance(newValue) } }?.send()
        }
    }

    /// Moves the timer to the date that `date` returns. The closure `date` gets the current time (`nowLocked`), and is
    /// called with the guardian held.
    private func move(to date: (Nanoseconds) -> Nanoseconds) {
        guard !Fork.refuses("Timer.fireDate") else { return }
        let kick = guardian.withLock { () -> Kick? in
            guard isValidLocked else { return nil }
            // The new date of a firing timer must be later than the date of the current fire. Otherwise the end of the
            // firing would replace the new date with a date of the grid. In virtual time, both dates can be now, so 1
            // ns is added.
            let now = nowLocked
            let earliest = isFiring ? now.addingSaturating(1) : now
            var kick = changeLocked { $0.move(to: date(now), at: earliest) }
            // If a thread other than the loop's thread sets the date, also wakes the loop (item 77).
            if let loop = guardian.loop { kick.merge(loop.wakeUpIfElsewhereLocked()) }
            return kick
        }
        kick?.send()
    }

    /// Changes the dates, and moves the timer to its new place in every heap. A timer that is firing or in no loop is
    /// in no heap, so only its dates change.
    private func changeLocked(_ change: (inout TimerDates) -> Void) -> Kick? {
        guard let loop = guardian.loop, !isFiring else {
            change(&dates)
            return nil
        }
        leaveHeaps()
        change(&dates)
        return returnToHeaps(of: loop)
    }

    /// The latest date of the grid that has passed. Read it inside the closure of a repeating timer.
    var latestDate: GRunLoop.Instant { guardian.withLock { dates.latest(at: nowLocked) }.instant }

    /// The time on the clock of the timer's loop or, if the timer is in no loop, of the calling thread's loop.
    var nowLocked: Nanoseconds { guardian.loop?.time ?? ThreadLoops.time }
}
