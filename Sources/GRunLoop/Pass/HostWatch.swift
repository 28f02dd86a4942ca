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
    var hubFunctions: cgrun_hub_funcs {
        cgrun_hub_funcs(
            prepare: hubPrepare, check: hubCheck, dispatch: hubDispatch, is_waiting: hubIsWaiting, idle: hubIdle,
            release: hubRelease)
    }

    /// Whether there is work in memory; if not, what to watch and that the host may sleep now.
    ///
    /// - Parameter isStale: something foreign was dispatched since the last head of a pass: the wait after that pass is
    ///   over, even if the host did not sleep in it, and the blocks that it has left behind are served.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = hostPoll.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !isHostInControl { lendLocked() }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Attaching sentinels has a cost, and must not be done by another thread: so here, and only on a
                // change.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaitTold)
                if !hostPoll.carried.isCurrent(ObjectIdentifier(mode), mode.contextsVersion) { carryLocked(mode, hub) }
                if hasWorkLocked(mode) { return true }
                if isStale, isWaitTold || hasLeftoversLocked(mode) { return true }
                let wakeUpTime = mode.heap.wakeUpTime()
                watched = watchLocked(mode, until: wakeUpTime, hub)
                if hostPoll.shortage.isNews || mustExplainStrandedLocked(mode) { return true }
                // The write that was to end the last sleep may arrive in this one.
                if sleep.takeKicked() { host.isRearmed = true }
                sleep.begin(in: mode, wokenBy: .context(Contexts.of(hub)), until: wakeUpTime)
                return false
            }
        }
    }

    /// With the lock held: the mode's further contexts are carried into the home context, and no other's.
    private func carryLocked(_ mode: ModeState, _ hub: UnsafeMutablePointer<GSource>) {
        let wanted = contextsLocked(of: mode).filter { $0.hub != hub }
        hostPoll.gone += hostPoll.carried.update(
            to: wanted, of: ObjectIdentifier(mode), version: mode.contextsVersion, into: hub)
    }

    /// Whether there is work, `found` being the records that the poll has found ready.
    func checkForHost(hasSlept: Bool, found: UInt32) -> Bool {
        lock.withLock {
            let hasSlept = hasSlept && isWaitTold
            // The sleep was interrupted only to begin again with another deadline or descriptor (items 76 and 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = hostPoll.hub { cgrun_hub_note_interrupted(hub) }
            // Without observers of the waits it is not known whether this was a sleep.
            if hasSlept || !isWaitTold { host.isRearmed = false }
            sleep.end()
            if found & Record.timer.bit != 0 { hostPoll.armedFor = .min }
            if hostPoll.shortage == .none {
                host.polled = .init(
                    descriptors: found & Record.descriptors.bit != 0, mainQueue: found & Record.mainQueue.bit != 0)
            }
            if found & ~Record.timer.bit != 0 {
                if found & UInt32(CGRUN_HUB_CLOSED) != 0 { hostPoll.shortage = .loss(errno: EBADF) }
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
        if case .loss(let errno) = hostPoll.shortage { loseDescriptorsLocked("poll", errno) }
        let hasShortage = hostPoll.shortage == .toBeSaid
        let isStranded = host.ambient._withUnsafeGuaranteedRef(mustExplainStrandedLocked)
        guard hasShortage || isStranded else { return }
        if hasShortage { hostPoll.shortage = .said }
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
        if !owed.isDisjoint(with: [.wakeUp, .hostWakeUp]) || mustPassLocked(mode) { return true }
        if !hostPoll.gone.isEmpty || hasDueTimersLocked(mode) { return true }
        return (owed.contains(.work) || owed.contains(.news) && !isWaitTold) && hasLeftoversLocked(mode)
    }

    /// Without observers, a loop makes no first pass merely because it exists.
    private func mustPassLocked(_ mode: ModeState) -> Bool {
        owed.contains(.pass) && (hostRun.stage != .outside || !mode.observed.isEmpty)
    }

    /// Whether a timer is due. Not checked here if the timer descriptor is armed for the earliest deadline: the host's
    /// poll reports that, and no clock is read.
    private func hasDueTimersLocked(_ mode: ModeState) -> Bool {
        if hostPoll.armedFor == mode.heap.earliest, virtualTime == nil { return false }
        return mode.heap.earliest <= timeForTimersLocked(mode)
    }

    /// Whether there are signalled sources or blocks: a pass serves them, but they do not end a wait.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !mode.signalled.isEmpty || hasVisibleBlocksLocked(mode)
    }

    /// With the lock held: libdispatch closes the main queue's descriptor when the main thread ends or calls
    /// `dispatchMain()`. GLib must not poll a number that is closed.
    func forgetLostMainQueueLocked() {
        guard isMain, !MainQueue.isOurs, let hub = hostPoll.hub else { return }
        cgrun_hub_set_record(hub, Record.mainQueue.rawValue, -1)
    }

    /// Updates the hub's records, and returns which of them this poll is to watch. GLib is told only of changes.
    private func watchLocked(_ mode: ModeState, until wakeUpTime: Nanoseconds, _ hub: UnsafeMutablePointer<GSource>)
        -> UInt32
    {
        var watched: UInt32 = 0
        if mode.descriptors.watched >= 0, duplicateEpollLocked(of: mode) {
            cgrun_hub_set_record(hub, Record.descriptors.rawValue, hostPoll.epollDescriptor)
            watched |= Record.descriptors.bit
        }
        if armTimerLocked(for: wakeUpTime) {
            cgrun_hub_set_record(hub, Record.timer.rawValue, hostPoll.timerDescriptor)
            watched |= Record.timer.bit
        }
        if servesMainQueueLocked(mode) {
            cgrun_hub_set_record(hub, Record.mainQueue.rawValue, MainQueue.handle)
            watched |= Record.mainQueue.bit
        }
        return watched
    }

    private func duplicateEpollLocked(of mode: ModeState) -> Bool {
        if hostPoll.epollMode == ObjectIdentifier(mode) { return true }
        hostPoll.epollDescriptor =
            hostPoll.epollDescriptor < 0
            ? cgrun_duplicate(mode.descriptors.epoll)
            : cgrun_duplicate_onto(mode.descriptors.epoll, hostPoll.epollDescriptor)
        hostPoll.epollMode = hostPoll.epollDescriptor < 0 ? nil : ObjectIdentifier(mode)
        if hostPoll.epollDescriptor < 0 { noteShortage() }
        return hostPoll.epollDescriptor >= 0
    }

    /// Returns whether the timer descriptor is to be watched. Without a timer it stays as it is, unwatched.
    private func armTimerLocked(for time: Nanoseconds) -> Bool {
        guard time != .never else {
            hostPoll.armedFor = .min
            return false
        }
        guard time != hostPoll.armedFor else { return true }
        if hostPoll.timerDescriptor < 0 { hostPoll.timerDescriptor = cgrun_timer_new() }
        guard hostPoll.timerDescriptor >= 0 else {
            noteShortage()
            return false
        }
        // This also clears an expiry that was not read.
        guard cgrun_timer_arm(hostPoll.timerDescriptor, max(1, time)) else {
            hostPoll.shortage = .loss(errno: errno)
            return false
        }
        hostPoll.armedFor = time
        return true
    }

    private func noteShortage() {
        if hostPoll.shortage == .none { hostPoll.shortage = .toBeSaid }
    }
}

