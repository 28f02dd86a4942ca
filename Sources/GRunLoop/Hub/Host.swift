// SPDX-License-Identifier: Apache-2.0
// What the hub tells a host that iterates the home context: whether there is work, and what to watch for.
//
// prepare and check run no user code, and what prepare leaves for check is only a hint: GLib may leave check() out.

import CGLib
import CGRun
import Glibc

/// Guarded by the loop's lock.
struct HostState {
    // MARK: The one, endless run of the host

    /// The mode in which a host is served. Modes live as long as their loop: no reference to one is counted here.
    var ambient: Unmanaged<ModeState>
    /// The same.
    var ambientMode: ModeState { ambient.takeUnretainedValue() }
    /// What was pushed as such, the current one last.
    var ambientStack: [GRunLoop.AmbientMode] = []
    /// The entry observers have been told, and exit observers will be.
    var hasEntered = false
    /// A head of a pass has found nothing to do in this mode: the wait that follows is the host's, and the tail comes
    /// next.
    var tailMode: Unmanaged<ModeState>?
    /// beforeWaiting was sent to the observers of this mode, and afterWaiting was not.
    var waitMode: Unmanaged<ModeState>?
    var isWaitTold: Bool { waitMode != nil }
    var servedMainQueueLast = true
    var slice = TimeSlice()
    var owed: Turns = []
    /// The hub was taken out of this context, which is the home context still.
    var detachedFrom: OpaquePointer?

    /// Whether the next pass would leave this as it is: no foreign loop in a callout has changed it.
    @inline(__always) func isBetweenPasses(in mode: ModeState) -> Bool {
        ambient === mode && tailMode == nil && !mustPass
    }

    // MARK: Whether it gets a pass

    /// Whatever happens on the loop's thread now is the host's doing: no pass of ours is under way, or a callout of one
    /// runs a foreign loop.
    var isInnermost = true
    /// Something was enqueued or signalled, on the loop's thread, that no pass under way would see.
    var owesPass = false
    /// The same on another thread: it does not keep from sleeping a host that is about to (items 74 and 75).
    var hasNews = false
    /// It gets a pass in any case: the first one of its run, if somebody observes it, and after one that was cut.
    var mustPass = true
    /// ``GRunLoop/wakeUp()`` was called while nothing of ours was under way: a host that sleeps makes a pass.
    var isWakePending = false

    /// Somebody has ended, or will yet end, its sleep only to have it begin again.
    var isRearmed = false

    /// What its poll has found ready, for the dispatch that follows: then a look need not ask again. Nil if it did not
    /// look, and as soon as a run begins.
    var polled: Polled?

    struct Polled {
        let descriptors: Bool
        let mainQueue: Bool
    }

    // MARK: What it watches

    /// The loop's hub on the home context, which each iteration asks for: to ask the context would count references.
    var hub: UnsafeMutablePointer<GSource>?

    var carried = CarriedContexts()
    /// Contexts that are no longer carried. With the last reference go sources of the program, whose notifications are
    /// user code: the next dispatch gives it up.
    var gone: [ServedContext] = []

    /// Becomes readable when the mode's first timer is due; made when there is a timer, -1 before.
    fileprivate var timerDescriptor: Int32 = -1
    /// What the timer descriptor is armed for. `.min`: it may be readable, and is to be armed anew before it is
    /// watched.
    fileprivate var armedFor = Nanoseconds.min
    /// A number of our own for the current mode's epoll, constant in the hub's record; -1 before.
    fileprivate var epollDescriptor: Int32 = -1
    fileprivate var epollMode: ObjectIdentifier?
    /// No descriptor was left for what the host is to watch: said once, by the next dispatch.
    fileprivate var shortage = Shortage.none

    fileprivate enum Shortage: Equatable {
        case none, toBeSaid, said
        /// A descriptor of the loop's own is gone: the next dispatch says so, and the hub is silent from then on.
        case loss(errno: Int32)
        case abandoned

        /// Whether the hub is to be dispatched for it.
        var isNews: Bool {
            switch self {
            case .none, .said, .abandoned: false
            case .toBeSaid, .loss: true
            }
        }
    }

    var isAbandoned: Bool { shortage == .abandoned }

    /// The numbers of its own are no longer the loop's: they are not closed.
    mutating func abandon() {
        shortage = .abandoned
        (timerDescriptor, epollDescriptor) = (-1, -1)
        armedFor = .min
        epollMode = nil
        carried.abandon()
        if let hub { cgrun_hub_abandon(hub) }
    }

    init(ambientMode: ModeState) {
        ambient = .passUnretained(ambientMode)
    }

    /// The mode's epoll is another one.
    mutating func forgetEpoll(of mode: ModeState) {
        if epollMode == ObjectIdentifier(mode) { epollMode = nil }
    }

    /// The descriptors to be closed, after the hub is gone.
    mutating func close() -> [Int32] {
        defer {
            (timerDescriptor, epollDescriptor) = (-1, -1)
            armedFor = .min
            epollMode = nil
        }
        return [timerDescriptor, epollDescriptor].filter { $0 >= 0 }
    }
}

/// The hub's poll records.
private enum Record: UInt32 {
    case descriptors, timer, mainQueue

    var bit: UInt32 { 1 << rawValue }
}

