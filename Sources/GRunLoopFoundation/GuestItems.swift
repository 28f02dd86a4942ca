// SPDX-License-Identifier: Apache-2.0
// What we have in Core Foundation's run loop: observers in each of its modes, and two sources that are there for a
// moment only, since a mode that has sources is not empty for whoever runs it.

import CGRunFoundation

final class GuestItems {
    private let address: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    /// beforeWaiting, the last ones: wait in the place of Core Foundation. One is not called inside itself, so that
    /// there is one more than there are runs of ours in Core Foundation's.
    private var waiters: [UnsafeMutableRawPointer] = []
    /// beforeSources and exit, the last ones, as many: give the others their turn in a run that does not sleep.
    private var lookers: [UnsafeMutableRawPointer] = []
    /// Entry and beforeTimers, the first one: puts right what was set for the beginning of a run only.
    private let opener: UnsafeMutableRawPointer
    /// Is handled in the place of what our loop has handled.
    private let turn: UnsafeMutableRawPointer
    /// Has Core Foundation make a pass in a mode that has nothing else.
    private let keeper: UnsafeMutableRawPointer

    private var turnMode: GuestMode?
    private var keeperMode: GuestMode?

    /// The observers' callbacks get `context`, which outlives this. Nil without memory.
    init?(of loop: UnsafeMutableRawPointer, context: UnsafeMutableRawPointer) {
        address = loop
        self.context = context
        let opens = UInt(CGRUN_GUEST_ENTRY | CGRUN_GUEST_BEFORE_TIMERS)
        guard let opener = cgrun_guest_observer(opens, true, { Guest.of($0).openUp(Int($1)) }, context),
            let turn = cgrun_guest_source({ Guest.of($0).turnWasHandled() }, context),
            let keeper = cgrun_guest_source({ _ in }, nil)
        else { return nil }
        (self.opener, self.turn, self.keeper) = (opener, turn, keeper)
        addPair(in: [])
    }

    deinit {
        for source in [turn, keeper] {
            cgrun_guest_invalidate_source(source)
            cgrun_guest_release(source)
        }
        for observer in observers { cgrun_guest_release(observer) }
    }

    private var observers: [UnsafeMutableRawPointer] { waiters + lookers + [opener] }

    /// Makes the mode, if Core Foundation does not have it yet.
    func add(to mode: GuestMode) {
        for observer in observers { cgrun_guest_add_observer(address, observer, mode.name) }
    }

    /// So many runs of ours are in Core Foundation's.
    func prepare(forRuns count: Int, in modes: [GuestMode]) {
        if count == waiters.count { addPair(in: modes) }
    }

    /// What was added since is not behind ours.
    func moveBack(in modes: [GuestMode]) {
        for mode in modes {
            for observer in waiters + lookers { cgrun_guest_move_observer(address, observer, mode.name) }
        }
    }

    private func addPair(in modes: [GuestMode]) {
        let waits = UInt(CGRUN_GUEST_BEFORE_WAITING)
        let looks = UInt(CGRUN_GUEST_BEFORE_SOURCES | CGRUN_GUEST_EXIT)
        guard
            let waiter = cgrun_guest_observer(waits, false, { guest, _ in Guest.of(guest).waitInstead() }, context),
            let looker = cgrun_guest_observer(looks, false, { Guest.of($0).lookAround(Int($1)) }, context)
        else { return }
        waiters.append(waiter)
        lookers.append(looker)
        for mode in modes {
            for observer in [waiter, looker] { cgrun_guest_add_observer(address, observer, mode.name) }
        }
    }

    func placeTurn(in mode: GuestMode) {
        withdrawTurn()
        turnMode = mode
        cgrun_guest_add_source(address, turn, mode.name)
        cgrun_guest_signal_source(turn)
        cgrun_guest_wake_up(address)
    }

    var hasTurn: Bool { turnMode != nil }

    func withdrawTurn() {
        if let mode = turnMode.take() { cgrun_guest_remove_source(address, turn, mode.name) }
    }

    func placeKeeper(in mode: GuestMode) {
        keeperMode = mode
        cgrun_guest_add_source(address, keeper, mode.name)
    }

    func withdrawKeeper() {
        if let mode = keeperMode.take() { cgrun_guest_remove_source(address, keeper, mode.name) }
    }

    /// The sources stay: a wait that is under way has its turn still.
    func endObservers() {
        for observer in observers { cgrun_guest_invalidate_observer(observer) }
    }
}
