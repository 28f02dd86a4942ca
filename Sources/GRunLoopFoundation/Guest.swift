// SPDX-License-Identifier: Apache-2.0
// Foundation's run loop of one thread, which our loop of that thread serves: how it begins and ends, which modes it
// has, and what is noticed of it. What is done for it: GuestTurns.swift.
//
// How work becomes pending while Core Foundation does not run its loop: by a descriptor of a mode's epoll (timers,
// version-1 sources), or by a call, of which no descriptor tells (blocks, wake-ups, observers of notification queues).
// The first kind is watched for, the second noticed.

import CGRunFoundation
import Foundation
import GRunLoop
import Synchronization

final class Guest: @unchecked Sendable {
    let loop: GRunLoop
    /// Of Core Foundation's loop, which is held: it would go before ours does when the thread ends.
    let address: UnsafeMutableRawPointer
    let isMain: Bool

    private let modes = Mutex<[GRunLoop.Mode: GuestMode]>([:])
    private let uses = Atomic(0)
    private let atomicServed = Atomic(true)
    /// An observer was added, which is perhaps a notification queue's.
    let owesObservers = Atomic(false)

    // MARK: The loop's thread only

    /// What is under way on the stack, the innermost last.
    var activities: [GuestActivity] = []
    /// In a run of Core Foundation's something was noticed that is its own affair until that run ends.
    var owesAfterRun = false
    /// In a look something was noticed for which Core Foundation is to make another pass.
    var owesAfterLook = false
    /// How many things of ours were handled by our loop, which are nothing to whoever runs Core Foundation's.
    var ownHandled: UInt64 = 0
    var endsWait = false
    var waker: GRunLoop.Observer?
    var lastTurn = ContinuousClock.now
    /// What Core Foundation's word for draining the main queue is to be again.
    var wordOfDraining: Int?
    /// Observers of Core Foundation's; one is not called inside itself, so that there is one more than there are waits.
    private var waiters: [UnsafeMutableRawPointer] = []
    private var looker: UnsafeMutableRawPointer?
    private var opener: UnsafeMutableRawPointer?
    private var scout: GRunLoop.Source?
    private var endHandler: GRunLoop.EndHandler?
    /// Handled in the place of what our loop has handled.
    private(set) var turn: UnsafeMutableRawPointer?
    /// Has Core Foundation call observers of a mode that has nothing else.
    private(set) var keeper: UnsafeMutableRawPointer?
    private var turnMode: GuestMode?

    private init(_ loop: GRunLoop) {
        self.loop = loop
        address = cgrun_guest_current()
        isMain = address == cgrun_guest_main()
        _ = cgrun_guest_retain(address)
    }

    deinit { cgrun_guest_release(address) }

    // MARK: Beginning and ending

    /// The guest of this thread's loop. The loop's thread.
    static func current(of loop: GRunLoop) throws(GRunLoop.ServingError) -> Guest {
        guard !GRunLoop.isForkedChild else { throw .forked }
        // Another copy of the library serves this process.
        guard GRunLoop.boxedType != 0 else { throw .notSeen }
        if let guest = Guests.guest(of: cgrun_guest_current()) { return guest }
        let guest = Guest(loop)
        do {
            try guest.begin()
        } catch {
            guest.end()
            throw error
        }
        return guest
    }

    var isServed: Bool { atomicServed.load(ordering: .relaxed) && !GRunLoop.isForkedChild }

    private func begin() throws(GRunLoop.ServingError) {
        guard let description = GuestDescription(of: address) else { throw .exhausted }
        guard description.epoll(of: GRunLoop.Mode.default.rawValue) != nil else { throw .notAnEpoll }
        guard Guests.add(self) else { throw .notSeen }
        let context = Unmanaged.passUnretained(self).toOpaque()
        turn = cgrun_guest_source({ Guest.of($0).endTurn() }, context)
        keeper = cgrun_guest_source({ _ in }, nil)
        looker = cgrun_guest_observer(UInt(CGRUN_GUEST_BEFORE_SOURCES), false, { Guest.of($0).lookAround() }, context)
        opener = cgrun_guest_observer(UInt(CGRUN_GUEST_BEFORE_TIMERS), true, { Guest.of($0).openUp() }, context)
        addWaiter()
        // Common modes, now and later: a source of all of them is told of each.
        let scout = GRunLoop.Source(schedule: { [weak self] _, mode in self?.becameCommonHere(mode) }) {}
        self.scout = scout
        loop.add(scout, forMode: .common)
        eachModeThere { meet($0) }
        endHandler = try? loop.addEndHandler { [weak self] in self?.end() }
        guard let mode = modes.withLock({ $0[.default] }), complete(mode) else { throw .exhausted }
        for mode in modes.withLock({ Array($0.values) }) { _ = complete(mode) }
        guard arrives(in: mode) else { throw .notServed }
    }

