// SPDX-License-Identifier: Apache-2.0
// How a timer joins and leaves modes, and its slot in the heap of each.

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

    /// The timer begins to fire, or to move: a nested run does not see it.
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

    /// Nearly all timers are in one mode, and need no array.
    private func forEachMode(_ body: (ModeState) -> Void) {
        if let firstMode { firstMode._withUnsafeGuaranteedRef(body) }
        if let extras { for place in extras.others { place.mode._withUnsafeGuaranteedRef(body) } }
    }

    func isIn(_ mode: ModeState) -> Bool {
        isFirst(mode) || position(of: mode) != nil
    }

    /// Its slot in the mode's heap. -1 while it is firing: it has left the heap but is still in the mode.
    func slot(in mode: ModeState) -> Int {
        Int(isFirst(mode) ? firstSlot : position(of: mode).flatMap { extras?.others[$0].slot } ?? -1)
    }

    func setSlot(_ slot: Int, in mode: ModeState) {
        let slot = Int32(truncatingIfNeeded: slot)
        if extras == nil || isFirst(mode) { firstSlot = slot } else { setOther(slot, in: mode) }
    }

    func note(_ mode: ModeState) {
        if firstMode == nil {
            firstMode = .passUnretained(mode)
        } else {
            dates.needExtras().others.append(TimerExtras.Place(mode: .passUnretained(mode), slot: -1))
        }
    }

    func forget(_ mode: ModeState) {
        if !isFirst(mode) {
            if let position = position(of: mode) { extras?.others.remove(at: position) }
        } else if let extras, !extras.others.isEmpty {
            let next = extras.others.removeFirst()
            firstMode = next.mode
            firstSlot = next.slot
        } else {
            firstMode = nil
            firstSlot = -1
        }
    }

    private func isFirst(_ mode: ModeState) -> Bool {
        firstMode === mode
    }

    private func position(of mode: ModeState) -> Int? {
        extras?.others.firstIndex { $0.mode === mode }
    }

    private func setOther(_ slot: Int32, in mode: ModeState) {
        if let position = position(of: mode) { extras?.others[position].slot = slot }
    }
}

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
