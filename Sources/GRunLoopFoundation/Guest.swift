// SPDX-License-Identifier: Apache-2.0
// A guest: Foundation's run loop of one thread, which our loop of the same thread serves. The code in this file begins
// and ends serving. GuestModes.swift manages the modes, GuestNotices.swift records new work, and GuestTurns.swift does
// that work.
//
// While Core Foundation does not run its loop, work arrives in two ways. Timers and version-1 sources make the epoll of
// their mode readable, and our loop watches this epoll. But no descriptor becomes readable for blocks, wake-ups and
// observers of notification queues. So our own functions replace the Core Foundation functions that add such work, and
// record each call.

import CGRunFoundation
import Foundation
import GRunLoop
import Synchronization

final class Guest: @unchecked Sendable {
    let loop: GRunLoop
    /// Core Foundation's loop. The guest retains this loop. Otherwise it would be freed at the thread's end, before our
    /// loop ends.
    let address: UnsafeMutableRawPointer
    let isMain: Bool
    /// Foundation's modes that our loop serves; nil after serving has ended.
    let modes = Guarded<[GRunLoop.Mode: GuestMode]?>([:])

    let stops = Guarded(Stops())
    let atomicWaiting = Atomic(false)
    /// True if the program added an observer of order `Int.max`. Our observers of this order must be called last, so
    /// they must move behind that observer.
    let owesOrder = Atomic(false)

    struct Stops {
        /// Whether the innermost of `activities` is a pass.
        var isInPass = false
        /// Whether CFRunLoopStop was called while a pass was the innermost activity. The program means this stop for
        /// the run around the pass.
        var isOwed = false
    }

    private let uses = Atomic(0)
    private let atomicServed = Atomic(true)

    // MARK: The loop's thread only

    /// Our observers and sources in Core Foundation's loop; nil before serving begins and after it ends. While these
    /// items exist, they keep the guest alive.
    private(set) var items: GuestItems?
    /// The runs and passes on the thread's stack, the innermost last.
    var activities: [GuestActivity] = [] {
        didSet { stops.withLock { $0.isInPass = activities.last?.pass != nil } }
    }
    /// True if work arrived during a run of Core Foundation, which usually does this work itself. When that run ends,
    /// our loop checks whether work is left.
    var owesAfterRun = false
    /// True if one of our passes may have consumed a wake-up. The consumed wake-up may mark the time limit of a run
    /// that began before serving and is not in `activities`. So that run is woken before it sleeps.
    var owesWakeUp = false
    /// True if work arrived during a ``GuestActivity/look(depth:)``, and Core Foundation must make another pass for
    /// this work.
    var owesAfterLook = false
    /// How often our loop handled an item only to serve the guest. For a run of Core Foundation, these items do not
    /// count as handled sources.
    var ownHandled: UInt64 = 0
    var lastTurn = ContinuousClock.now
    /// The value to restore in Core Foundation's word for "this thread drains the main queue"; nil if the word has its
    /// usual value.
    var savedDrainingFlag: Int?
    /// A source in the common modes of our loop. Our loop calls the source's schedule handler for each mode that
    /// becomes common.
    private var commonModes: GRunLoop.Source?
    /// The timer that ``arrives(in:)`` used to test this guest.
    private var testTimer: Foundation.Timer?
    private var endHandler: GRunLoop.EndHandler?

    private init(_ loop: GRunLoop) {
        self.loop = loop
        address = cgrun_guest_current()
        isMain = address == cgrun_guest_main()
        _ = cgrun_guest_retain(address)
    }

    deinit { cgrun_guest_release(address) }

    static func of(_ context: UnsafeMutableRawPointer?) -> Guest {
        guard let context else {
            Log.fatal("a callback of Core Foundation has no context. This is a bug in GRunLoop; please report it")
        }
        return Unmanaged<Guest>.fromOpaque(context).takeUnretainedValue()
    }

    // MARK: Beginning and ending

    /// Returns a token for the guest of this thread's loop, and begins serving if necessary. Call this function on the
    /// loop's thread.
    static func use(of loop: GRunLoop) throws(GRunLoop.SystemError) -> Use {
        guard !Fork.isChild else { throw .forked }
        guard GRunLoop.boxedType != 0 else { throw ServingRefusal.anotherCopy.error }
        if GRunLoop.isInEnvironment("GRUN_NO_FOUNDATION") { throw ServingRefusal.environment.error }
        if let guest = Guests.guest(of: cgrun_guest_current()) { return Use(guest) }
        let guest = Guest(loop)
        // Make the token first. `begin()` calls closures of the program. If such a closure calls `serve` and cancels
        // its token, serving must not end.
        let use = Use(guest)
        do {
            try guest.begin()
        } catch {
            guest.end()
            throw error
        }
        return use
    }

    /// Whether Core Foundation's loop is served. False in a forked child, where no lock must be taken.
    var isServed: Bool { atomicServed.load(ordering: .relaxed) && !Fork.isChild }

