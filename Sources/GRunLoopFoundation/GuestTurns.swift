// SPDX-License-Identifier: Apache-2.0
// What is done for Foundation's run loop: its passes while our loop runs, and our loop's while that one runs.

import CGRunFoundation
import GRunLoop

/// What of both loops is on the stack.
enum GuestActivity {
    /// A pass of Core Foundation's that we make.
    case pass
    /// A run of Core Foundation's that somebody else makes, for so many seconds from its first pass on.
    case run(seconds: Double, until: GRunLoop.Instant?)
    /// A run of our loop in the place of Core Foundation's sleep.
    case wait(depth: Int, GuestMode)
    /// A run of our loop, of no length, in a run of Core Foundation's that does not sleep.
    case look(depth: Int)
}

extension Guest {
    // MARK: Our loop runs

    /// In a callout of our loop: Core Foundation has something to do in this mode, or may have.
    func serve(_ mode: GuestMode) {
        ownHandled += 1
        guard complete(mode) else { return }
        switch activities.last {
        case .wait(loop.runDepth, _):
            // Core Foundation sleeps, and we in its place: it goes on itself.
            let isQuiet = mode.settleQuietly()
            if isQuiet, !mode.isReadable { cgrun_guest_wake_up(address) }
            if isQuiet || mode.isReadable { endWait() }
        // What follows in Core Foundation's pass sees most of it; what it is not woken for may be for the next one.
        case .look(loop.runDepth):
            if mode.settleQuietly() { owesAfterLook = true }
            mode.settleLoudly()
        default: servePasses(mode)
        }
    }

    private func endWait() {
        endsWait = true
        loop.stop()
    }

    /// Passes until there is nothing to do, or the others have their turn.
    private func servePasses(_ mode: GuestMode) {
        defer { wakeWaiting() }
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

    /// A wait further out in which passes were made may have lost its wake-up to them, that of its limit among them: it
    /// looks for itself once it is the innermost one again.
    private func wakeWaiting() {
        guard waker == nil, let mode = activities.compactMap(\.waitingMode).last else { return }
        let observer = GRunLoop.Observer(activities: .beforeTimers) { [weak self] observer, _ in
            guard let self, case .wait(loop.runDepth, _) = activities.last else { return }
            observer.invalidate()
            waker = nil
            cgrun_guest_wake_up(address)
            endWait()
        }
        waker = observer
        loop.add(observer, forMode: mode.mode)
    }

    /// One pass of Core Foundation's, without waiting. Whether it has handled a source. The main queue is our loop's.
    @discardableResult func pass(_ mode: GuestMode) -> Bool {
        mode.settle()
        activities.append(.pass)
        defer { activities.removeLast() }
        let hasObservers = owesObservers.exchange(false, ordering: .relaxed)
        var result = keepingOff { cgrun_guest_pass(address, mode.name) }
        // Of a mode without items it calls no observers, as if it did not run it: notifications would wait for ever.
        if result == CGRUN_GUEST_FINISHED, hasObservers, let keeper {
            cgrun_guest_add_source(address, keeper, mode.name)
            result = keepingOff { cgrun_guest_pass(address, mode.name) }
            if isServed { cgrun_guest_remove_source(address, keeper, mode.name) }
        }
        return result == CGRUN_GUEST_HANDLED
    }

    /// Core Foundation decides at the beginning of a run whether that serves the main queue: not in a drain of it. For
    /// our passes that is so until the first thing is called in them.
    private func keepingOff(_ pass: () -> Int32) -> Int32 {
        guard isMain else { return pass() }
        let before = cgrun_guest_set_draining(1)
        wordOfDraining = before
        defer { openUp() }
        return pass()
    }

    /// An observer of beforeTimers, the first one.
    func openUp() {
        if let word = wordOfDraining.take() { _ = cgrun_guest_set_draining(word) }
        noteFirstPass()
    }

    // MARK: Core Foundation's runs

    /// Before one that is not ours.
    func entered(for seconds: Double) {
        guard loop.isCurrent else { return }
        activities.append(.run(seconds: seconds, until: nil))
    }

    /// Core Foundation's limit counts from the first pass, after the observers of the entry.
    private func noteFirstPass() {
        guard case .run(let seconds, nil) = activities.last else { return }
        let isEndless = seconds.isNaN || seconds > 1e9
        let end = isEndless ? GRunLoop.distantFuture : .now.advanced(by: .seconds(max(0, seconds)))
        activities[activities.count - 1] = .run(seconds: seconds, until: end)
    }

    /// After it. It may have begun before it was served.
    func left() {
        guard loop.isCurrent, activities.last?.isRun == true else { return }
        activities.removeLast()
        if owesAfterRun {
            owesAfterRun = false
            owe(quietly: activities.last?.isInsideRun == true)
        }
        remind()
    }

    /// An observer of beforeWaiting, the last one: our loop sleeps in the place of Core Foundation, and all is served.
    func waitInstead() {
        guard let mode = currentMode(), complete(mode) else { return }
        // Its pass has seen all of it, or will not sleep.
        mode.settleLoudly()
        guard !mode.isReadable else { return }
        if activities.count(where: { $0.waitingMode != nil }) + 1 == waiterCount { addWaiter() }
        noteFirstPass()
        let limit = activities.last?.limit ?? GRunLoop.distantFuture
        activities.append(.wait(depth: loop.runDepth + 1, mode))
        defer { activities.removeLast() }
        while isServed, !mode.isReadable {
            endsWait = false
            let (handled, own) = (loop.handledCount, ownHandled)
            // At its limit Core Foundation wakes itself; but a nested run may have taken that wake-up.
            let rest = GRunLoop.now.duration(to: limit) + .microseconds(200)
            let result = loop.run(mode: mode.mode, for: rest, returningAfterSourceHandled: true)
            if result == .timedOut { return cgrun_guest_wake_up(address) }
            if loop.handledCount - handled > ownHandled - own || result == .stopped && !endsWait {
                return takeTurn(in: mode)
            }
            if result == .finished { return }
        }
    }

    /// An observer of beforeSources, the last one: a run that never sleeps gives the others their turn.
    func lookAround() {
        guard isRunThere, let mode = currentMode(), mode.epoll >= 0 else { return }
        let now = ContinuousClock.now
        guard now > lastTurn + loop.timeSlice else { return }
        let (handled, own) = (loop.handledCount, ownHandled)
        activities.append(.look(depth: loop.runDepth + 1))
        _ = loop.run(mode: mode.mode, for: .zero)
        activities.removeLast()
        lastTurn = .now
        if loop.handledCount - handled > ownHandled - own { takeTurn(in: mode) }
        if owesAfterLook {
            owesAfterLook = false
            _ = mode.owe(quietly: true)
        }
        remind()
    }
}

extension GuestActivity {
    var waitingMode: GuestMode? { if case .wait(_, let mode) = self { mode } else { nil } }
    var limit: GRunLoop.Instant? { if case .run(_, let limit) = self { limit } else { nil } }
    var isRun: Bool { if case .run = self { true } else { false } }
    /// A run of our loop inside one of Core Foundation's.
    var isInsideRun: Bool {
        switch self {
        case .wait, .look: true
        case .pass, .run: false
        }
    }
}
