// SPDX-License-Identifier: Apache-2.0
// When a host drives: whoever iterates the home context asks the hub for work, and gets passes.
//
// prepare and check run no user code and keep nothing that a left-out check would break. dispatch looks at everything anew:
// GLib's READY flag survives passes.

import CGRun
import Glibc

/// Guarded by the loop's lock.
struct HostState {
    /// The run that stands for all that a host drives; its mode is current in callouts that a host dispatches.
    var root: Activation?
    /// ``GRunLoop/wakeUp()`` was called while no run was under way: a host that sleeps makes a pass.
    var isWakePending = false
    /// Becomes readable when the mode's first timer is due; made when there is a timer, -1 before.
    var timerDescriptor: Int32 = -1
    /// What the timer descriptor is armed for.
    var armedFor = Nanoseconds.never
    /// A number of our own for the current mode's epoll, constant in the hub's record; -1 before.
    var epollDescriptor: Int32 = -1
    unowned(unsafe) var epollMode: ModeState?

    /// The mode's epoll is another one.
    mutating func forgetEpoll(of mode: ModeState) {
        if epollMode === mode { epollMode = nil }
    }

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
        guard isCurrent else { return false }
        return lock.withLock {
            guard !isDead, let home, let mode = modes[.default] else { return false }
            if hasWorkLocked(mode) { return true }
            watched = watchLocked(mode, home)
            sleep.begin(
                in: mode, wokenBy: .context(home.context), until: host.armedFor, watchesDescriptors: host.epollDescriptor >= 0)
            return false
        }
    }

    func checkForHost(_ found: UInt32) -> Bool {
        guard isCurrent else { return false }
        return lock.withLock {
            sleep.end()
            guard let mode = modes[.default] else { return false }
            return found != 0 || hasWorkLocked(mode)
        }
    }

    /// Serves what is ready, pass by pass, as a run in the default mode that never sleeps and never ends.
    func serveHost() {
        guard isCurrent else { return }
        if isMain { MainQueue.explainIfLost() }
        lock.lock()
        guard !isDead else { return lock.unlock() }
        sleep.end()
        let isFirst = host.root == nil
        let root = Activation(mode: modeLocked(.default), parent: activation)
        host.root = root
        host.isWakePending = false
        activation = root
        batch.discard()
        acknowledgeTimerLocked()
        if isFirst { notifyLocked(.entry, root.mode) }
        runHostPassesLocked(root)
        batch.discard()
        activation = root.parent
        lock.unlock()
        root.kept.removeAll()
    }

    // MARK: With the lock held

    private func hasWorkLocked(_ mode: ModeState) -> Bool {
        if host.isWakePending || sleep.isWakePending || hasVisibleBlocksLocked(mode) { return true }
        return mode.signalled.values.contains { $0.isSignalled } || mode.heap.earliest <= .now()
    }

    /// Brings the hub's records up to date, and answers which of them this poll is to watch. GLib is told only of what has changed.
    private func watchLocked(_ mode: ModeState, _ home: ServedContext) -> UInt32 {
        var watched: UInt32 = 0
        if mode.descriptors.watched >= 0 {
            if host.epollMode !== mode {
                host.epollDescriptor =
                    host.epollDescriptor < 0
                    ? cgrun_duplicate(mode.descriptors.epoll) : cgrun_duplicate_onto(mode.descriptors.epoll, host.epollDescriptor)
                host.epollMode = host.epollDescriptor < 0 ? nil : mode
            }
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

    private func armTimerLocked(for time: Nanoseconds) {
        guard time != host.armedFor else { return }
        if host.timerDescriptor < 0 { host.timerDescriptor = cgrun_timer_new() }
        guard host.timerDescriptor >= 0 else { return }
        cgrun_timer_arm(host.timerDescriptor, time == .never ? 0 : max(1, time))
        host.armedFor = time
    }

    /// The expiry is read, and the descriptor armed anew before the next sleep.
    private func acknowledgeTimerLocked() {
        guard host.armedFor <= .now() else { return }
        cgrun_timer_arm(host.timerDescriptor, 0)
        host.armedFor = .never
    }

    /// Passes follow each other as long as they find something. Bounded, so that the host gets its turn.
    private func runHostPassesLocked(_ root: Activation) {
        let mode = root.mode
        for _ in 0..<64 {
            root.ignoresWakeUps = false
            notifyLocked(.beforeTimers, mode)  // 2
            notifyLocked(.beforeSources, mode)  // 3
            runBlocksLocked(mode)  // 4
            mark(.sources)
            var handled = performSourcesLocked(root)  // 5
            if handled { runBlocksLocked(mode) }
            let item = lookLocked(root, !root.servedMainQueueLast)  // 6
            root.ignoresWakeUps = true
            mark(.service)
            handled = serviceLocked(item, root) || handled  // 10
            runBlocksLocked(mode)  // 11
            if !handled, item == nil { return }
        }
    }
}
