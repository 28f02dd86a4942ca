// SPDX-License-Identifier: Apache-2.0
// Idle work: closures that are called when the loop has nothing else to do.

extension GRunLoop {
    /// A queue of closures that the loop calls when it is about to sleep and nothing else is ready. Each pass calls one
    /// closure, or calls closures for ``timePerPass``.
    ///
    /// Use an idle queue for work that can wait and comes in small pieces, such as measuring the rows of a table ahead
    /// of time:
    ///
    /// ```swift
    /// let measuring = GRunLoop.IdleQueue()
    /// GRunLoop.main.add(measuring, forMode: .default)
    /// for row in 0..<1000 { measuring.enqueue { measure(row) } }
    /// ```
    ///
    /// The closures are called in the order in which they were enqueued, after every observer of
    /// ``Activity/beforeWaiting``, whatever the observer's ``Observer/order``. The next pass first handles all other
    /// ready work, and its observers see the changes that the closures made. If a host drives the loop, the host's own
    /// sources also come before the closures, whatever the priority of the sources. So a closure that enqueues itself
    /// again keeps the loop awake, but does not starve other work. If several queues have closures, the queues take
    /// turns. A run with a time limit of zero does not sleep, so it calls no closure.
    ///
    /// A queue can be in one loop at a time, and in any number of that loop's modes. Closures wait while the loop runs
    /// in other modes, and while the queue is in no loop. While closures wait in a queue of a mode, a run in this mode
    /// does not return ``RunResult/finished``. If a closure starts a nested run, the queue's other closures wait, and
    /// do not keep the nested run from finishing. When the loop's thread ends, the queue leaves its modes and keeps its
    /// closures.
    ///
    /// Threads: any. There is no corresponding Core Foundation type: programs use an observer instead. GLib's
    /// `g_idle_add` is similar, but does not wait until nothing else is ready.
    public final class IdleQueue: @unchecked Sendable {
        /// The time for which a pass calls closures, on the loop's clock. Zero means one closure in each pass.
        ///
        /// Threads: any.
        public let timePerPass: Duration

        let guardian = Guardian()
        // Guarded by the guardian.
        @exclusivity(unchecked) private var turns = Places<TurnPlace<IdleQueue>>()
        var isCommonItem = false
        var isValidLocked = true
        /// True while one of the queue's closures is being called.
        private var isBusy = false
        /// The enqueued closures. A closure that was taken is replaced by nil, because its captures must not be
        /// released under the lock.
        private var waiting: [(@Sendable () -> Void)?] = []
        /// The index of the first closure that is not taken yet.
        private var next = 0

        /// Creates a queue that is in no loop yet, and can be added to any loop.
        ///
        /// - Parameter timePerPass: the time for which a pass calls closures. After each closure, the pass calls the
        ///   next closure if time is left and no other work has become ready. Closures that are enqueued while the pass
        ///   calls closures wait for another pass. Zero and negative values mean one closure in each pass. A time that
        ///   is too long to represent means no limit. In virtual time, work takes no time, so every positive value
        ///   means no limit.
        ///
        /// Threads: any.
        public init(timePerPass: Duration = .zero) {
            self.timePerPass = max(.zero, timePerPass)
        }

        /// Enqueues a closure at the end, to be called once on the loop's thread. Wakes the loop if it sleeps.
        ///
        /// - Returns: false if the queue was invalidated, and in a forked child. The closure is then released.
        ///
        /// Threads: any.
        @discardableResult public func enqueue(_ work: @escaping @Sendable () -> Void) -> Bool {
            guard !Fork.refuses("IdleQueue.enqueue") else { return false }
            let held = guardian.lock()
            guard isValidLocked else {
                guardian.unlock(held)
                return false
            }
            waiting.append(work)
            let kick = countLocked == 1 ? noteChangeLocked() : nil
            guardian.unlock(held)
            kick?.send()
            return true
        }

        /// The number of closures that wait to be called.
        ///
        /// Threads: any.
        public var count: Int {
            Fork.refuses("IdleQueue.count") ? 0 : guardian.withLock { countLocked }
        }

        /// Removes and releases the waiting closures. A closure that is being called is not affected.
        ///
        /// Threads: any.
        public func removeAll() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            let released = takeAllLocked()
            noteWorkLocked()
            guardian.unlock(held)
            // The closures are released after the guardian is unlocked, because the deinit of a captured object is user
            // code.
            withExtendedLifetime(released) {}
        }

