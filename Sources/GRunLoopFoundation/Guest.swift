// SPDX-License-Identifier: Apache-2.0
// Foundation's run loop of one thread, which our loop of that thread serves: how it begins and ends. Its modes:
// GuestModes.swift; what is noticed: GuestNotices.swift; what is done: GuestTurns.swift.
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
    /// Nil once it has ended.
    let modes = Guarded<[GRunLoop.Mode: GuestMode]?>([:])

    let stops = Guarded(Stops())
    let atomicWaiting = Atomic(false)
    /// An observer has come that is to be the last one, as some of ours are.
    let owesOrder = Atomic(false)

    struct Stops {
        /// The innermost of the activities is a pass of ours.
        var isInPass = false
        /// It was told to stop then.
        var isOwed = false
    }

    private let uses = Atomic(0)
    private let atomicServed = Atomic(true)

    // MARK: The loop's thread only

    /// Nil before and after. As long as they are there, so is the guest.
    private(set) var items: GuestItems?
    /// What is under way on the stack, the innermost last.
    var activities: [GuestActivity] = [] {
        didSet { stops.withLock { $0.isInPass = activities.last?.pass != nil } }
    }
    /// In a run of Core Foundation's something was noticed that is its own affair until that run ends.
    var owesAfterRun = false
    /// A pass of ours has taken a wake-up, perhaps, which was that of the limit of a run that is not known.
    var owesWakeUp = false
    /// In a look something was noticed for which Core Foundation is to make another pass.
    var owesAfterLook = false
    /// How many things of ours were handled by our loop, which are nothing to whoever runs Core Foundation's.
    var ownHandled: UInt64 = 0
    var lastTurn = ContinuousClock.now
    /// What Core Foundation's word for draining the main queue is to be again.
    var wordOfDraining: Int?
    /// In the common modes of our loop: it is told of each.
    private var commonModes: GRunLoop.Source?
    private var endHandler: GRunLoop.EndHandler?

    private init(_ loop: GRunLoop) {
        self.loop = loop
        address = cgrun_guest_current()
        isMain = address == cgrun_guest_main()
        _ = cgrun_guest_retain(address)
    }

    deinit { cgrun_guest_release(address) }

    static func of(_ context: UnsafeMutableRawPointer?) -> Guest {
        guard let context else { GRunLoop.endProcess("a callback of Core Foundation's has lost its context") }
        return Unmanaged<Guest>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Beginning and ending

    /// A use of the guest of this thread's loop. The loop's thread.
    static func use(of loop: GRunLoop) throws(GRunLoop.ServingError) -> Use {
        guard !GRunLoop.isForkedChild else { throw .forked }
        guard GRunLoop.boxedType != 0 else { throw .anotherCopy }
        if let guest = Guests.guest(of: cgrun_guest_current()) { return Use(guest) }
        let guest = Guest(loop)
        // From the beginning on: what the check calls may serve it, too, and end that.
        let use = Use(guest)
        do {
            try guest.begin()
        } catch {
            guest.end()
            throw error
        }
        return use
    }

    /// False in a forked child as well, where nothing is done that takes a lock.
    var isServed: Bool { atomicServed.load(ordering: .relaxed) && !GRunLoop.isForkedChild }

    /// Whether a callback of Core Foundation's is to do something.
    var isActive: Bool { isServed && loop.isCurrent }

    /// What cannot be taken back comes last.
    private func begin() throws(GRunLoop.ServingError) {
        guard cgrun_notices_find() else { throw .notSeen }
        let context = Unmanaged.passRetained(self)
        guard let items = GuestItems(of: address, context: context.toOpaque()) else {
            context.release()
            throw .exhausted
        }
        self.items = items
        guard let mode = meet(.default) else { throw .exhausted }
        switch complete(mode) {
        case .watched: break
        case .notAnEpoll, .absent: throw .notAnEpoll
        case .exhausted: throw .exhausted
        }
        guard Guests.add(self) else { throw .notSeen }
        guard arrives(in: mode) else { throw .notServed }
        do { endHandler = try loop.addEndHandler { [weak self] in self?.endWithThread() } } catch { throw .loopEnded }
        let commonModes = GRunLoop.Source(schedule: { [weak self] _, mode in self?.becameCommonHere(mode) }) {}
        self.commonModes = commonModes
        loop.add(commonModes, forMode: .common)
        for name in modesThere() { meet(name).map { _ = complete($0) } }
        // A run of it that is under way sleeps in our way from now on.
        if isRunThere { cgrun_guest_wake_up(address) }
    }

    /// Whether a block and a timer of Foundation's arrive, as they would from now on.
    private func arrives(in mode: GuestMode) -> Bool {
        let runLoop = RunLoop.current
        nonisolated(unsafe) var arrived = 0
        mode.settle()
        owesAfterRun = false
        runLoop.perform { arrived += 1 }
        guard mode.isOwed || owesAfterRun else { return false }
        let timer = Foundation.Timer(fire: Date(), interval: 0, repeats: false) { _ in arrived += 1 }
        runLoop.add(timer, forMode: .default)
        let end = ContinuousClock.now + .seconds(1)
        // What else is called may take its time.
        var extraPasses = 10
        while arrived < 2, extraPasses > 0 {
            pass(mode)
            if ContinuousClock.now > end { extraPasses -= 1 }
            if arrived < 2 { usleep(100) }
        }
        timer.invalidate()
        return arrived == 2
    }

    /// The loop's thread. The second time it does nothing.
    func end() {
        guard atomicServed.exchange(false, ordering: .relaxed) else { return }
        Guests.remove(self)
        commonModes.take()?.invalidate()
        endHandler.take()?.remove()
        for mode in takeModes() { mode.end() }
        items?.endObservers()
        // Core Foundation sleeps itself.
        for wait in activities.compactMap(\.wait) { wait.end(in: loop, of: address) }
        letGoOfItems()
    }

    /// What is on the stack never returns.
    private func endWithThread() {
        activities = []
        end()
    }

    /// Once it has ended, and no wait of it is left that may have a turn to take.
    func letGoOfItems() {
        guard !isServed, items?.hasTurn == false, activities.allSatisfy({ $0.wait == nil }) else { return }
        items = nil
        Unmanaged.passUnretained(self).release()
    }

    /// One token. It does not keep the guest, which lasts as long as the loop is served.
    final class Use: @unchecked Sendable {
        private weak let guest: Guest?
        private let hasEnded = Atomic(false)

        init(_ guest: Guest) {
            self.guest = guest
            guest.uses.add(1, ordering: .relaxed)
        }

        func end() {
            guard !GRunLoop.isForkedChild, !hasEnded.exchange(true, ordering: .relaxed), let guest,
                guest.uses.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
            else { return }
            if guest.loop.isCurrent { return guest.endIfUnused() }
            let modes = guest.modes.withLock { $0.map { Array($0.keys) } ?? [] }
            guest.loop.async(inModes: modes) { [weak guest] in guest?.endIfUnused() }
        }

        var isServing: Bool { guest?.isServed == true }
    }

    /// A token may have been made since.
    private func endIfUnused() {
        if uses.load(ordering: .relaxed) == 0 { end() }
    }
}
