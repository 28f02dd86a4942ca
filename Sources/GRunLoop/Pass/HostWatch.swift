// SPDX-License-Identifier: Apache-2.0
// What the hub tells a host that iterates the home context: whether there is work, and what to watch for.
//
// prepare and check run no user code, and what prepare leaves for check is only a hint: GLib may leave check() out.

import CGRun
import Glibc

/// The hub's poll records.
private enum Record: UInt32 {
    case descriptors, timer, mainQueue

    var bit: UInt32 { 1 << rawValue }
}

extension GRunLoop: HubOwner {
    /// Whether there is work in memory; if not, what to watch and that the host may sleep now.
    ///
    /// - Parameter isStale: something foreign was dispatched since the last head of a pass: the wait after that pass is
    ///   over, even if the host did not sleep in it, and the blocks that it has left behind are served.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = host.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !isHostInControl { lendLocked() }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Attaching sentinels has a cost, and must not be done by another thread: so here, and only on a
                // change.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaitTold)
                if !host.carried.isCurrent(ObjectIdentifier(mode), mode.contextsVersion) { carryLocked(mode, hub) }
                if hasWorkLocked(mode) { return true }
                if isStale, isWaitTold || hasLeftoversLocked(mode) { return true }
                let wakeUpTime = mode.heap.wakeUpTime()
                watched = watchLocked(mode, until: wakeUpTime, hub)
                if host.shortage.isNews || mustExplainStrandedLocked(mode) { return true }
                // The write that was to end the last sleep may arrive in this one.
                if sleep.takeKicked() { host.isRearmed = true }
                sleep.begin(
                    in: mode, wokenBy: .context(Contexts.of(hub)), until: wakeUpTime,
                    watchesDescriptors: watched & Record.descriptors.bit != 0)
                return false
            }
        }
    }

    /// With the lock held: the mode's further contexts are carried into the home context, and no other's.
    private func carryLocked(_ mode: ModeState, _ hub: UnsafeMutablePointer<GSource>) {
        let wanted = contextsLocked(of: mode).filter { $0.hub != hub }
        host.gone += host.carried.update(
            to: wanted, of: ObjectIdentifier(mode), version: mode.contextsVersion, into: hub)
    }

    /// Whether there is work, `found` being the records that the poll has found ready.
    func checkForHost(hasSlept: Bool, found: UInt32) -> Bool {
        lock.withLock {
            let hasSlept = hasSlept && isWaitTold
            // The sleep was interrupted only to begin again with another deadline or descriptor (items 76 and 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = host.hub { cgrun_hub_note_interrupted(hub) }
            // Without observers of the waits it is not known whether this was a sleep.
            if hasSlept || !isWaitTold { host.isRearmed = false }
            sleep.end()
            if found & Record.timer.bit != 0 { host.armedFor = .min }
            if host.shortage == .none {
                host.polled = .init(
                    descriptors: found & Record.descriptors.bit != 0, mainQueue: found & Record.mainQueue.bit != 0)
            }
            if found & ~Record.timer.bit != 0 {
                if found & UInt32(CGRUN_HUB_CLOSED) != 0 { host.shortage = .loss(errno: EBADF) }
                return true
            }
            if host.ambient._withUnsafeGuaranteedRef({ hasWorkLocked($0) }) { return true }
            // Nothing to do: our next item begins a new row.
            hostRun.turns.slice.end()
            return hasSlept && !wasRearmed
        }
    }

    /// With the lock held before and after: says, without it, what prepare has found to be wrong.
    func explainToHostLocked() {
        if case .loss(let errno) = host.shortage { loseDescriptorsLocked("poll", errno) }
        let hasShortage = host.shortage == .toBeSaid
        let isStranded = host.ambient._withUnsafeGuaranteedRef(mustExplainStrandedLocked)
        guard hasShortage || isStranded else { return }
        if hasShortage { host.shortage = .said }
        lock.unlock()
        defer { lock.lock() }
        if isStranded { MainQueue.explainStranded() }
        if hasShortage {
            Log.critical(
                "GRunLoop: no descriptor is left to watch timers and descriptors with while a host drives; they wait "
                    + "until one is. Close some descriptors or raise the limit. Said once")
        }
    }

    // MARK: With the lock held

    /// A callout of ours runs a foreign loop. What was enqueued before is for that loop, and wake-ups count from now
    /// on: the pass below may have ignored them, but it makes no other pass before the foreign loop sleeps.
    private func lendLocked() {
        frame?.run.stage.lend()
        owed.owe(.work)
    }

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if !owed.isDisjoint(with: [.wakeUp, .hostWakeUp]) || mustPassLocked(mode) || !host.gone.isEmpty { return true }
        if hasDueTimersLocked(mode) { return true }
        return (owed.contains(.work) || owed.contains(.news) && !isWaitTold) && hasLeftoversLocked(mode)
    }

    /// Without observers, a loop makes no first pass merely because it exists.
    private func mustPassLocked(_ mode: ModeState) -> Bool {
        owed.contains(.pass) && (hostRun.stage != .outside || !mode.observed.isEmpty)
    }

    /// Whether a timer is due. Not checked here if the timer descriptor is armed for the earliest deadline: the host's
    /// poll reports that, and no clock is read.
    private func hasDueTimersLocked(_ mode: ModeState) -> Bool {
        if host.armedFor == mode.heap.earliest, virtualTime == nil { return false }
        return mode.heap.earliest <= timeForTimersLocked(mode)
    }

    /// Whether there are signalled sources or blocks: a pass serves them, but they do not end a wait.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !mode.signalled.isEmpty || hasVisibleBlocksLocked(mode)
    }

    /// With the lock held: libdispatch closes the main queue's descriptor when the main thread ends or calls
    /// `dispatchMain()`. GLib must not poll a number that is closed.
    func forgetLostMainQueueLocked() {
        guard isMain, !MainQueue.isOurs, let hub = host.hub else { return }
        cgrun_hub_set_record(hub, Record.mainQueue.rawValue, -1)
    }

    /// Updates the hub's records, and returns which of them this poll is to watch. GLib is told only of changes.
    private func watchLocked(_ mode: ModeState, until wakeUpTime: Nanoseconds, _ hub: UnsafeMutablePointer<GSource>)
        -> UInt32
    {
        var watched: UInt32 = 0
        if mode.descriptors.watched >= 0, duplicateEpollLocked(of: mode) {
            cgrun_hub_set_record(hub, Record.descriptors.rawValue, host.epollDescriptor)
            watched |= Record.descriptors.bit
        }
        if armTimerLocked(for: wakeUpTime) {
            cgrun_hub_set_record(hub, Record.timer.rawValue, host.timerDescriptor)
            watched |= Record.timer.bit
        }
        if servesMainQueueLocked(mode) {
            cgrun_hub_set_record(hub, Record.mainQueue.rawValue, MainQueue.handle)
            watched |= Record.mainQueue.bit
        }
        return watched
    }

    private func duplicateEpollLocked(of mode: ModeState) -> Bool {
        if host.epollMode == ObjectIdentifier(mode) { return true }
        host.epollDescriptor =
            host.epollDescriptor < 0
            ? cgrun_duplicate(mode.descriptors.epoll)
            : cgrun_duplicate_onto(mode.descriptors.epoll, host.epollDescriptor)
        host.epollMode = host.epollDescriptor < 0 ? nil : ObjectIdentifier(mode)
        if host.epollDescriptor < 0 { noteShortage() }
        return host.epollDescriptor >= 0
    }

    /// Returns whether the timer descriptor is to be watched. Without a timer it stays as it is, unwatched.
    private func armTimerLocked(for time: Nanoseconds) -> Bool {
        guard time != .never else {
            host.armedFor = .min
            return false
        }
        guard time != host.armedFor else { return true }
        if host.timerDescriptor < 0 { host.timerDescriptor = cgrun_timer_new() }
        guard host.timerDescriptor >= 0 else {
            noteShortage()
            return false
        }
        // This also clears an expiry that was not read.
        guard cgrun_timer_arm(host.timerDescriptor, max(1, time)) else {
            host.shortage = .loss(errno: errno)
            return false
        }
        host.armedFor = time
        return true
    }

    private func noteShortage() {
        if host.shortage == .none { host.shortage = .toBeSaid }
    }
}
