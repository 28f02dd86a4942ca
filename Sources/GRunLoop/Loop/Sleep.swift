// SPDX-License-Identifier: Apache-2.0
// How a sleeping loop is woken: decided under the lock, sent after it, at most once a sleep.

/// Guarded by the loop's lock.
struct Sleep {
    /// What ends the sleep that is under way, or about to begin: a change that concerns it has to.
    private var waker: Waker?
    /// This sleep was already woken.
    private var isKicked = false
    /// The mode of the sleep. Only its identity: comparing references would count them.
    private var mode: ObjectIdentifier?
    private(set) var until: Nanoseconds = .never
    private(set) var watchesDescriptors = false

    mutating func begin(
        in mode: ModeState, wokenBy waker: Waker, until: Nanoseconds, watchesDescriptors: Bool
    ) {
        isKicked = false
        self.mode = ObjectIdentifier(mode)
        self.waker = waker
        self.until = until
        self.watchesDescriptors = watchesDescriptors
    }

    mutating func end() {
        mode = nil
        waker = nil
    }

    /// The thread is in poll(), or about to be.
    var isUnderWay: Bool { waker != nil }
    func isIn(_ mode: ModeState) -> Bool { self.mode == ObjectIdentifier(mode) }

    /// Whether this sleep was woken, or the one before if that was not asked yet. Asking clears it.
    mutating func takeKicked() -> Bool {
        defer { isKicked = false }
        return isKicked
    }

    mutating func kick(_ loop: GRunLoop) -> Kick? {
        guard !isKicked, let waker else { return nil }
        isKicked = true
        return Kick(waker, of: loop)
    }
}

extension GRunLoop {
    /// Wakes the loop if it sleeps: it makes another pass, in which whatever was signalled, enqueued or removed
    /// meanwhile counts.
    ///
    /// Several calls are one wake-up. Where a host drives, the host gives the loop a pass. When nothing drives the loop
    /// the wake-up is forgotten: a later run does not count it. When another pass comes before the next sleep anyway,
    /// it changes nothing.
    ///
    /// Threads: any; not from a signal handler. The corresponding Core Foundation function is `CFRunLoopWakeUp`.
    public func wakeUp() {
        guard !refuses("wakeUp") else { return }
        lock.withLock { wakeUpLocked() }?.send()
    }

    /// With the lock held before and after.
    @inline(__always) func sendLocked(_ kick: consuming Kick?) {
        if let kick { unlock(toSend: kick) }
    }

    private func unlock(toSend kick: consuming Kick) {
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
