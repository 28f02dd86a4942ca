// SPDX-License-Identifier: Apache-2.0
// Returns to a host that iterates the home context whether there is work, and what its poll is to watch.
//
// `prepare` and `check` run no user code. The state that `prepare` leaves for `check` is only a hint, because GLib may
// leave out the call of `check`.

import CGRun
import Glibc

/// The hub's poll records, by number.
private enum Record: UInt32 {
    case descriptors, timer, mainQueue

    var bit: UInt32 { 1 << rawValue }
}

extension GRunLoop {
    var hubFunctions: cgrun_hub_funcs {
        cgrun_hub_funcs(
            prepare: hubPrepare, check: hubCheck, dispatch: hubDispatch, may_sleep: hubMaySleep, idle: hubIdle,
            release: hubRelease)
    }

    /// Returns whether there is work in memory. If there is none, updates what the host's poll watches, and begins a
    /// sleep.
    ///
    /// - Parameters:
    ///   - isStale: whether the host has dispatched a foreign source since the last head of a pass. If so, the wait
    ///     after that head is over, even without a sleep. Then afterWaiting, and blocks that came since, are work.
    ///   - watched: receives a bit for each of the hub's records that the poll watches.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = host.poll.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !isHostInControl { suspendPassLocked() }
            if cgrun_is_inspecting() { probe?.hostWillPollLocked(of: self) }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Attaching sentinels has a cost, and another thread must not do it. So it is done here, and only on a
                // change.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaitAnnounced || owesFirstPassLocked(mode))
                if !host.poll.carried.isCurrent(ObjectIdentifier(mode), mode.contextsVersion) { carryLocked(mode, hub) }
                if hasWorkLocked(mode) { return true }
                if isStale, isWaitAnnounced || hasLeftoversLocked(mode) { return true }
                let wakeUpTime = mode.heap.wakeUpTime()
                watched = watchLocked(mode, until: wakeUpTime, hub)
                if host.poll.shortage.needsDispatch || mustExplainStrandedLocked(mode) { return true }
                // The write that was sent to end the last sleep may arrive in this sleep, and interrupt it.
                if sleep.takeKicked() { host.isRearmed = true }
                sleep.begin(in: mode, wokenBy: .context(Contexts.of(hub)), until: wakeUpTime)
                return false
            }
        }
    }

    /// Carries the mode's further contexts into the home context, and stops carrying all others. Call it with the lock
    /// held.
    private func carryLocked(_ mode: ModeState, _ hub: UnsafeMutablePointer<GSource>) {
        let wanted = contextsLocked(of: mode).filter { $0.hub != hub }
        host.poll.gone += host.poll.carried.update(
            to: wanted, of: ObjectIdentifier(mode), version: mode.contextsVersion, into: hub)
    }

    /// Returns whether there is work after the host's poll.
    ///
    /// - Parameters:
    ///   - hasSlept: whether the poll lasted long enough for a sleep. Always false without sentinels.
    ///   - found: a bit for each record that the poll has found ready, and `CGRUN_HUB_CLOSED` if a record's descriptor
    ///     is not open.
    func checkForHost(hasSlept: Bool, found: UInt32) -> Bool {
        lock.withLock {
            let hasSlept = hasSlept && isWaitAnnounced
            tell(.hostHasPolled)
            // True if the sleep was interrupted only to begin again with another deadline or descriptor (items 76 and
            // 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = host.poll.hub { cgrun_hub_note_interrupted(hub) }
            // Without observers of the waits, nobody knows whether this was a sleep, so `isRearmed` is cleared.
            if hasSlept || !isWaitAnnounced { host.isRearmed = false }
            sleep.end()
            if found & Record.timer.bit != 0 { host.poll.noteExpired() }
            // If the host cannot watch the descriptors, the dispatch asks the kernel for them.
            host.polled = .init(
                descriptors: host.poll.shortage != .none || found & Record.descriptors.bit != 0,
                mainQueue: found & Record.mainQueue.bit != 0)
            if found & ~Record.timer.bit != 0 {
                if found & UInt32(CGRUN_HUB_CLOSED) != 0 { host.poll.noteClosed() }
                return true
            }
            if host.ambient._withUnsafeGuaranteedRef({ hasWorkLocked($0) }) { return true }
            // The loop has nothing to do, so its next item begins a new row.
            host.run.scheduler.endRow()
            return hasSlept && !wasRearmed
        }
    }

    /// Logs what `prepare` has found to be wrong. The lock is held before and after, and released while it logs.
    func explainToHostLocked() {
        if case .loss(let call, let errno) = host.poll.shortage { loseDescriptorsLocked(call.rawValue, errno) }
        let shortage = host.poll.takeShortage()
        let isStranded = host.ambient._withUnsafeGuaranteedRef(mustExplainStrandedLocked)
        guard shortage != nil || isStranded else { return }
        lock.unlock()
        defer { lock.lock() }
        if isStranded { MainQueue.explainStranded() }
        if let shortage { Self.explain(shortage.call, shortage.errno) }
    }

    private static func explain(_ call: HostPoll.HostCall, _ error: Int32) {
        if case .forbidden = KernelRefusal(error) {
            Log.critical(
                "\(KernelRefusal.message("\(call.rawValue)(2)", error)). Without it timers and descriptors are late "
                    + "while a host drives the loop. Logged once")
        } else {
            Log.critical(
                "no descriptor is left to watch timers and descriptors while a host drives the loop; they wait until a "
                    + "descriptor is free. Close some descriptors or raise the limit. Logged once")
        }
    }

    // MARK: With the lock held

    /// Called when a callout of ours runs a foreign loop, so that the callout's pass stands still until the foreign
    /// loop returns. The foreign loop serves what was enqueued before it began. Wake-ups count again, although the pass
    /// may have ignored them.
    private func suspendPassLocked() {
        frame?.run.stage.suspend()
        pendingPasses.add(.work)
    }

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if pendingPasses.contains(.hostWakeUp) || !host.poll.gone.isEmpty { return true }
        // The first pass, which only observers need, is not urgent: see owesFirstPassLocked(_:).
        if pendingPasses.contains(.pass), host.run.stage != .outside { return true }
        // If the timer descriptor is armed for the earliest deadline, the host's poll reports that deadline, and no
        // clock is read.
        let isTimerWatched = host.poll.armedFor == mode.heap.earliest && virtualTime == nil
        let ready = readyLocked([.wakeUp, .port], in: mode)
        if !ready.isEmpty || !isTimerWatched && !readyLocked(.timer, in: mode).isEmpty { return true }
        let isOwed = pendingPasses.contains(.work) || pendingPasses.contains(.news) && !isWaitAnnounced
        return isOwed && hasLeftoversLocked(mode)
    }

    /// Whether the host's run has not begun, and its first pass is owed to observers of the mode. The last sentinel
    /// makes that pass before the host sleeps for the first time. Until then the host's own sources go first, because
    /// an observer must not delay them.
    private func owesFirstPassLocked(_ mode: ModeState) -> Bool {
        pendingPasses.contains(.pass) && host.run.stage == .outside && !mode.observed.isEmpty
    }

    /// Removes the main queue's record once the loop has lost the main queue. When the main thread ends or calls
    /// `dispatchMain()`, libdispatch closes the queue's descriptor. GLib must not poll a number that is closed. Call
    /// it with the lock held.
    func forgetLostMainQueueLocked() {
        guard isMain, !MainQueue.isOurs, let hub = host.poll.hub else { return }
        cgrun_hub_set_record(hub, Record.mainQueue.rawValue, -1)
    }

    /// Updates the hub's records, and returns a bit for each record that the next poll watches. Reports only changes to
    /// GLib.
    private func watchLocked(_ mode: ModeState, until wakeUpTime: Nanoseconds, _ hub: UnsafeMutablePointer<GSource>)
        -> UInt32
    {
        var watched: UInt32 = 0
        func watch(_ record: Record, _ descriptor: Int32) {
            guard descriptor >= 0 else { return }
            cgrun_hub_set_record(hub, record.rawValue, descriptor)
            watched |= record.bit
        }
        let descriptors = mode.descriptors.watched
        if descriptors >= 0 { watch(.descriptors, host.poll.watch(descriptors, of: mode)) }
        watch(.timer, host.poll.arm(for: wakeUpTime))
        if servesMainQueueLocked(mode) { watch(.mainQueue, MainQueue.handle) }
        return watched
    }
}

// MARK: The functions that hub.c calls

/// Calls `body` with the loop that the pointer stands for. No reference is counted, because GLib holds the hub during
/// the call, and the hub holds the loop.
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

private let hubMaySleep: @convention(c) (UnsafeMutableRawPointer?) -> Bool = { pointer in
    guard let pointer else { return false }
    return with(pointer) { $0.mayHostSleep }
}

private let hubIdle: @convention(c) (UnsafeMutableRawPointer?, Bool) -> Void = { pointer, isStale in
    guard let pointer else { return }
    with(pointer) { $0.hostIsIdle(isStale: isStale) }
}

private let hubRelease: @convention(c) (UnsafeMutableRawPointer?) -> Void = {
    guard let pointer = $0 else { return }
    Unmanaged<GRunLoop>.fromOpaque(pointer).release()
}
