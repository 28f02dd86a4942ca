// SPDX-License-Identifier: Apache-2.0
// What is done for Foundation's run loop: its passes while our loop runs, and our loop's while that one runs.

import CGRunFoundation
import GRunLoop

extension Guest {
    // MARK: Our loop runs

    /// In a callout of our loop: Core Foundation has something to do in this mode, or may have.
    func serve(_ mode: GuestMode) {
        ownHandled += 1
        switch activities.last {
        case .wait(let wait) where wait.isInnermost(of: loop):
            // Core Foundation sleeps, and we in its place: it goes on itself.
            let isQuiet = mode.settleQuietly()
            mode.settleLoudly()
            if isQuiet, !mode.isReadable { cgrun_guest_wake_up(address) }
            if isQuiet || mode.isReadable { wait.end(in: loop, of: address) }
        // What follows in Core Foundation's pass sees most of it; what it is not woken for may be for the next one.
        case .look(loop.runDepth):
            if mode.settleQuietly() { owesAfterLook = true }
            mode.settleLoudly()
        default: servePasses(mode)
        }
    }

    /// Passes until there is nothing to do, or the others have their turn.
    private func servePasses(_ mode: GuestMode) {
        // A wait further out may have lost its wake-up to them, that of its limit among them.
        defer { activities.last { $0.wait != nil }?.wait?.end(in: loop, of: address) }
        Guests.lookForObjects()
        let end = ContinuousClock.now + loop.timeSlice
        repeat {
            let handled = pass(mode)
            guard isServed, handled || mode.isOwed || mode.isReadable else { return }
        } while ContinuousClock.now < end
        _ = mode.owe(quietly: false)
        mode.source.signal()
        loop.wakeUp()
    }

    /// One pass of Core Foundation's, without waiting. Whether it has handled a source. The main queue is our loop's.
    @discardableResult func pass(_ mode: GuestMode) -> Bool {
        mode.settle()
        let finding = complete(mode)
        let hasObservers = mode.settleObservers()
        items?.withdrawTurn()
        activities.append(.pass(mode))
        var result = keepingOff { cgrun_guest_pass(address, mode.name) }
        // A mode without items is not run at all: nobody tells its observers, as notification queues have them, and
        // nobody reads of a timer that was due and is cancelled.
        if result == CGRUN_GUEST_FINISHED, finding != .absent, hasObservers || mode.isReadable {
            items?.placeKeeper(in: mode)
            result = keepingOff { cgrun_guest_pass(address, mode.name) }
            items?.withdrawKeeper()
        }
        activities.removeLast()
        owesWakeUp = true
        placeTurnAgain()
        passOnStop()
        return result == CGRUN_GUEST_HANDLED
    }

    /// The run that was to stop is the one further out, of which this pass is no part; a pass around it passes that on.
    private func passOnStop() {
        let isToStop = stops.withLock { stops in
            guard !stops.isInPass else { return false }
            defer { stops.isOwed = false }
            return stops.isOwed
        }
        if isToStop, activities.contains(where: { $0.run != nil }) || isRunThere { cgrun_guest_stop(address) }
    }

    /// Core Foundation decides at the beginning of a run whether that serves the main queue: not in a drain of it. For
    /// our passes that is so until the first thing is called in them.
    private func keepingOff(_ pass: () -> Int32) -> Int32 {
        guard isMain else { return pass() }
        let outer = wordOfDraining
        wordOfDraining = cgrun_guest_set_draining(1)
        defer {
            setDrainingBack()
            wordOfDraining = outer
        }
        return pass()
    }

    private func setDrainingBack() {
        if let word = wordOfDraining.take() { _ = cgrun_guest_set_draining(word) }
    }

    /// In the first observer of a run's entry, and of beforeTimers.
    func openUp(_ activity: Int) {
        guard activity == CGRUN_GUEST_BEFORE_TIMERS else {
            // The run has begun: it is empty again for whoever looks.
            items?.withdrawKeeper()
            return
        }
        setDrainingBack()
        activities.last?.run?.noteFirstPass()
        if owesOrder.exchange(false, ordering: .relaxed) { items?.moveBack(in: watchedModes) }
    }

    // MARK: Core Foundation's runs

    /// Before one that is not ours, in a mode that perhaps nobody has heard of. Whether `left` is wanted.
    func entered(_ name: UnsafeRawPointer?, for seconds: Double) -> Bool {
        guard isActive else { return false }
        items?.withdrawTurn()
        modeToRun(name).map { _ = complete($0) }
        activities.append(.run(GuestRun(seconds: seconds)))
        return true
    }