// MARK: The functions that hub.c calls

/// GLib holds the hub during the call, and the hub holds the loop: no reference is counted.
private func with<Result>(_ pointer: UnsafeMutableRawPointer, _ body: (GRunLoop) -> Result) -> Result {
    Unmanaged<GRunLoop>.fromOpaque(pointer)._withUnsafeGuaranteedRef { body($0) }
}

private let hubPrepare: @convention(c) (UnsafeMutableRawPointer?, Bool, UnsafeMutablePointer<UInt32>?) -> Bool = {
    pointer, isStale, watched in
    guard let pointer, let watched else { return false }
    return with(pointer) { $0.prepareForHost(isStale: isStale, &watched.pointee) }
}

private let hubCheck: @convention(c) (UnsafeMutableRawPointer?, Bool, UInt32) -> Bool = { pointer, hasSlept, found in
    guard let pointer else { return false }
    return with(pointer) { $0.checkForHost(hasSlept: hasSlept, found: found) }
}

private let hubDispatch: @convention(c) (UnsafeMutableRawPointer?) -> Void = { pointer in
    guard let pointer else { return }
    with(pointer) { $0.serveHost() }
}

private let hubIsWaiting: @convention(c) (UnsafeMutableRawPointer?) -> Bool = { pointer in
    guard let pointer else { return false }
    return with(pointer) { $0.isWaitTold }
}

private let hubIdle: @convention(c) (UnsafeMutableRawPointer?, Bool) -> Void = { pointer, isStale in
    guard let pointer else { return }
    with(pointer) { $0.hostIsIdle(isStale: isStale) }
}

private let hubRelease: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
    guard let pointer = $0 else { return }
    Unmanaged<GRunLoop>.fromOpaque(pointer).release()
}