extension GRunLoop {
    /// Whether there is work in memory; if not, what to watch and that the host may sleep now.
    ///
    /// - Parameter isStale: something foreign was dispatched since the last head of a pass, or may have been: the wait
    ///   for which that pass left blocks behind is over, even if the host did not sleep in it.
    func prepareForHost(isWaiting: Bool, isStale: Bool, _ watched: inout UInt32) -> Bool {
        lock.withLock {
            guard !isDead, let hub = host.hub else { return false }
            forgetLostMainQueueLocked()
            host.polled = nil
            if !host.isInnermost { takeOverLocked() }
            return host.ambient._withUnsafeGuaranteedRef { mode in
                // Attaching is no business of another thread, and not for free: here, and only when it has changed.
                let isObserved = mode.areWaitsObserved
                cgrun_hub_set_sentinels(hub, isObserved || isWaiting)
                if !host.carried.isCurrent(mode) { carryLocked(mode, hub) }
                if hasWorkLocked(mode, isWaiting: isWaiting) || isStale && hasLeftoversLocked(mode) { return true }
                let wakeUpTime = mode.heap.wakeUpTime()
                watched = watchLocked(mode, until: wakeUpTime, hub)
                if host.shortage.isNews || mustExplainStrandedLocked(mode) { return true }
                // The write that ended the last sleep may come as late as in this one.
                if sleep.takeKicked() { host.isRearmed = true }
                sleep.begin(
                    in: mode, wokenBy: .context(g_source_get_context(hub)), until: wakeUpTime,
                    watchesDescriptors: watched & Record.descriptors.bit != 0)
                return false
            }
        }
    }

    /// With the lock held: the mode's further contexts are carried into the home context, and no other's.
    @inline(never) private func carryLocked(_ mode: ModeState, _ hub: UnsafeMutablePointer<GSource>) {
        let wanted = contextsLocked(of: mode).filter { $0.hub != hub }
        host.gone += host.carried.update(to: wanted, of: mode, into: hub)
    }

    /// Whether there is work, `found` being the records that the poll has found ready.
    func checkForHost(isWaiting: Bool, hasSlept: Bool, found: UInt32) -> Bool {
        lock.withLock {
            // Somebody ended the sleep only to have it begin again with another deadline or another descriptor (items
            // 76 and 80).
            let wasRearmed = sleep.takeKicked() || host.isRearmed
            if wasRearmed, let hub = host.hub { cgrun_hub_note_rearmed(hub) }
            // Where nobody is told of sleeps it is not known whether this was one.
            if hasSlept || !isWaiting { host.isRearmed = false }
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
            if host.ambient._withUnsafeGuaranteedRef({ hasWorkLocked($0, isWaiting: isWaiting) }) { return true }
            // Nothing to do: whatever of our own work comes next is not in a row with what came before.
            host.slice.end()
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

    /// Something was enqueued or signalled. What a callout of ours leaves behind is for the pass that it is part of;
    /// what a callback of the host or another thread does is for the host's next iteration, which it does not cause
    /// (item 74).
    func owePassToHostLocked() {
        // Another thread that floods the loop has told it already.
        if host.hasNews, !host.isInnermost { return }
        if !isCurrent {
            host.hasNews = true
        } else if host.isInnermost {
            host.owesPass = true
        }
    }

    /// A callout of ours runs a foreign loop. What was enqueued before counts for it; so do wake-ups from now on,
    /// although the pass below may have ignored them, since it makes no other before this loop sleeps.
    private func takeOverLocked() {
        host.isInnermost = true
        host.owesPass = true
        activation?.ignoresWakeUps = false
    }

    private func hasWorkLocked(_ mode: ModeState, isWaiting: Bool) -> Bool {
        if host.isWakePending || sleep.isWakePending || mustPassLocked(mode) || !host.gone.isEmpty { return true }
        if hasDueTimersLocked(mode) { return true }
        return (host.owesPass || host.hasNews && !isWaiting) && hasLeftoversLocked(mode)
    }

    /// A loop that was only touched owes nobody its first pass.
    private func mustPassLocked(_ mode: ModeState) -> Bool {
        host.mustPass && (host.hasEntered || !mode.observed.isEmpty)
    }

    /// Whether timers are due, as far as the host's poll does not tell: it does where the timer descriptor is armed for
    /// the first of them, and no clock is read twice in each iteration of the host's.
    private func hasDueTimersLocked(_ mode: ModeState) -> Bool {
        if host.armedFor == mode.heap.earliest, virtualTime == nil { return false }
        return mode.heap.earliest <= timeForTimersLocked(mode)
    }

    /// What a pass serves but nothing of which ends a wait.
    func hasLeftoversLocked(_ mode: ModeState) -> Bool {
        !mode.signalled.isEmpty || hasVisibleBlocksLocked(mode)
    }

    /// With the lock held: where libdispatch has given the main thread up, as that ends or calls `dispatchMain()`, it
    /// has closed the queue's descriptor. GLib must not poll a number that is nobody's.
    func forgetLostMainQueueLocked() {
        guard isMain, !MainQueue.isOurs, let hub = host.hub else { return }
        cgrun_hub_set_record(hub, Record.mainQueue.rawValue, -1)
    }

    /// Brings the hub's records up to date, and answers which of them this poll is to watch. GLib is told only of what
    /// has changed.
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

    /// Answers whether the timer descriptor is to be watched. Where there is no timer it is left as it is, and not
    /// looked at.
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
        // An expiry that was not read is forgotten with that.
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
