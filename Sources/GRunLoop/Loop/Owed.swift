// SPDX-License-Identifier: Apache-2.0
// The passes that are owed, and to whom.

/// What keeps the loop, or its host, from sleeping before another pass. Guarded by the loop's lock.
///
///                 owed by                                                settled by
///     wakeUp      wakeUp() while a run is under way                      the pass that serves it
///     hostWakeUp  wakeUp() while none is; a dispatch that leaves wakeUp  the host's next dispatch: its run is owed it
///     work        a callback of the host: a block, a signal, a run       the host's next dispatch
///     news        another thread: the same                               the host's next dispatch
///     pass        a pass that was cut; a loop that is attached           the host's next pass
struct Owed: OptionSet {
    let rawValue: UInt8

    /// To the innermost run.
    static let wakeUp = Owed(rawValue: 1 << 0)
    /// To the host: it makes a pass, also if it sleeps.
    static let hostWakeUp = Owed(rawValue: 1 << 1)
    /// To the host, if blocks or signals are left when it looks.
    static let work = Owed(rawValue: 1 << 2)
    /// The same, but a host that is about to sleep sleeps (items 74 and 75).
    static let news = Owed(rawValue: 1 << 3)
    /// To the host, even without work.
    static let pass = Owed(rawValue: 1 << 4)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    mutating func owe(_ what: Owed) { formUnion(what) }
    mutating func settle(_ what: Owed) { subtract(what) }

    /// A dispatch of the host begins: what was owed to the host is owed to its run now.
    mutating func takeFromHost() {
        if contains(.hostWakeUp) { owe(.wakeUp) }
        settle([.hostWakeUp, .work, .news])
    }

    /// Nothing of ours is under way any more: what is left of a wake-up is the host's, not the next run's (item 68).
    mutating func handToHost() {
        guard contains(.wakeUp) else { return }
        settle(.wakeUp)
        owe(.hostWakeUp)
    }
}

extension GRunLoop {
    enum Reach {
        case innermostRun, everyRun
    }

    /// With the lock held: wakes the loop, unless it would not sleep before another pass anyway (items 68 to 71).
    ///
    /// - Parameter reach: a stop is for the innermost run; anything else may be for every run for which it counts now.
    func wakeUpLocked(for reach: Reach = .everyRun) -> Kick? {
        // The host's next prepare sees it. Where a callout of ours runs a foreign loop, its run counts wake-ups.
        if let innermost {
            if reach == .everyRun, !isCurrent { owePassesLocked() }
            guard innermost._withUnsafeGuaranteedRef({ $0.run.stage.countsWakeUps }) else { return nil }
            owed.owe(.wakeUp)
        } else {
            owed.owe(.hostWakeUp)
        }
        return sleep.kick(self)
    }

    /// With the lock held: every run in which another thread's wake-up counts makes a pass before it sleeps, though a
    /// nested one may serve it.
    @inline(never) private func owePassesLocked() {
        for frame in framesLocked where frame.run.stage.countsWakeUps { frame.run.owesPass = true }
    }

    /// With the lock held, before a sleep: there is none if the run was stopped, or if a nested run has served another
    /// thread's wake-up that counted for this run. Core Foundation sleeps in the latter case until something else
    /// happens.
    func recallWakeUpLocked(_ run: Run) {
        guard run.isStopped || run.owesPass else { return }
        run.owesPass = false
        owed.owe(.wakeUp)
    }

    /// With the lock held: something was enqueued or signalled, without a wake-up. It is for the pass under way or,
    /// from a callback of the host or another thread, for the host's next iteration, which it does not cause (item 74).
    func owePassToHostLocked() {
        if !isCurrent {
            owed.owe(.news)
        } else if isHostInControl {
            owed.owe(.work)
        }
    }

    /// With the lock held: no pass of ours is under way, or a callout of one runs a foreign loop.
    var isHostInControl: Bool {
        innermost.map { $0._withUnsafeGuaranteedRef { !$0.run.stage.isInPass } } ?? true
    }
}
