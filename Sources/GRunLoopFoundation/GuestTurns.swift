// SPDX-License-Identifier: Apache-2.0
// Nests Foundation's run loop and our loop: makes passes of Foundation's loop while our loop runs, and runs our loop
// while Foundation's loop runs.

import CGRunFoundation
import GRunLoop

extension Guest {
    // MARK: Our loop runs

    /// Serves a mode in which Core Foundation may have work. The closure of the mode's source or descriptor source
    /// calls this function, in a callout of our loop.
    func serve(_ mode: GuestMode) {
        ownHandled += 1
        switch activities.last {
        case .wait(let wait) where wait.isInnermost(of: loop):
            // Our loop sleeps in place of Core Foundation's loop. If Core Foundation's last pass has left work, end
            // this sleep, so that Core Foundation does the work itself.
            let isQuiet = mode.settleQuietly()
            mode.settleLoudly()
            if isQuiet, !mode.isReadable { cgrun_guest_wake_up(address) }
            if isQuiet || mode.isReadable { wait.end(in: loop, of: address) }
        // Our loop runs inside a pass of Core Foundation. The rest of that pass handles all work that is not quiet.
        // Quiet work may need the next pass.
        case .look(loop.runCount):
            if mode.settleQuietly() { owesAfterLook = true }
            mode.settleLoudly()
        default: servePasses(mode)
        }
    }

