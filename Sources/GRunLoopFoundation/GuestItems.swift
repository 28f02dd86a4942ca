// SPDX-License-Identifier: Apache-2.0
// Our observers and sources in Core Foundation's run loop. The observers are in each served mode. The two sources are
// in a mode only briefly, because a run of Core Foundation in a mode with a source does not finish.

import CGRunFoundation

final class GuestItems {
    private let address: UnsafeMutableRawPointer
    private let context: UnsafeMutableRawPointer
    /// Observers of beforeWaiting that are called last. Each of them runs our loop instead of Core Foundation's sleep.
    /// Core Foundation does not call an observer that is already being called. So the number of observers is always one
    /// more than the number of our runs inside Core Foundation's runs.
    private var waiters: [UnsafeMutableRawPointer] = []
    /// Observers of beforeSources and exit that are called last, as many as `waiters`. In a run of Core Foundation that
    /// does not sleep, these observers run our loop.
    private var lookers: [UnsafeMutableRawPointer] = []
    /// The observer of entry and beforeTimers that is called first. The observer's callback reverts settings that only
    /// apply to the beginning of a run (``Guest/openUp(_:)``).
    private let opener: UnsafeMutableRawPointer
    /// The turn source. After our loop has handled an item, Core Foundation handles this source. So Core Foundation's
    /// run counts a handled source.
    private let turn: UnsafeMutableRawPointer
    /// The keeper source. While it is in a mode, Core Foundation runs this mode even if it has no other item.
    private let keeper: UnsafeMutableRawPointer

    private var turnMode: GuestMode?
    private var keeperMode: GuestMode?

    /// Makes the items. The callbacks get `context`, which must outlive this object. Returns nil if there is no memory
    /// left.
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

    /// Adds the observers to a mode. If the mode does not exist in Core Foundation's loop yet, Core Foundation creates
    /// it.
    func add(to mode: GuestMode) {
        for observer in observers { cgrun_guest_add_observer(address, observer, mode.name) }
    }

    /// Makes another pair of observers if `count` runs of our loop inside Core Foundation's runs use all existing
    /// pairs.
    func prepare(forRuns count: Int, in modes: [GuestMode]) {
        if count == waiters.count { addPair(in: modes) }
    }

    /// Moves our last observers behind observers of the same order that were added later.
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
