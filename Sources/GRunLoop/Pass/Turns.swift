// SPDX-License-Identifier: Apache-2.0
// Whose turn it is once a slice of time is used up.

/// The kinds of work that a pass does. Each has its turn: see ``GRunLoop/isCutLocked(_:after:)``.
struct Turns: OptionSet {
    let rawValue: UInt8

    static let blocks = Turns(rawValue: 1 << 0)
    static let sources = Turns(rawValue: 1 << 1)
    static let contexts = Turns(rawValue: 1 << 2)
    static let mainQueue = Turns(rawValue: 1 << 3)
    static let timers = Turns(rawValue: 1 << 4)
    static let descriptors = Turns(rawValue: 1 << 5)
    /// The host's turn: nothing of ours is served.
    static let host = Turns(rawValue: 1 << 6)

    /// What a wait ends with.
    static let found: Turns = [.contexts, .mainQueue, .timers, .descriptors]

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// For a wake-up nothing is called.
    init(_ kind: GRunLoop.ReadyItem.Kind) {
        switch kind {
        case .wakeUp: self = []
        case .mainQueue: self = .mainQueue
        case .timers: self = .timers
        case .descriptor: self = .descriptors
        }
    }
}

extension GRunLoop {
    /// With the lock held, after each item of a step: whether the rest of the step waits, because the slice is used up
    /// and other kinds have their turn. Where we drive this is so only if other kinds are ready: otherwise the order of
    /// a pass depends on no clock.
    ///
    /// - Parameter kind: what the step serves. Of the other kinds those that are ready now come before it, each once:
    ///   `Activation.owed`.
    @inline(__always) func isCutLocked(_ run: Activation, after kind: Turns) -> Bool {
        run.slice.isSpent(sliceLength, after: kind) && cutLocked(run, after: kind)
    }

    @inline(never) func cutLocked(_ run: Activation, after kind: Turns) -> Bool {
        if run.isHosted {
            leaveToHostLocked(run, after: kind)
            return true
        }
        // The kinds that are owed a turn share one slice. Once that is used up, each gets one item.
        guard run.owed.isEmpty else { return true }
        // Virtual time must not depend on a real clock.
        guard virtualTime == nil else {
            run.slice.restart()
            return false
        }
        run.owed = readyTurnsLocked(run).subtracting(kind)
        run.slice.restart()
        return !run.owed.isEmpty
    }

    /// The dispatch ends, in whatever stage. The next one begins with the kinds that are owed a turn then.
    private func leaveToHostLocked(_ run: Activation, after kind: Turns) {
        guard run.owed != .host else { return }
        host.owed = run.owed.subtracting(kind)
        if host.owed.isEmpty {
            let ready = readyTurnsLocked(run)
            let others = ready.subtracting(kind)
            // If no other kind is ready, the next dispatch goes on with the same kind at once.
            host.owed = others.isEmpty ? ready.intersection(.found) : others
        }
        run.owed = .host
    }

    /// The same without the lock, in a callout that runs several items: jobs, performs.
    func isSliceSpent() -> Bool {
        lock.withLock { activation.map { isCutLocked($0, after: .sources) } ?? false }
    }

    /// With the lock held, which it gives up meanwhile: what is ready now, found without waiting and without taking
    /// anything. Under a host, which looks at the home context itself, only the further ones are looked at.
    private func readyTurnsLocked(_ run: Activation) -> Turns {
        let mode = run.mode
        var ready: Turns = []
        if hasVisibleBlocksLocked(mode) { ready.insert(.blocks) }
        if !mode.signalled.isEmpty { ready.insert(.sources) }
        if mode.heap.earliest <= timeForTimersLocked(mode) { ready.insert(.timers) }
        let found = pollLocked(
            run,
            own: OwnDescriptors(
                descriptors: mode.descriptors.watched, mainQueue: servesMainQueueLocked(mode) ? MainQueue.handle : -1))
        if !found.readyContexts.isEmpty { ready.insert(.contexts) }
        if found.mainQueue { ready.insert(.mainQueue) }
        if found.descriptors { ready.insert(.descriptors) }
        return ready
    }

    /// With the lock held: these kinds have had their turn. When all that were owed one have, a new slice begins.
    @inline(__always) func endTurnLocked(_ run: Activation, of kinds: Turns) {
        if !run.owed.isEmpty { endOwedTurnLocked(run, of: kinds) }
    }

    /// If these turns used up a slice themselves, the other kinds have their turn again.
    @inline(never) private func endOwedTurnLocked(_ run: Activation, of kinds: Turns) {
        run.owed.subtract(kinds)
        guard run.owed.isEmpty, !run.isHosted else { return }
        if run.slice.isOver { run.owed = readyTurnsLocked(run).subtracting(kinds) }
        run.slice.restart()
    }

    /// The same for what a wait has found. A kind that it has not found is not ready any more, and its turn is over.
    @inline(never) func endTurnsLocked(_ run: Activation, of found: Found) {
        let served = found.item.map { Turns($0.kind) } ?? []
        endOwedTurnLocked(run, of: served.isEmpty ? .found : served.union(.contexts))
    }

    /// With the lock held, after the ready contexts had their turn: dispatches them up to two times more, so that lower
    /// priorities of a context have their turn, too. A dispatch serves one priority, and may draw a frame for 25 ms:
    /// after `end` no more follow, or our timers would be late by three frames.
    func yieldLocked(_ run: Activation, until end: Nanoseconds) {
        for _ in 0..<2 {
            guard .now() < end else { return }
            let ready = readyContextsLocked(run)
            guard !ready.isEmpty else { return }
            for served in ready { dispatchLocked(served, run) }
        }
    }

    /// With the lock held before and after: the run's contexts that are ready.
    func readyContextsLocked(_ run: Activation) -> [ServedContext] {
        let hasContexts = run.isHosted ? !host.carried.isEmpty : !run.contexts.list.isEmpty
        return hasContexts ? pollLocked(run, own: OwnDescriptors()).readyContexts : []
    }

    /// With the lock held before and after: a look at the run's contexts and descriptors that does not wait.
    private func pollLocked(_ run: Activation, own: OwnDescriptors) -> PollResult {
        let contexts = run.isHosted ? host.carried.served : run.contexts.list
        lock.unlock()
        defer { lock.lock() }
        return poller.poll(contexts, own: own, deadline: .min)
    }
}
