// SPDX-License-Identifier: Apache-2.0
// How a sleeping loop is woken: decided under the lock, sent after it, at most once a sleep.

import CGRun

/// Guarded by the loop's lock.
struct SleepState {
    /// What ends a sleep.
    enum Waker {
        /// A context in the poll set.
        case context(OpaquePointer)
        /// The loop's own eventfd.
        case descriptor(Int32)
    }

    enum Reach {
        case innermostRun, everyRun
    }

    /// ``GRunLoop/wakeUp()`` was called and no pass has consumed it yet.
    var isWakePending = false
    /// That call came from another thread: the innermost run consumes it, but every run for which it counted makes a
    /// pass.
    var isWakeForeign = false
    /// The thread is in poll(), or about to be: a change that concerns its sleep has to wake it.
    private(set) var isPolling = false
    /// This sleep was already woken.
    private var isKicked = false
    private var waker: Waker?
    /// The mode of the sleep. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    private(set) var watchesDescriptors = false

    mutating func begin(
        in mode: ModeState, wokenBy waker: Waker, until: Nanoseconds, watchesDescriptors: Bool
    ) {
        isPolling = true
        isKicked = false
        self.mode = ObjectIdentifier(mode)
        self.waker = waker
        self.until = until
        self.watchesDescriptors = watchesDescriptors
    }

    mutating func end() {
        isPolling = false
        mode = nil
        waker = nil
    }

    func isIn(_ mode: ModeState) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Whether this sleep was woken, or the one before if that was not asked yet. Asking clears it.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard isPolling, !isKicked, let waker else { return nil }
        isKicked = true
        return Kick(waker, of: loop)
    }
}

extension GRunLoop {
    /// With the lock held: wakes the loop, unless it would not sleep before another pass anyway (items 68 to 71).
    ///
    /// - Parameter reach: a stop is for the innermost run; anything else may be for every run for which it counts now.
    func wakeUpLocked(for reach: SleepState.Reach = .everyRun) -> Kick? {
        // The host's next prepare sees it. Where a callout of ours runs a foreign loop, `innermost` is set, and its run
        // does not ignore wake-ups.
        guard let innermost else {
            host.isWakePending = true
            return sleep.kick(self)
        }
        guard !innermost._withUnsafeGuaranteedRef({ $0.ignoresWakeUps }) else {
            // The innermost run makes another pass anyway; an outer run for which the wake-up counts may not.
            if reach == .everyRun, !isCurrent { innermost._withUnsafeGuaranteedRef { owePassesLocked(above: $0) } }
            return nil
        }
        sleep.isWakePending = true
        if reach == .everyRun, !sleep.isWakeForeign, !isCurrent { sleep.isWakeForeign = true }
        return sleep.kick(self)
    }

    /// With the lock held: a pass has consumed the wake-up.
    func consumeWakeUpLocked(_ run: Activation) {
        sleep.isWakePending = false
        guard sleep.isWakeForeign else { return }
        sleep.isWakeForeign = false
        owePassesLocked(above: run)
    }

    /// With the lock held: every outer run in which wake-ups count now makes another pass before it sleeps.
    private func owePassesLocked(above run: Activation) {
        var outer = run.parent
        while let owing = outer {
            if !owing.ignoresWakeUps { owing.owesPass = true }
            outer = owing.parent
        }
    }

    /// With the lock held, before a sleep: there is none if the run was stopped, or if a nested run has consumed
    /// another thread's wake-up that counted for this run. Core Foundation sleeps in the latter case until something
    /// else happens.
    func recallWakeUpLocked(_ run: Activation) {
        guard run.isStopped || run.owesPass else { return }
        run.owesPass = false
        sleep.isWakePending = true
    }

    /// With the lock held before and after.
    @inline(__always) func sendLocked(_ kick: consuming Kick?) {
        if let kick { unlock(toSend: kick) }
    }

    @inline(never) private func unlock(toSend kick: consuming Kick) {
        lock.unlock()
        kick.send()
        lock.lock()
    }

    /// With the lock held, a mode's timers have changed: a sleep in it that would now last too long ends, without a
    /// pass (item 76).
    func rearmLocked(_ mode: ModeState) -> Kick? {
        guard sleep.isIn(mode), mode.heap.wakeUpTime() < sleep.until else { return nil }
        return sleep.kick(self)
    }

    /// With the lock held, a mode has a first descriptor: a sleep in it that does not watch its epoll begins again
    /// (item 78).
    func descriptorsChangedLocked(in mode: ModeState) -> Kick? {
        guard sleep.isIn(mode), !sleep.watchesDescriptors else { return nil }
        return sleep.kick(self)
    }

    /// With the lock held, a mode serves other contexts: a sleep in it begins again.
    func contextsChangedLocked(in mode: ModeState) -> Kick? {
        guard sleep.isIn(mode) else { return nil }
        return sleep.kick(self)
    }
}

/// A wake-up for a thread that sleeps in poll(). Sent after the lock is released, since the woken thread takes it. Must
/// be sent exactly once: no other call wakes the same sleep.
struct Kick: ~Copyable {
    private let waker: SleepState.Waker
    /// Retained if its descriptor is to be written to: the loop closes that in its deinit.
    private let loop: Unmanaged<GRunLoop>

    init(_ waker: SleepState.Waker, of loop: GRunLoop) {
        self.waker = waker
        self.loop = .passUnretained(loop)
        switch waker {
        case .context(let context): Contexts.retain(context)
        case .descriptor: _ = self.loop.retain()
        }
    }

    @inline(__always) consuming func send() {
        switch waker {
        case .context(let context):
            Contexts.wakeUp(context)
            Contexts.release(context)
        case .descriptor(let descriptor):
            cgrun_event_signal(descriptor)
            loop.release()
        }
        discard self
    }

    deinit {
        Self.refuseToBeLost()
    }

    @inline(never) private static func refuseToBeLost() {
        fatalError("GRunLoop: a loop was to be woken, and nobody has done it")
    }
}

extension Optional where Wrapped: ~Copyable, Wrapped == Kick {
    /// One hold of the lock decides on one wake-up at most.
    @inline(__always) mutating func merge(_ other: consuming Kick?) {
        if let other { self = consume other }
    }
}
