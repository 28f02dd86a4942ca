// SPDX-License-Identifier: Apache-2.0
// What makes a timer more than one date in one mode.

/// What few timers need: a grid, a fire date other than the deadline, several modes. Made when needed, so that other
/// timers stay small. Guarded as the timer is.
final class TimerExtras {
    struct Place {
        let mode: Unmanaged<ModeState>
        var slot: Int32
    }

    /// 0 in a timer that fires once.
    let period: Nanoseconds
    @exclusivity(unchecked) var slack: Nanoseconds
    /// What `fireDate` returns, if it is not the deadline.
    @exclusivity(unchecked) var requested: Nanoseconds?
    /// The modes but the first.
    @exclusivity(unchecked) var others: [Place] = []

    init(period: Nanoseconds = 0, slack: Nanoseconds) {
        self.period = period
        self.slack = slack
    }
}
