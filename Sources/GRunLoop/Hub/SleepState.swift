// SPDX-License-Identifier: Apache-2.0
// How a sleeping loop is woken: decided under the lock, sent after it, at most once a sleep.

/// Guarded by the loop's lock.
struct SleepState {
    /// What ends a sleep.
    enum Waker {
        /// A context in the poll set.
        case context(OpaquePointer)
        /// The loop's own eventfd.
        case descriptor(Int32)
    }

    /// ``GRunLoop/wakeUp()`` was called and no pass has consumed it yet.
    var isWakePending = false
    /// It was called on another thread: whoever is innermost consumes it, but every run for which it counted owes it a pass.
    var isWakeForeign = false
    /// The thread is in poll(), or about to be: a change that it must notice has to wake it.
    private(set) var isPolling = false
    /// Somebody has already woken this sleep.
    private var isKicked = false
    private var waker: Waker?
    private(set) unowned(unsafe) var mode: ModeState?
    private(set) var until: Nanoseconds = .never
    private(set) var watchesDescriptors = false

    mutating func begin(
        in mode: ModeState, wokenBy waker: Waker, until: Nanoseconds, watchesDescriptors: Bool
    ) {
        isPolling = true
        isKicked = false
        self.mode = mode
        self.waker = waker
        self.until = until
        self.watchesDescriptors = watchesDescriptors
    }

    mutating func end() {
        isPolling = false
        mode = nil
        waker = nil
    }

    mutating func kick() -> Kick? {
        guard isPolling, !isKicked, let waker else { return nil }
        isKicked = true
        return Kick(waker)
    }
}

extension GRunLoop {
    /// With the lock held: wakes the loop, unless it would not sleep before another pass anyway (items 68 to 71).
    ///
    /// - Parameter owesPass: whether it may be for more than the innermost run, as a stop is not.
    func wakeUpLocked(owesPass: Bool = true) -> Kick? {
        guard let activation else {
            // A host may be asleep in its poll: its next prepare sees what there is to do.
            host.isWakePending = true
            return sleep.kick()
        }
        guard !activation.ignoresWakeUps else { return nil }
        sleep.isWakePending = true
        if owesPass, !isCurrent { sleep.isWakeForeign = true }
        return sleep.kick()
    }

    /// With the lock held: a pass has consumed the wake-up.
    func consumeWakeUpLocked(_ run: Activation) {
        sleep.isWakePending = false
        guard sleep.isWakeForeign else { return }
        sleep.isWakeForeign = false
        var ancestor = run.parent
        while let outer = ancestor {
            if !outer.ignoresWakeUps { outer.owesPass = true }
            ancestor = outer.parent
        }
    }

    /// With the lock held, the run is about to sleep: not if it was stopped, and not if a nested run has consumed what another thread
    /// woke this one for. Core Foundation sleeps there, for as long as nothing else happens.
    func recallWakeUpLocked(_ run: Activation) {
        guard run.isStopped || run.owesPass else { return }
        run.owesPass = false
        sleep.isWakePending = true
    }

    /// With the lock held, a mode's timers have changed: a sleep in it that would now last too long ends, without a pass (item 76).
    func rearmLocked(_ mode: ModeState) -> Kick? {
        guard sleep.mode === mode, mode.heap.wakeUpTime() < sleep.until else { return nil }
        return sleep.kick()
    }

    /// With the lock held, a mode has a first descriptor: a sleep in it that does not watch its epoll begins again (item 78).
    func descriptorsChangedLocked(in mode: ModeState) -> Kick? {
        guard sleep.mode === mode, !sleep.watchesDescriptors else { return nil }
        return sleep.kick()
    }

    /// With the lock held, a mode serves other contexts: a sleep in it begins again.
    func contextsChangedLocked(in mode: ModeState) -> Kick? {
        guard sleep.mode === mode else { return nil }
        return sleep.kick()
    }

    /// Wakes the loop if it sleeps: it makes another pass, in which whatever was signalled, enqueued or removed meanwhile counts. Several
    /// calls are one wake-up. Without effect when the loop does not run, and when another pass comes before the next
    /// sleep anyway.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
    public func wakeUp() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked() }?.send()
    }

    /// Whether the loop waits in the kernel now. False in every callout. Threads: any. `CFRunLoopIsWaiting`.
    public var isWaiting: Bool {
        lock.withLock { sleep.isPolling }
    }
}
