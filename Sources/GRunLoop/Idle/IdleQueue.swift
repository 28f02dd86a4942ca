// SPDX-License-Identifier: Apache-2.0
// Idle work: closures that are called when the loop has nothing else to do.

extension GRunLoop {
    /// A queue of closures that are called when the loop is about to sleep: one a pass, or for a given time a pass, and
    /// never while anything else is ready.
    ///
    /// It is for work that can wait and comes in small pieces, such as measuring the rows of a table ahead of time:
    ///
    /// ```swift
    /// let measuring = GRunLoop.IdleQueue()
    /// GRunLoop.main.add(measuring, forMode: .default)
    /// for row in 0..<1000 { measuring.enqueue { measure(row) } }
    /// ```
    ///
    /// The closures are called in their order, after every observer of ``Activity/beforeWaiting``, whatever its
    /// ``Observer/order``. Another pass follows each of them, in which everything else has its turn, and in which
    /// observers see what it has changed; where a host drives, its other sources come first as well, whatever their
    /// priority. So a closure that enqueues itself again keeps the loop awake, but keeps nobody from being served.
    /// Several queues take turns. A run that only looks, for a time of zero, does not sleep, and calls none.
    ///
    /// A queue is in one loop at a time, and in any number of its modes; in others its closures wait, and so they do
    /// while the queue is in no loop. As long as one waits in a mode, that is not finished. While a closure runs a
    /// nested loop the queue's other closures wait, and the nested run's mode is finished without them. An empty queue
    /// costs nothing: it wakes nobody and is asked nothing.
    /// When the loop's thread ends the queue leaves its modes with what it holds.
    ///
    /// Threads: any. There is no corresponding Core Foundation type: programs build it from an observer. The
    /// corresponding GLib function is `g_idle_add`, which does not wait until nothing is ready.
    public final class IdleQueue: @unchecked Sendable {
        /// For how long closures are called in one pass, on the loop's clock. Zero: one closure a pass.
        ///
        /// Threads: any.
        public let timePerPass: Duration

        let guardian = Guardian()
        // Guarded by the guardian.
        @exclusivity(unchecked) private var turns = Places<TurnPlace<IdleQueue>>()
        var isCommonItem = false
        var isValidLocked = true
        /// One of its closures is being called.
        private var isBusy = false
        /// Closures are moved out when taken: what they have captured must not be released under the lock.
        private var waiting: [(@Sendable () -> Void)?] = []
        /// The index of the first closure that was not taken.
        private var next = 0

        /// A queue that is in no loop yet, and may be added to any.
        ///
        /// - Parameter timePerPass: for how long closures are called in a pass: after each the next one is called if
        ///   the time is not used up, and nothing else has become ready. Those that are enqueued meanwhile wait for
        ///   another pass. Zero and negative: one closure a pass. One that is too long is no limit. In virtual time,
        ///   where work takes none, it is no limit either.
        ///
        /// Threads: any.
        public init(timePerPass: Duration = .zero) {
            self.timePerPass = max(.zero, timePerPass)
        }

        /// Enqueues a closure behind the others, to be called once, on the loop's thread. A loop that sleeps in one of
        /// the queue's modes wakes.
        ///
        /// - Returns: false if the queue was invalidated: then the closure is let go.
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

        /// How many closures wait to be called.
        ///
        /// Threads: any.
        public var count: Int {
            Fork.refuses("IdleQueue.count") ? 0 : guardian.withLock { countLocked }
        }

        /// Lets go of the closures that wait. One that is being called is not concerned.
        ///
        /// Threads: any.
        public func removeAll() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            let released = takeAllLocked()
            noteWorkLocked()
            guardian.unlock(held)
            // After the lock: the deinit of what a closure holds is user code.
            withExtendedLifetime(released) {}
        }

        /// False from the call of ``invalidate()`` on.
        ///
        /// Threads: any.
        public var isValid: Bool { !Fork.isChild && guardian.withLock { isValidLocked } }

        /// Takes the queue out of every mode, for good, and lets go of the closures that wait. The second time it does
        /// nothing.
        ///
        /// Threads: any.
        public func invalidate() {
            guard !Fork.isChild else { return }
            let held = guardian.lock()
            // First: once it is in no loop, the loop's lock guards it no more.
            let released = takeAllLocked()
            _ = endLocked(held)
            guardian.unlock(held)
            withExtendedLifetime(released) {}
        }

        // MARK: With the guardian held

