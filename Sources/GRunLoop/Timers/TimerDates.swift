// SPDX-License-Identifier: Apache-2.0
// When a timer fires: its dates, its grid, its tolerance.

/// Guarded as the timer is.
struct TimerDates {
    /// From when on the timer is due.
    var deadline: Nanoseconds
    private var more = More.slack(0)

    private enum More {
        case slack(Nanoseconds)
        case extras(TimerExtras)
    }

    /// - Parameter home: where the timer's closure belongs, if that is an actor.
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

    /// What few timers have.
    var extras: TimerExtras? {
        if case .extras(let extras) = more { extras } else { nil }
    }

    /// Where the timer's closure belongs, if that is an actor.
    var home: Home? {
        if case .extras(let extras) = more, extras.isConfined { confinedHome(extras) } else { nil }
    }

    private func confinedHome(_ extras: TimerExtras) -> Home {
        unsafeDowncast(extras, to: ConfinedTimerExtras.self).home
    }

    mutating func needExtras() -> TimerExtras {
        if let extras { return extras }
        let made = TimerExtras(slack: slack)
        more = .extras(made)
        return made
    }

    /// 0 if the timer fires once.
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

    /// What `fireDate` returns: a requested date in the past stays readable until the timer fires (item 112).
    var requested: Nanoseconds { extras?.requested ?? deadline }

    mutating func move(to date: Nanoseconds, at now: Nanoseconds) {
        deadline = Self.deadline(for: date, at: now)
        if date != deadline { needExtras().requested = date } else { extras?.requested = nil }
    }

    /// The first date of the grid after now: phase is kept, what was missed is skipped.
    mutating func advance(from due: Nanoseconds, at now: Nanoseconds) {
        let dates = missed(since: due, at: now).addingSaturating(1)
        deadline = due.addingSaturating(dates.multipliedSaturating(by: period))
        extras?.requested = nil
    }

    /// The latest date of the grid that has come.
    func latest(at now: Nanoseconds) -> Nanoseconds {
        requested.addingSaturating(missed(since: requested, at: now).multipliedSaturating(by: period))
    }

    /// How many dates of the grid have come since that one.
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
    /// The date of the next fire; of an invalid timer, the last date that it had.
    ///
    /// Setting it moves the timer in all its modes: to fire at once if the date has passed. One that is more than
    /// 16 years ahead fires in 16 years, and is returned as it was given. Inside the timer's own closure it
    /// replaces the next date of the grid; a one-shot timer cannot be moved from there. An invalid timer ignores
    /// it.
    ///
    /// Threads: any; from another one than the loop's own it wakes the loop. The corresponding Core Foundation
    /// functions are `CFRunLoopTimerGetNextFireDate` and `CFRunLoopTimerSetNextFireDate`.
    public var fireDate: GRunLoop.Instant {
        get { Fork.refuses("Timer.fireDate") ? GRunLoop.distantFuture : guardian.withLock { dates.requested }.instant }
        set { move(to: Nanoseconds(saturating: newValue)) }
    }

    /// The date of the next fire, nil once the timer is invalid.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetNextFireDate`, which returns 0
    /// then.
    public var nextFireDate: GRunLoop.Instant? {
        guard !Fork.refuses("Timer.nextFireDate") else { return nil }
        return guardian.withLock { isValidLocked ? dates.requested : nil }?.instant
    }

    /// The distance of the grid's dates: at most 16 years, and zero in a timer that fires once.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerGetInterval`.
    public var interval: Duration {
        Fork.refuses("Timer.interval") ? .zero : guardian.withLock { dates.period }.duration
    }

    /// Whether the timer has a grid of dates. If not, it fires once and is then invalidated.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFRunLoopTimerDoesRepeat`.
    public var repeats: Bool { !Fork.refuses("Timer.repeats") && guardian.withLock { dates.period } > 0 }

    /// How much later than its date the timer may fire, so that several wake-ups become one.
    ///
    /// Setting a negative one means none; a repeating timer takes at most half its interval.
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

    private func move(to date: Nanoseconds) {
        guard !Fork.refuses("Timer.fireDate") else { return }
        let kick = guardian.withLock { () -> Kick? in
            guard isValidLocked else { return nil }
            // A firing timer takes its next date from the grid unless its closure has set a later one. In virtual time
            // it is still the moment for which the timer fires.
            let earliest = isFiring ? nowLocked.addingSaturating(1) : nowLocked
            var kick = changeLocked { $0.move(to: date, at: earliest) }
            // Set by another thread, it also wakes the loop (item 77).
            if let loop = guardian.loop { kick.merge(loop.owner.wakeUpIfElsewhereLocked()) }
            return kick
        }
        kick?.send()
    }

    /// Moves the timer to its new place in every heap, unless it is firing, and in none.
    private func changeLocked(_ change: (inout TimerDates) -> Void) -> Kick? {
        guard let loop = guardian.loop, !isFiring else {
            change(&dates)
            return nil
        }
        leaveHeaps()
        change(&dates)
        return returnToHeaps(of: loop)
    }

    /// In the closure of a repeating timer: the latest date of its grid that has come.
    var latestDate: GRunLoop.Instant { guardian.withLock { dates.latest(at: nowLocked) }.instant }

    /// The current time on the clock of the timer's dates.
    var nowLocked: Nanoseconds { guardian.loop?.owner.time ?? GRunLoop.owner.timeHere }
}