    /// After it, also if it is not served any more.
    func left() {
        guard activities.last?.run != nil else { return }
        activities.removeLast()
        items?.withdrawTurn()
        guard isServed else { return letGoOfItems() }
        placeTurnAgain()
        oweAfterRun()
        remind()
    }

    /// In the last observer of beforeWaiting: our loop sleeps in the place of Core Foundation, and all is served.
    func waitInstead() {
        guard isActive, let mode = currentMode(), complete(mode) == .watched else { return }
        // Its pass has seen all of it, or will not sleep.
        mode.settleLoudly()
        guard !mode.isReadable else { return }
        let wait = GuestWait(depth: loop.runDepth + 1, mode)
        let run = activities.last?.run
        // It does not sleep before it has been told.
        guard run?.turnMode == nil else { return placeTurnAgain() }
        if run == nil, owesWakeUp {
            owesWakeUp = false
            return cgrun_guest_wake_up(address)
        }
        run?.noteFirstPass()
        activities.append(.wait(wait))
        prepareForRuns()
        let wasWaiting = atomicWaiting.exchange(true, ordering: .relaxed)
        let isTurn = waitForTurn(wait, until: run?.limit ?? GRunLoop.distantFuture)
        atomicWaiting.store(wasWaiting, ordering: .relaxed)
        activities.removeLast()
        lastTurn = .now
        if isTurn { takeTurn(in: mode) }
        letGoOfItems()
    }

    private func prepareForRuns() {
        items?.prepare(forRuns: activities.count { $0.isInsideRun }, in: watchedModes)
    }

    /// Whether ours or GLib's has handled something; else Core Foundation goes on by its own rules.
    private func waitForTurn(_ wait: GuestWait, until limit: GRunLoop.Instant) -> Bool {
        while isServed, !wait.mode.isReadable {
            let (handled, own) = (loop.handledCount, ownHandled)
            // At its limit Core Foundation wakes itself; but a nested run may have taken that wake-up.
            let rest = GRunLoop.now.duration(to: limit) + .microseconds(200)
            let result = loop.run(mode: wait.mode.mode, for: rest, returningAfterSourceHandled: true)
            let isToEnd = wait.hasReturned()
            if result == .timedOut { cgrun_guest_wake_up(address) }
            if loop.handledCount - handled > ownHandled - own || result == .stopped && !isToEnd { return true }
            if result == .timedOut || result == .finished { return false }
        }
        return false
    }

    /// In the last observer of beforeSources: a run that never sleeps gives the others their turn.
    func lookAround(_ activity: Int) {
        guard isActive else { return }
        if activity == CGRUN_GUEST_EXIT {
            // Of a run that began before it was served nothing else tells the end.
            guard activities.isEmpty else { return }
            items?.withdrawTurn()
            oweAfterRun()
            return remind()
        }
        // What its observers have noted is all ahead in this pass; but what observers are added for comes in the next.
        if let mode = activities.last?.pass, !mode.hasOwedObservers { mode.settle() }
        guard isRunThere, let mode = currentMode(), mode.isWatched else { return }
        let now = ContinuousClock.now
        guard now > lastTurn + loop.timeSlice else { return }
        let (handled, own) = (loop.handledCount, ownHandled)
        activities.append(.look(depth: loop.runDepth + 1))
        prepareForRuns()
        _ = loop.run(mode: mode.mode, for: .zero)
        activities.removeLast()
        lastTurn = .now
        if loop.handledCount - handled > ownHandled - own { takeTurn(in: mode) } else { placeTurnAgain() }
        if owesAfterLook {
            owesAfterLook = false
            _ = mode.owe(quietly: true)
        }
        remind()
    }

    // MARK: A turn of our loop in a run of Core Foundation's

    /// Our loop has handled something: for whoever runs Core Foundation's that is a source of that.
    private func takeTurn(in mode: GuestMode) {
        activities.last?.run?.turnMode = mode
        items?.placeTurn(in: mode)
    }

    /// A run further in was not to see it.
    private func placeTurnAgain() {
        if let mode = activities.last?.run?.turnMode { items?.placeTurn(in: mode) }
    }

    func turnWasHandled() {
        activities.last?.run?.turnMode = nil
        items?.withdrawTurn()
        letGoOfItems()
    }
}
