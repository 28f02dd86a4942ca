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
            prepare: hubPrepare, check: hubCheck, dispatch: hubDispatch, may_sleep: hubMaySleep, idle: hubIdle,
            release: hubRelease)
    }

    /// Whether there is work in memory; if not, what to watch and that the host may sleep now.
    ///
    /// - Parameter isStale: since the last head of a pass the host has dispatched a source that is not ours. The wait
    ///   after that head is over, even without a sleep: afterWaiting, and blocks that came since, are work now.
    func prepareForHost(isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = hostPoll.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !isHostInControl { lendLocked() }
            if cgrun_is_inspecting() { beatWithHostLocked() }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Attaching sentinels has a cost, and must not be done by another thread: so here, and only on a
                // change.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaitTold || owesFirstPassLocked(mode))
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
            markChange(CGRUN_RECORD_WOKEN)
            // The sleep was interrupted only to begin again with another deadline or descriptor (items 76 and 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = hostPoll.hub { cgrun_hub_note_interrupted(hub) }
            // Without observers of the waits it is not known whether this was a sleep.
            if hasSlept || !isWaitTold { host.isRearmed = false }
            sleep.end()
            if found & Record.timer.bit != 0 { hostPoll.noteExpired() }
            // Where the host cannot watch them, descriptors are asked for.
            host.polled = .init(
                descriptors: hostPoll.shortage != .none || found & Record.descriptors.bit != 0,
                mainQueue: found & Record.mainQueue.bit != 0)
            if found & ~Record.timer.bit != 0 {
                if found & UInt32(CGRUN_HUB_CLOSED) != 0 { hostPoll.noteClosed() }
                return true
            }
            if host.ambient._withUnsafeGuaranteedRef({ hasWorkLocked($0) }) { return true }
            // Nothing to do: our next item begins a new row.
            hostRun.scheduler.endRow()
            return hasSlept && !wasRearmed
        }
    }

    /// With the lock held before and after: says, without it, what prepare has found to be wrong.
    func explainToHostLocked() {
        if case .loss(let call, let errno) = hostPoll.shortage { loseDescriptorsLocked(call.rawValue, errno) }
        let shortage = hostPoll.takeShortage()
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
                    + "while a host drives. Said once")
        } else {
            Log.critical(
                "GRunLoop: no descriptor is left to watch timers and descriptors with while a host drives; they wait "
                    + "until one is. Close some descriptors or raise the limit. Said once")
        }
    }

    // MARK: With the lock held

    /// A callout of ours runs a foreign loop, and the pass that called it stands still until that returns. So the loop
    /// serves what was enqueued before it began, and wake-ups count again, though that pass may have ignored them.
    private func lendLocked() {
        frame?.run.stage.lend()
        owed.owe(.work)
    }

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if owed.contains(.hostWakeUp) || !hostPoll.gone.isEmpty { return true }
        // Observers' first pass is not urgent: see owesFirstPassLocked(_:).
        if owed.contains(.pass), hostRun.stage != .outside { return true }
        // If the timer descriptor is armed for the earliest deadline, the host's poll reports it, and no clock is read.
        let isTimerWatched = hostPoll.armedFor == mode.heap.earliest && virtualTime == nil
        if !readyLocked([.wakeUp, .timer, .port], in: mode, at: isTimerWatched ? .min : nil).isEmpty { return true }
        return (owed.contains(.work) || owed.contains(.news) && !isWaitTold) && hasLeftoversLocked(mode)
    }

    /// Whether observers wait for the first pass, which begins the host's run. It comes before the host sleeps for the
    /// first time, by way of the last sentinel: an observer must not delay sources of the host's.
    private func owesFirstPassLocked(_ mode: ModeState) -> Bool {
        owed.contains(.pass) && hostRun.stage == .outside && !mode.observed.isEmpty
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
        func watch(_ record: Record, _ descriptor: Int32) {
            guard descriptor >= 0 else { return }
            cgrun_hub_set_record(hub, record.rawValue, descriptor)
            watched |= record.bit
        }
        let descriptors = mode.descriptors.watched
        if descriptors >= 0 { watch(.descriptors, hostPoll.watch(descriptors, of: mode)) }
        watch(.timer, hostPoll.arm(for: wakeUpTime))
        if servesMainQueueLocked(mode) { watch(.mainQueue, MainQueue.handle) }
        return watched
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
