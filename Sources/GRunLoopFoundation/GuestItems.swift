// SPDX-License-Identifier: Apache-2.0
// Our observers and sources in Core Foundation's run loop. Each of its modes has the observers. The two sources are in
// a mode for a moment only. A mode with a source is not empty, so a run in it would not finish.

import CGRunFoundation

final class GuestItems {
    private let address: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    /// The last observers of beforeWaiting: each runs our loop instead of Core Foundation's sleep. Core Foundation does
    /// not call an observer inside its own callout. So there is one observer more than runs of our loop inside Core
    /// Foundation's runs.
    private var waiters: [UnsafeMutableRawPointer] = []
    /// The last observers of beforeSources and exit, as many as `waiters`. In a run that does not sleep, they give our
    /// loop its turn.
    private var lookers: [UnsafeMutableRawPointer] = []
    /// The first observer of entry and beforeTimers. It undoes the settings that are for the beginning of a run only.
    private let opener: UnsafeMutableRawPointer
    /// The turn source. Core Foundation handles it in place of an item that our loop has handled.
    private let turn: UnsafeMutableRawPointer
    /// The keeper source. With it, Core Foundation makes a pass in a mode that has no other item.
    private let keeper: UnsafeMutableRawPointer

    private var turnMode: GuestMode?
    private var keeperMode: GuestMode?

    /// Makes the observers and sources. The observers' callbacks get `context`, which must outlive this object. Nil if
    /// no memory is left.
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

    /// Adds the observers to a mode. Core Foundation makes the mode if it does not have it yet.
    func add(to mode: GuestMode) {
        for observer in observers { cgrun_guest_add_observer(address, observer, mode.name) }
    }

    /// Makes one more pair of observers if all are needed for `count` runs of our loop inside Core Foundation's runs.
    func prepare(forRuns count: Int, in modes: [GuestMode]) {
        if count == waiters.count { addPair(in: modes) }
    }

    /// Moves our last observers behind those of the same order that were added later.
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

    /// Invalidates the observers. The sources stay, because a wait that is under way may still need the turn source.
    func endObservers() {
        for observer in observers { cgrun_guest_invalidate_observer(observer) }
    }
}
