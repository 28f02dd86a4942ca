// SPDX-License-Identifier: Apache-2.0
// The Swift side of the hub's `prepare` and `check`: whether the loop has work, and what the host's poll must watch.
//
// Neither function runs user code. The state that `prepare` stores for `check` is only a hint, because GLib may skip
// `check`.

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

    /// Called in the hub's `prepare`. Returns whether the loop has work that it can see without asking the kernel. If
    /// there is no such work, updates what the host's poll watches, and begins a sleep.
    ///
    /// - Parameters:
    ///   - isStale: true if the host has dispatched a foreign source since the last head of a pass. Then the wait after
    ///     that head is over, even without a sleep, so a due afterWaiting, enqueued blocks and signalled sources count
    ///     as work.
    ///   - watched: receives a bit for each poll record of the hub that the poll must watch.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = host.poll.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !isHostInControl { suspendPassLocked() }
            if cgrun_is_inspecting() { probe?.hostWillPollLocked(of: self) }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Only this thread may attach or destroy the sentinels. Attaching and destroying are expensive, so this
                // call does nothing unless the need for sentinels has changed.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaitAnnounced || owesFirstPassLocked(mode))
                if !host.poll.carried.isCurrent(ObjectIdentifier(mode), mode.contextsVersion) { carryLocked(mode, hub) }
                if hasWorkLocked(mode) { return true }
                if isStale, isWaitAnnounced || hasLeftoversLocked(mode) { return true }
                let wakeUpTime = mode.heap.wakeUpTime()
                watched = watchLocked(mode, until: wakeUpTime, hub)
                if host.poll.shortage.needsDispatch || mustExplainStrandedLocked(mode) { return true }
                // The write that a kick made to end the last sleep may arrive only now, and interrupt this sleep.
                if sleep.takeKicked() { host.isRearmed = true }
                sleep.begin(in: mode, wokenBy: .context(Contexts.of(hub)), until: wakeUpTime)
                return false
            }
        }
    }

    /// Carries the mode's contexts, except the home context itself, into the home context. Stops carrying all other
    /// contexts.
    private func carryLocked(_ mode: ModeState, _ hub: UnsafeMutablePointer<GSource>) {
        let wanted = contextsLocked(of: mode).filter { $0.hub != hub }
        host.poll.gone += host.poll.carried.update(
            to: wanted, of: ObjectIdentifier(mode), version: mode.contextsVersion, into: hub)
    }

    /// Called in the hub's `check`. Returns whether the loop has work after the host's poll.
    ///
    /// - Parameters:
    ///   - hasSlept: whether the poll was long enough to count as a sleep. Always false without sentinels.
    ///   - found: a bit for each poll record that is ready, and `CGRUN_HUB_CLOSED` if a record's descriptor is not
    ///     open.
    func checkForHost(hasSlept: Bool, found: UInt32) -> Bool {
        lock.withLock {
            let hasSlept = hasSlept && isWaitAnnounced
            tell(.hostHasPolled)
            // True if a kick interrupted the sleep. If the loop has no work after the kick, the kick only changed the
            // sleep's deadline or descriptors (items 76 and 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = host.poll.hub { cgrun_hub_note_interrupted(hub) }
            // The kick's write may arrive late, so `isRearmed` stays set until the host has slept in the announced
            // wait.
            if hasSlept || !isWaitAnnounced { host.isRearmed = false }
            sleep.end()
            if found & Record.timer.bit != 0 { host.poll.noteExpired() }
            // If the host's poll could not watch the descriptors, the dispatch must ask the kernel about them.
            host.polled = .init(
                descriptors: host.poll.shortage != .none || found & Record.descriptors.bit != 0,
                mainQueue: found & Record.mainQueue.bit != 0)
            if found & ~Record.timer.bit != 0 {
                if found & UInt32(CGRUN_HUB_CLOSED) != 0 { host.poll.noteClosed() }
                return true
            }
            if host.ambient._withUnsafeGuaranteedRef({ hasWorkLocked($0) }) { return true }
            // The loop has no work, so the next item begins a new time slice.
            host.run.scheduler.endRow()
            return hasSlept && !wasRearmed
        }
    }

    /// Logs the problems that `prepare` and `check` have found. Releases the lock while it logs.
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
                "\(KernelRefusal.message("\(call.rawValue)(2)", error)). Without this call, timers and descriptors are "
                    + "late while a host main loop, such as GTK's, drives the run loop. Logged once")
        } else {
            Log.critical(
                "no descriptor is left, so timers and descriptor sources wait while a host main loop, such as GTK's, "
                    + "drives the run loop. Close descriptors or raise the limit. Logged once")
        }
    }

    // MARK: With the lock held

    /// Called when a callout of this loop runs a foreign loop. The callout's pass is suspended until the foreign loop
    /// returns. Meanwhile wake-ups count, and the foreign loop serves the items that were enqueued before.
    private func suspendPassLocked() {
        frame?.run.stage.suspend()
        pendingPasses.add(.work)
    }

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if pendingPasses.contains(.hostWakeUp) || !host.poll.gone.isEmpty { return true }
        // A pending first pass does not count here, because only observers need it: see owesFirstPassLocked(_:).
        if pendingPasses.contains(.pass), host.run.stage != .outside { return true }
        // If the timerfd is armed for the earliest deadline, the host's poll reports that deadline, and no clock is
        // read.
        let isTimerWatched = host.poll.armedFor == mode.heap.earliest && !isInVirtualTime
        let ready = readyLocked([.wakeUp, .port], in: mode)
        if !ready.isEmpty || !isTimerWatched && !readyLocked(.timer, in: mode).isEmpty { return true }
        let isOwed = pendingPasses.contains(.work) || pendingPasses.contains(.news) && !isWaitAnnounced
        return isOwed && hasLeftoversLocked(mode)
    }

    /// True if the host's run has not begun, and observers of the mode need the first pass of that run. The last
    /// sentinel makes this pass before the host's first sleep, so that the pass does not delay the host's own sources.
    private func owesFirstPassLocked(_ mode: ModeState) -> Bool {
        pendingPasses.contains(.pass) && host.run.stage == .outside && !mode.observed.isEmpty
    }

    /// Removes the main queue's poll record if the loop has lost the main queue. libdispatch may then close the queue's
    /// descriptor, and GLib must not poll a closed number.
    func forgetLostMainQueueLocked() {
        guard isMain, !MainQueue.isOurs, let hub = host.poll.hub else { return }
        cgrun_hub_set_record(hub, Record.mainQueue.rawValue, -1)
    }

    /// Updates the hub's poll records, calling GLib only for changes. Returns a bit for each record that the next poll
    /// must watch.
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

/// Calls `body` with the loop at the pointer. The loop need not be retained for the call, because GLib retains the hub
/// during the call, and the hub retains the loop.
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