    /// Makes passes until no work is left. After a time slice, stops and marks the rest as pending, so that other items
    /// can be handled.
    private func servePasses(_ mode: GuestMode) {
        // If a wake-up was meant for an outer wait, these passes may have consumed it. So end the outer wait.
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

    /// Makes one pass of Core Foundation's loop, without waiting. Returns true if a source was handled. The pass does
    /// not drain the main queue, because our loop drains it.
    @discardableResult func pass(_ mode: GuestMode) -> Bool {
        mode.settle()
        let finding = complete(mode)
        let hasObservers = mode.settleObservers()
        items?.withdrawTurn()
        activities.append(.pass(mode))
        var result = withoutMainQueue { cgrun_guest_pass(address, mode.name) }
        // Core Foundation does not run a mode without items, so the mode's observers, such as the observers of
        // notification queues, are not called. Also, if a due timer was cancelled, the epoll stays readable, because
        // Core Foundation does not read the timer's descriptor. So add the keeper source, which makes Core Foundation
        // run the mode.
        if result == CGRUN_GUEST_FINISHED, finding != .absent, hasObservers || mode.isReadable {
            items?.placeKeeper(in: mode)
            result = withoutMainQueue { cgrun_guest_pass(address, mode.name) }
            items?.withdrawKeeper()
        }
        activities.removeLast()
        owesWakeUp = true
        placeTurnAgain()
        passOnStop()
        return result == CGRUN_GUEST_HANDLED
    }

    /// Repeats a stop that was called during the pass that has just ended, because the program meant it for the run
    /// around this pass. If this pass is nested in another pass of ours, the stop is repeated after the outer pass.
    private func passOnStop() {
        let isToStop = stops.withLock { stops in
            guard !stops.isInPass else { return false }
            defer { stops.isOwed = false }
            return stops.isOwed
        }
        if isToStop, activities.contains(where: { $0.run != nil }) || isInCoreFoundationRun {
            cgrun_guest_stop(address)
        }
    }

    /// At the beginning of a run, Core Foundation decides whether the run drains the main queue. The run does not drain
    /// the queue if the thread is already draining it. So this function sets Core Foundation's word for "this thread is
    /// draining the main queue". Our first observer of beforeTimers restores the word.
    private func withoutMainQueue(_ pass: () -> Int32) -> Int32 {
        guard isMain else { return pass() }
        let outer = savedDrainingFlag
        savedDrainingFlag = cgrun_guest_set_draining(1)
        defer {
            setDrainingBack()
            savedDrainingFlag = outer
        }
        return pass()
    }

    private func setDrainingBack() {
        if let word = savedDrainingFlag.take() { _ = cgrun_guest_set_draining(word) }
    }

    /// Called by the first observer of entry and of beforeTimers. Reverts settings that only apply to the beginning of
    /// a run.
    func openUp(_ activity: Int) {
        guard activity == CGRUN_GUEST_BEFORE_TIMERS else {
            // The run has begun, so the keeper source is not needed any more. Without this source, the mode counts as
            // empty again.
            items?.withdrawKeeper()
            return
        }
        setDrainingBack()
        activities.last?.run?.noteFirstPass()
        if owesOrder.exchange(false, ordering: .relaxed) { items?.moveBack(in: watchedModes) }
    }

    // MARK: Core Foundation's runs

    /// Called before a run of Core Foundation that the program or Foundation makes, perhaps in a mode that our loop
    /// does not serve yet. Returns true if `left` must be called after the run.
    func entered(_ name: UnsafeRawPointer?, for seconds: Double) -> Bool {
        guard isActive else { return false }
        items?.withdrawTurn()
        modeToRun(name).map { _ = complete($0) }
        activities.append(.run(GuestRun(seconds: seconds)))
        return true
    }

    /// Called after a run for which ``entered(_:for:)`` returned true, even if Core Foundation's loop is not served any
    /// more.
    func left() {
        guard activities.last?.run != nil else { return }
        activities.removeLast()
        items?.withdrawTurn()
        guard isServed else { return letGoOfItems() }
        placeTurnAgain()
        oweAfterRun()
        remind()
    }

    /// Called by the last observer of beforeWaiting. Our loop sleeps in place of Core Foundation's loop, so that both
    /// loops are served.
    func waitInstead() {
        guard isActive, let mode = currentMode(), complete(mode) == .watched else { return }
        // Core Foundation's pass has handled all work that is not quiet. If the epoll is readable, Core Foundation will
        // not sleep.
        mode.settleLoudly()
        guard !mode.isReadable else { return }
        let wait = GuestWait(depth: loop.runCount + 1, mode)
        let run = activities.last?.run
        // Core Foundation must handle the turn source before it sleeps.
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

    /// Runs our loop in place of a sleep of Core Foundation. Returns true if our loop or GLib has handled an item or
    /// event, or if the program has stopped the run. Returns false if the run of Core Foundation must continue as after
    /// an ordinary sleep.
    private func waitForTurn(_ wait: GuestWait, until limit: GRunLoop.Instant) -> Bool {
        while isServed, !wait.mode.isReadable {
            let (handled, own) = (loop.handledCount, ownHandled)
            // Core Foundation wakes itself at the limit of its run. A nested run may have consumed this wake-up, so our
            // run ends 200 us after the limit. In virtual time, our run has no limit, because a run with a limit would
            // move the clock.
            let rest = GRunLoop.Instant.now.duration(to: limit) + .microseconds(200)
            let span = loop.isInVirtualTime ? nil : rest
            let result = loop.run(mode: wait.mode.mode, for: span, returningAfterSourceHandled: true)
            let isToEnd = wait.hasReturned()
            if result == .timedOut { cgrun_guest_wake_up(address) }
            if loop.handledCount - handled > ownHandled - own || result == .stopped && !isToEnd { return true }
            if result == .timedOut || result == .finished { return false }
        }
        return false
    }

    /// Called by the last observer of beforeSources and exit. If Core Foundation's run never sleeps, this function runs
    /// our loop once in each time slice.
    func lookAround(_ activity: Int) {
        guard isActive else { return }
        if activity == CGRUN_GUEST_EXIT {
            // If Core Foundation's run began before serving, only this observer reports the run's end.
            guard activities.isEmpty else { return }
            items?.withdrawTurn()
            oweAfterRun()
            return remind()
        }
        // If our library makes this pass, the rest of the pass does all work that has arrived. But new observers need
        // the next pass.
        if let mode = activities.last?.pass, !mode.hasOwedObservers { mode.settle() }
        guard isInCoreFoundationRun, let mode = currentMode(), mode.isWatched else { return }
        let now = ContinuousClock.now
        guard now > lastTurn + loop.timeSlice else { return }
        let (handled, own) = (loop.handledCount, ownHandled)
        activities.append(.look(depth: loop.runCount + 1))
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

    /// Called after our loop has handled an item. Makes Core Foundation handle the turn source, so that Core
    /// Foundation's run counts a handled source.
    private func takeTurn(in mode: GuestMode) {
        activities.last?.run?.turnMode = mode
        items?.placeTurn(in: mode)
    }

    /// If the innermost run still needs the turn source, adds this source again. The source was removed so that a
    /// nested run could not handle it.
    private func placeTurnAgain() {
        if let mode = activities.last?.run?.turnMode { items?.placeTurn(in: mode) }
    }

    func turnWasHandled() {
        activities.last?.run?.turnMode = nil
        items?.withdrawTurn()
        letGoOfItems()
    }
}