    /// Whether a block and a timer of Foundation's arrive, as they would from now on.
    private func arrives(in mode: GuestMode) -> Bool {
        let runLoop = RunLoop.current
        nonisolated(unsafe) var arrived = 0
        runLoop.perform { arrived += 1 }
        guard mode.isOwed || isRunThere else { return false }
        let timer = Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in arrived += 1 }
        runLoop.add(timer, forMode: .default)
        let end = ContinuousClock.now + .seconds(1)
        while arrived < 2, ContinuousClock.now < end {
            pass(mode)
            if arrived < 2 { usleep(100) }
        }
        timer.invalidate()
        return arrived == 2
    }

    /// The loop's thread. The second time it does nothing.
    func end() {
        guard atomicServed.exchange(false, ordering: .relaxed) else { return }
        Guests.remove(self)
        scout?.invalidate()
        waker.take()?.invalidate()
        endHandler?.remove()
        for mode in modes.withLock({ Array(exchange(&$0, with: [:]).values) }) { mode.end() }
        for observer in observers {
            cgrun_guest_invalidate_observer(observer)
            cgrun_guest_release(observer)
        }
        for source in [turn, keeper].compactMap({ $0 }) {
            cgrun_guest_invalidate_source(source)
            cgrun_guest_release(source)
        }
        (waiters, looker, opener, turn, keeper, scout, endHandler) = ([], nil, nil, nil, nil, nil, nil)
        // A wait of ours on the stack returns to Core Foundation's.
        if !activities.isEmpty { loop.wakeUp() }
    }

    /// One token.
    final class Use: Sendable {
        private let guest: Guest
        private let hasEnded = Atomic(false)

        init(_ guest: Guest) {
            self.guest = guest
            guest.uses.add(1, ordering: .relaxed)
        }

        func end() {
            guard !GRunLoop.isForkedChild, !hasEnded.exchange(true, ordering: .relaxed),
                guest.uses.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
            else { return }
            if guest.loop.isCurrent { return guest.endIfUnused() }
            guest.loop.async(inModes: guest.modes.withLock { Array($0.keys) }) { [guest] in guest.endIfUnused() }
        }
    }

    /// A token may have been made since.
    private func endIfUnused() {
        if uses.load(ordering: .relaxed) == 0 { end() }
    }

    static func of(_ context: UnsafeMutableRawPointer?) -> Guest {
        guard let context else { fatalError("GRunLoop: a callback of Core Foundation's has lost its context") }
        return Unmanaged<Guest>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Modes

    /// Any thread: our loop will serve a mode of this name. Its epoll is looked for on the loop's thread, where no lock
    /// of Foundation's is held.
    private func meet(_ name: GRunLoop.Mode) {
        guard name != .common, modes.withLock({ $0[name] == nil }),
            let mode = GuestMode(name, serve: { [weak self] in self?.serve($0) })
        else { return }
        let isNew = modes.withLock { modes in
            guard modes[name] == nil else { return false }
            modes[name] = mode
            return true
        }
        guard isNew else { return }
        loop.add(mode.source, forMode: name)
        if mode.owe(quietly: false) { loop.wakeUp() }
    }

    /// The loop's thread: finds the mode's epoll, and has it watched. Whether it is.
    func complete(_ mode: GuestMode) -> Bool {
        guard mode.epoll < 0 else { return true }
        guard !mode.isHopeless else { return false }
        // Makes the mode, if Core Foundation does not have it yet.
        for observer in observers {
            cgrun_guest_add_observer(address, observer, mode.name)
        }
        guard let epoll = GuestDescription(of: address)?.epoll(of: mode.mode.rawValue) else {
            mode.isHopeless = true
            return false
        }
        return (try? mode.watch(epoll, in: loop) { [weak self] in self?.serve($0) }) != nil
    }

    /// The mode that Core Foundation runs now; nil if none, or one that is not known.
    func currentMode() -> GuestMode? {
        guard let name = cgrun_guest_copy_current_mode(address) else { return nil }
        defer { cgrun_guest_release(name) }
        if cgrun_guest_is_default_mode(name) { return modes.withLock { $0[.default] } }
        return text(of: name).flatMap { name in modes.withLock { $0[GRunLoop.Mode(rawValue: name)] } }
    }

    /// Whether Core Foundation runs its loop, not for us.
    var isRunThere: Bool {
        if let last = activities.last { return last.isRun }
        guard let name = cgrun_guest_copy_current_mode(address) else { return false }
        cgrun_guest_release(name)
        return true
    }

    /// Has one more observer wait in Core Foundation's place.
    func addWaiter() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let body: @convention(c) (UnsafeMutableRawPointer?) -> Void = { Guest.of($0).waitInstead() }
        guard let waiter = cgrun_guest_observer(UInt(CGRUN_GUEST_BEFORE_WAITING), false, body, context) else { return }
        waiters.append(waiter)
        for mode in modes.withLock({ Array($0.values) }) where mode.epoll >= 0 {
            cgrun_guest_add_observer(address, waiter, mode.name)
        }
    }

    var waiterCount: Int { waiters.count }

    private var observers: [UnsafeMutableRawPointer] { waiters + [looker, opener].compactMap { $0 } }

    private func eachModeThere(_ body: (GRunLoop.Mode) -> Void) {
        guard let all = cgrun_guest_copy_modes(address) else { return }
        defer { cgrun_guest_release(all) }
        names(in: all).forEach(body)
    }

    private func names(in modes: UnsafeRawPointer) -> [GRunLoop.Mode] {
        var names: [GRunLoop.Mode] = []
        withUnsafeMutablePointer(to: &names) {
            cgrun_guest_each_mode(
                modes,
                { name, names in
                    guard let name, !cgrun_guest_is_common_modes(name), let text = text(of: name) else { return }
                    names?.assumingMemoryBound(to: [GRunLoop.Mode].self).pointee.append(GRunLoop.Mode(rawValue: text))
                }, $0)
        }
        return names
    }

    /// Any thread, without a lock: a mode is common here.
    private func becameCommonHere(_ mode: GRunLoop.Mode) {
        mode.rawValue.withCString {
            guard let name = cgrun_guest_string($0) else { return }
            cgrun_guest_add_common_mode(address, name)
            cgrun_guest_release(name)
        }
        meet(mode)
    }

    // MARK: What is noticed

    /// Any thread: Core Foundation was told something, in these modes if that matters.
    func noticed(_ kind: cgrun_notice_kind, _ modes: UnsafeRawPointer?) {
        if kind != CGRUN_NOTICE_WAKE_UP, let modes,
            !cgrun_guest_is_default_mode(modes)
        {
            names(in: modes).forEach(meet)
        }
        switch kind {
        case CGRUN_NOTICE_WAKE_UP: owe(quietly: false)
        case CGRUN_NOTICE_COMMON_MODE:
            // Without a descriptor it does not become common here; it is served all the same where it is run.
            if let modes { names(in: modes).forEach { try? loop.addCommonMode($0) } }
        case CGRUN_NOTICE_BLOCK: oweQuietly()
        case CGRUN_NOTICE_OBSERVER:
            owesObservers.store(true, ordering: .relaxed)
            oweQuietly()
        default: break
        }
    }

    /// What a run of Core Foundation's is not woken for is its own affair, if its own thread has told it so before it
    /// sleeps.
    private func oweQuietly() {
        guard loop.isCurrent else { return owe(quietly: true) }
        if isRunThere { owesAfterRun = true } else { owe(quietly: activities.last?.isInsideRun == true) }
    }

    func owe(quietly: Bool) {
        let isNews = modes.withLock { modes in
            modes.values.reduce(false) { $1.owe(quietly: quietly) || $0 }
        }
        if isNews { loop.wakeUp() }
    }

    /// The loop's thread: what is owed still is to be done without a new notice.
    func remind() {
        let isOwed = modes.withLock { modes in
            modes.values.reduce(false) { isOwed, mode in
                if mode.isOwed { mode.source.signal() }
                return isOwed || mode.isOwed
            }
        }
        if isOwed { loop.wakeUp() }
    }

    // MARK: Turns of our loop in a run of Core Foundation's

    /// Our loop has handled something: for whoever runs Core Foundation's that is a source of that.
    func takeTurn(in mode: GuestMode) {
        guard let turn else { return }
        turnMode = mode
        cgrun_guest_add_source(address, turn, mode.name)
        cgrun_guest_signal_source(turn)
        cgrun_guest_wake_up(address)
    }

    private func endTurn() {
        guard let turn, let turnMode else { return }
        cgrun_guest_remove_source(address, turn, turnMode.name)
        self.turnMode = nil
    }
}

private func text(of name: UnsafeRawPointer) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) {
        cgrun_guest_get_text(name, $0.baseAddress, 1024) ? $0.baseAddress.map { String(cString: $0) } : nil
    }
}

private func exchange<Value>(_ place: inout Value, with value: Value) -> Value {
    let former = place
    place = value
    return former
}