        var countLocked: Int { waiting.count - next }
        /// Whether a closure can be called now.
        var isReadyLocked: Bool { !isBusy && countLocked > 0 }

        /// Whether a closure can be called now may have changed: its modes note it, and a sleep in one of them ends.
        private func noteChangeLocked() -> Kick? {
            noteWorkLocked()
            return isReadyLocked ? guardian.loop?.owner.wakeUpForIdleWorkLocked() : nil
        }

        /// The queue has its turns where it has work, and only there.
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

        /// The next closure, which is about to be called; nil if none can be.
        func takeLocked() -> (@Sendable () -> Void)? {
            guard isReadyLocked else { return nil }
            let work = waiting[next].take()
            next += 1
            // Drops the taken part, or a queue that is never empty would grow for ever.
            if next * 2 >= waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
            isBusy = true
            noteWorkLocked()
            return work
        }

        // MARK: Without a lock

        /// A closure was called. Meanwhile the queue may have moved to another loop.
        func endCall() {
            guardian.withLock { () -> Kick? in
                isBusy = false
                return noteChangeLocked()
            }?.send()
        }
    }
}

/// What a queue may have called before another pass follows.
struct IdleTurn {
    /// Only its identity: it may go meanwhile.
    let queue: Unmanaged<GRunLoop.IdleQueue>
    /// How many closures there were at its beginning: later ones wait for another turn.
    private var left: Int
    private let end: Nanoseconds

    /// With the queue's guardian held.
    init(of queue: GRunLoop.IdleQueue, at now: Nanoseconds) {
        self.queue = .passUnretained(queue)
        let span = Nanoseconds(saturating: queue.timePerPass)
        left = span > 0 ? queue.countLocked : 1
        end = now.addingSaturating(span)
    }

    /// A closure is called. Returns whether another may be, unless the time is used up then.
    mutating func noteCall() -> Bool {
        left -= 1
        return left > 0
    }

    func isOver(at now: Nanoseconds) -> Bool { now >= end }
}

extension GRunLoop.IdleQueue: ModeItem {
    static var kind: StaticString { "IdleQueue" }
    var asItem: Item { .idleQueue(self) }
    var homeLocked: Home? { nil }
    var firstMode: Unmanaged<ModeState>? { turns.first }

    func isIn(_ mode: ModeState) -> Bool { turns.contains(mode) }

    func join(_ mode: ModeState, of loop: GRunLoop, _ effects: inout Effects) {
        let place = TurnPlace(of: self, in: mode)
        turns.add(place)
        mode.idleQueues.insert(self)
        mode.noteIdleWork(of: place.turn, isReadyLocked)
        if isReadyLocked { effects.kick.merge(loop.owner.wakeUpForIdleWorkLocked()) }
    }

    func leave(_ mode: ModeState, _ effects: inout Effects) {
        guard let place = turns.remove(mode) else { return }
        mode.noteIdleWork(of: place.turn, false)
        place.end()
        mode.idleQueues.remove(self)
    }
}

extension ModeState {
    /// Whether any idle queue has work that can be called now.
    var hasIdleWork: Bool { idleQueues.haveWork }

    /// The idle queue whose turn it is; if one is `wanted`, that one. Nil if it has no work.
    func nextIdleQueue(_ wanted: Unmanaged<GRunLoop.IdleQueue>?) -> GRunLoop.IdleQueue? {
        guard let wanted else { return idleQueues.next?.takeUnretainedValue() }
        guard idleQueues.contains(wanted) else { return nil }
        let queue = wanted.takeUnretainedValue()
        return queue.isReadyLocked ? queue : nil
    }

    /// Whether one of the queues has work may have changed.
    func noteIdleWork(of turn: Unmanaged<Turn<GRunLoop.IdleQueue>>, _ hasWork: Bool) {
        let had = hasIdleWork
        idleQueues.note(turn, hasWork)
        if had != hasIdleWork { noteObserved() }
    }
}

extension GRunLoop.IdleQueue: CustomStringConvertible {
    /// Whether it is valid, and how many closures wait, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        guard !Fork.isChild else { return "<GRunLoop.IdleQueue \(hexAddress(self))>{forked}" }
        let (valid, count) = guardian.withLock { (isValidLocked, countLocked) }
        return "<GRunLoop.IdleQueue \(hexAddress(self))>{\(Labels.part(of: self))valid = \(yesNo(valid)), "
            + "count = \(count), time per pass = \(timePerPass)}"
    }
}