    /// True if a callback from Core Foundation must act, because Core Foundation's loop is served and the caller is on
    /// this loop's thread.
    var isActive: Bool { isServed && loop.isCurrent }

    /// Begins serving. The steps that cannot be undone come last.
    private func begin() throws(GRunLoop.SystemError) {
        guard cgrun_notices_find() else { throw ServingRefusal.notSeen.error }
        guard canTellCommonModes else { throw ServingRefusal.notServed.error }
        let context = Unmanaged.passRetained(self)
        guard let items = GuestItems(of: address, context: context.toOpaque()) else {
            context.release()
            throw .limitReached(errno: EMFILE)
        }
        self.items = items
        guard let mode = meet(.default) else { throw .limitReached(errno: EMFILE) }
        switch complete(mode) {
        case .watched: break
        case .notAnEpoll, .absent: throw ServingRefusal.notAnEpoll.error
        case .exhausted: throw .limitReached(errno: EMFILE)
        }
        guard Guests.add(self) else { throw ServingRefusal.notSeen.error }
        guard arrives(in: mode) else { throw ServingRefusal.notServed.error }
        do { endHandler = try loop.addEndHandler { [weak self] in self?.endWithThread() } } catch {
            throw ServingRefusal.loopEnded.error
        }
        let commonModes = GRunLoop.Source(schedule: { [weak self] _, mode in self?.didBecomeCommonInOurLoop(mode) }) {}
        self.commonModes = commonModes
        loop.add(commonModes, forMode: .common)
        for name in coreFoundationModes() { meet(name).map { _ = complete($0) } }
        // If a run of Core Foundation is under way, wake it. From its next sleep on, our loop runs instead of the
        // sleep.
        if isInCoreFoundationRun { cgrun_guest_wake_up(address) }
    }

    /// Whether the undocumented function of Core Foundation that recognizes common modes works as expected.
    private var canTellCommonModes: Bool {
        guard let unknown = cgrun_guest_string("grun.unknown") else { return true }
        defer { cgrun_guest_release(unknown) }
        return cgrun_guest_is_common(address, cgrun_guest_default_mode()) && !cgrun_guest_is_common(address, unknown)
    }

    /// Tests whether our passes of Foundation's loop call a block and a timer of Foundation.
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
        // In these passes, the program's closures may take longer than one second. So make up to 10 more passes after
        // this second.
        var extraPasses = 10
        while arrived < 2, extraPasses > 0 {
            pass(mode)
            if ContinuousClock.now > end { extraPasses -= 1 }
            if arrived < 2 { usleep(100) }
        }
        timer.invalidate()
        // Foundation does not release this timer. Keep a reference, so that LeakSanitizer does not report the timer as
        // a leak.
        testTimer = timer
        return arrived == 2
    }

    /// Ends serving. Call this function on the loop's thread. A second call does nothing.
    func end() {
        guard atomicServed.exchange(false, ordering: .relaxed) else { return }
        Guests.remove(self)
        commonModes.take()?.invalidate()
        endHandler.take()?.cancel()
        for mode in takeModes() { mode.end() }
        items?.endObservers()
        // From now on, our loop does not replace Core Foundation's sleeps. So end the runs of our loop that replace a
        // sleep now.
        for wait in activities.compactMap(\.wait) { wait.end(in: loop, of: address) }
        letGoOfItems()
    }

    /// Ends serving at the thread's end. Drops the activities first, because the runs and passes on the thread's stack
    /// never return.
    private func endWithThread() {
        activities = []
        end()
    }

    /// Releases our items if serving has ended, and no wait can need the turn source any more.
    func letGoOfItems() {
        guard !isServed, items?.hasTurn == false, activities.allSatisfy({ $0.wait == nil }) else { return }
        items = nil
        Unmanaged.passUnretained(self).release()
    }

    /// The implementation of ``GRunLoop/Serving``. This object does not own the guest: the guest exists as long as Core
    /// Foundation's loop is served.
    final class Use: @unchecked Sendable {
        private weak let guest: Guest?
        private let hasEnded = Atomic(false)

        init(_ guest: Guest) {
            self.guest = guest
            guest.uses.add(1, ordering: .relaxed)
        }

        func end() {
            guard !Fork.isChild, !hasEnded.exchange(true, ordering: .relaxed), let guest,
                guest.uses.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
            else { return }
            if guest.loop.isCurrent { return guest.endIfUnused() }
            let modes = guest.modes.withLock { $0.map { Array($0.keys) } ?? [] }
            guest.loop.async(inModes: modes) { [weak guest] in guest?.endIfUnused() }
        }

        var isServing: Bool { guest?.isServed == true }
    }

    /// Ends serving, unless a token was made meanwhile.
    private func endIfUnused() {
        if uses.load(ordering: .relaxed) == 0 { end() }
    }
}
