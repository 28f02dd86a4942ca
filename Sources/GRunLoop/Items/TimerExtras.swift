// SPDX-License-Identifier: Apache-2.0
// What makes a timer more than one date in one mode.

/// What few timers need: a grid, a fire date other than the deadline, several modes. Made when needed, so that other
/// timers stay small. Guarded as the timer is.
class TimerExtras {
    struct Place {
        let mode: Unmanaged<ModeState>
        var slot: Int32
    }

    /// 0 in a timer that fires once.
    let period: Nanoseconds
    var slack: Nanoseconds
    /// What `fireDate` returns, if it is not the deadline.
    var requested: Nanoseconds?
    /// Whether it is a ``ConfinedTimerExtras``: in a byte that is there anyway.
    let isConfined: Bool
    /// The modes but the first.
    @exclusivity(unchecked) var others: [Place] = []

    init(period: Nanoseconds = 0, slack: Nanoseconds, isConfined: Bool = false) {
        self.period = period
        self.slack = slack
        self.isConfined = isConfined
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