        /// Whether the queue is valid. False once ``invalidate()`` was called, and in a forked child.
        ///
        /// Threads: any.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Removes the queue from every mode, permanently, and releases the waiting closures. A second call does
        /// nothing.
        ///
        /// Threads: any.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            // Takes the closures before the queue leaves its loop, because the held lock does not guard the queue
            // afterwards.
            let released = takeAllLocked()
            _ = endLocked(held)
            guardian.unlock(held)
            withExtendedLifetime(released) {}
        }

        // MARK: With the guardian held

        var countLocked: Int { waiting.count - next }
        /// Whether a closure can be called now.
        var isReadyLocked: Bool { !isBusy && countLocked > 0 }

        /// Called when `isReadyLocked` may have changed. Updates the turns in the queue's modes. If a closure can be
        /// called, returns a kick that ends a sleep of the loop.
        private func noteChangeLocked() -> Kick? {
            noteWorkLocked()
            return isReadyLocked ? guardian.loop?.wakeUpForIdleWorkLocked() : nil
        }

        /// If a closure can be called now, gives the queue a turn in each of its modes. Otherwise removes these turns.
        private func noteWorkLocked() {
            let isReady = isReadyLocked
            turns.forEach { place in
                place.modeOfPlace._withUnsafeGuaranteedRef { $0.noteIdleWork(of: place.turn, isReady) }
            }
        }

        private func takeAllLocked() -> [(@Sendable () -> Void)?] {
            defer { (waiting, next) = ([], 0) }
            return waiting
        }

        /// Removes and returns the next closure, for the caller to call. Returns nil if no closure can be called now.
        func takeLocked() -> (@Sendable () -> Void)? {
            guard isReadyLocked else { return nil }
            let work = waiting[next].take()
            next += 1
            // Drops the array elements of taken closures. Otherwise the array of a queue that is never empty would grow
            // forever.
            if next * 2 >= waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
            isBusy = true
            noteWorkLocked()
            return work
        }

        // MARK: Without a lock

        /// Called after a closure has returned, or has ended the thread. The queue may have been moved to another loop
        /// during the call.
        func endCall() {
            guardian.withLock { () -> Kick? in
                isBusy = false
                return noteChangeLocked()
            }?.send()
        }
    }
}

/// How many closures of a queue one pass may call, and for how long.
struct IdleTurn {
    /// Used only as an address, because the queue may be deallocated during the turn.
    let queue: Unmanaged<GRunLoop.IdleQueue>
    /// How many more closures may be called. Closures that are enqueued after the turn began wait for another turn.
    private var left: Int
    private let end: Nanoseconds

    /// Call this initializer with the queue's guardian held.
    init(of queue: GRunLoop.IdleQueue, at now: Nanoseconds) {
        self.queue = .passUnretained(queue)
        let span = Nanoseconds(saturating: queue.timePerPass)
        left = span > 0 ? queue.countLocked : 1
        end = now.addingSaturating(span)
    }

    /// Counts a closure that is about to be called. Returns whether the turn has another closure after this one. The
    /// caller also checks the time, with `isOver(at:)`.
    mutating func noteCall() -> Bool {
        left -= 1
        return left > 0
    }

    func isOver(at now: Nanoseconds) -> Bool { now >= end }
}

extension GRunLoop.IdleQueue: ModeItem {
    /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``. Threads: any.
    @discardableResult public func carryOut(
        _ operation: GRunLoop.MembershipOperation, of loop: GRunLoop, forMode mode: GRunLoop.Mode
    ) -> Bool {
        carryOut(operation, loop, mode)
    }

    static var kind: StaticString { "IdleQueue" }
    var asCommonItem: CommonItem { .idleQueue(self) }
    var homeLocked: Home? { nil }
    var firstMode: Unmanaged<ModeState>? { turns.first }

    func isIn(_ mode: ModeState) -> Bool { turns.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout DeferredEffects) {
        let place = TurnPlace(of: self, in: mode)
        turns.add(place)
        mode.idleQueues.insert(self)
        mode.noteIdleWork(of: place.turn, isReadyLocked)
        if isReadyLocked { effects.kick.merge(loop.wakeUpForIdleWorkLocked()) }
    }

    func leave(_ mode: ModeState, _ effects: inout DeferredEffects) {
        guard let place = turns.remove(mode) else { return }
        mode.noteIdleWork(of: place.turn, false)
        place.end()
        mode.idleQueues.remove(self)
    }
}

extension ModeState {
    /// Whether any idle queue has a closure that can be called now.
    var hasIdleWork: Bool { idleQueues.hasReadyItems }

    /// Returns `wanted` or, if `wanted` is nil, the next queue in turn. Returns nil if the chosen queue has no closure
    /// to call, or has left the mode.
    func nextIdleQueue(_ wanted: Unmanaged<GRunLoop.IdleQueue>?) -> GRunLoop.IdleQueue? {
        guard let wanted else { return idleQueues.next?.takeUnretainedValue() }
        guard idleQueues.contains(wanted) else { return nil }
        let queue = wanted.takeUnretainedValue()
        return queue.isReadyLocked ? queue : nil
    }

    /// Records whether a queue has a closure that can be called now.
    func noteIdleWork(of turn: Unmanaged<Turn<GRunLoop.IdleQueue>>, _ hasWork: Bool) {
        let had = hasIdleWork
        idleQueues.note(turn, hasWork)
        if had != hasIdleWork { noteObserved() }
    }
}

extension GRunLoop.IdleQueue: CustomStringConvertible {
    /// A text for people: whether the queue is valid, and how many closures wait. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.IdleQueue \(hexAddress(self))>{forked}" }
        let (valid, count) = guardian.withLock { (isValidLocked, countLocked) }
        return "<GRunLoop.IdleQueue \(hexAddress(self))>{\(Labels.part(of: self))valid = \(yesNo(valid)), "
            + "count = \(count), time per pass = \(timePerPass)}"
    }
}
