// SPDX-License-Identifier: Apache-2.0
// What the hub tells a host that iterates the home context: whether there is work, and what to watch for.
//
// prepare and check run no user code, and what prepare leaves for check is only a hint: GLib may leave check() out.

import CGRun

/// Guarded by the loop's lock.
struct HostState {
    /// The entry observers have been told of the host's one, endless run.
    var hasEntered = false
    /// ``GRunLoop/wakeUp()`` was called while no run of ours could sleep: a host that sleeps makes a pass.
    var isWakePending = false
    /// Becomes readable when the mode's first timer is due; made when there is a timer, -1 before.
    fileprivate var timerDescriptor: Int32 = -1
    /// What the timer descriptor is armed for.
    fileprivate var armedFor = Nanoseconds.never
    /// A number of our own for the current mode's epoll, constant in the hub's record; -1 before.
    fileprivate var epollDescriptor: Int32 = -1
    fileprivate unowned(unsafe) var epollMode: ModeState?
    /// No descriptor was left for what the host is to watch: said once, by the next dispatch.
    fileprivate var shortage = Shortage.none

    fileprivate enum Shortage {
        case none, toBeSaid, said
    }

    /// The mode's epoll is another one.
    mutating func forgetEpoll(of mode: ModeState) {
        if epollMode === mode { epollMode = nil }
    }

    /// The descriptors to be closed, after the hub is gone.
    mutating func close() -> [Int32] {
        defer { (timerDescriptor, epollDescriptor) = (-1, -1) }
        return [timerDescriptor, epollDescriptor].filter { $0 >= 0 }
    }
}

/// The hub's poll records.
private enum Record: UInt32 {
    case descriptors, timer, mainQueue

    var bit: UInt32 { 1 << rawValue }
}

extension GRunLoop {
    /// Whether there is work in memory; if not, what to watch and that the host may sleep now. On a thread that is not the loop's the
    /// hub is silent.
    func prepareForHost(_ watched: inout UInt32) -> Bool {
        guard isCurrent, !cgrun_has_forked() else { return false }
        return lock.withLock {
            guard !isDead, let home, let mode = modes[.default] else { return false }
            if hasWorkLocked(mode) { return true }
            watched = watchLocked(mode, home)
            if host.shortage == .toBeSaid { return true }
            sleep.begin(
                in: mode, wokenBy: .context(home.context), until: host.armedFor,
                watchesDescriptors: watched & Record.descriptors.bit != 0)
            return false
        }
    }

    /// Whether there is work, `found` being the records that the poll has found ready.
    func checkForHost(_ found: UInt32) -> Bool {
        guard isCurrent, !cgrun_has_forked() else { return false }
        return lock.withLock {
            sleep.end()
            guard let mode = modes[.default] else { return false }
            return found != 0 || hasWorkLocked(mode)
        }
    }

    /// The expiry is forgotten; the descriptor is armed anew before the next sleep.
    func acknowledgeHostTimerLocked() {
        guard host.armedFor <= .now() else { return }
        cgrun_timer_arm(host.timerDescriptor, 0)
        host.armedFor = .never
    }

    /// What is to be said, without a lock, of descriptors that could not be made.
    func takeHostShortage() -> String? {
        lock.withLock {
            guard host.shortage == .toBeSaid else { return nil }
            host.shortage = .said
            return
                "GRunLoop: no descriptor is left to watch timers and descriptors with while a host drives; they wait until one is. "
                + "Close some descriptors or raise the limit. Said once"
        }
    }

    // MARK: With the lock held

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if host.isWakePending || sleep.isWakePending || hasVisibleBlocksLocked(mode) { return true }
        return mode.signalled.values.contains { $0.isSignalled } || mode.heap.earliest <= .now()
    }

    /// Brings the hub's records up to date, and answers which of them this poll is to watch. GLib is told only of what has changed.
    private func watchLocked(_ mode: ModeState, _ home: ServedContext) -> UInt32 {
        var watched: UInt32 = 0
        if mode.descriptors.watched >= 0, duplicateEpollLocked(of: mode) {
            cgrun_hub_set_record(home.hub, Record.descriptors.rawValue, host.epollDescriptor)
            watched |= Record.descriptors.bit
        }
        armTimerLocked(for: mode.heap.wakeUpTime())
        if host.armedFor != .never {
            cgrun_hub_set_record(home.hub, Record.timer.rawValue, host.timerDescriptor)
            watched |= Record.timer.bit
        }
        if servesMainQueueLocked(mode) {
            cgrun_hub_set_record(home.hub, Record.mainQueue.rawValue, MainQueue.handle)
            watched |= Record.mainQueue.bit
        }
        return watched
    }

    private func duplicateEpollLocked(of mode: ModeState) -> Bool {
        if host.epollMode === mode { return true }
        host.epollDescriptor =
            host.epollDescriptor < 0
            ? cgrun_duplicate(mode.descriptors.epoll) : cgrun_duplicate_onto(mode.descriptors.epoll, host.epollDescriptor)
        host.epollMode = host.epollDescriptor < 0 ? nil : mode
        if host.epollDescriptor < 0 { noteShortage() }
        return host.epollDescriptor >= 0
    }

    private func armTimerLocked(for time: Nanoseconds) {
        guard time != host.armedFor else { return }
        if host.timerDescriptor < 0 { host.timerDescriptor = cgrun_timer_new() }
        guard host.timerDescriptor >= 0 else { return noteShortage() }
        cgrun_timer_arm(host.timerDescriptor, time == .never ? 0 : max(1, time))
        host.armedFor = time
    }

    private func noteShortage() {
        if host.shortage == .none { host.shortage = .toBeSaid }
    }
}
