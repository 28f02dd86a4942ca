// SPDX-License-Identifier: Apache-2.0
// Version-0 sources: events that a program signals itself.

extension GRunLoop {
    /// A version-0 source: after the program has signalled the source, the loop calls the source's closure. Several
    /// signals before a call cause only one call.
    ///
    /// Signalling does not wake a sleeping loop: call ``GRunLoop/wakeUp()`` after ``signal()``.
    ///
    /// A source can be in several modes and in several loops. After a signal, the source is performed only once, by the
    /// first run in one of these modes. A loop's runs do not finish while the source is in their mode.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 0.
    public final class Source: @unchecked Sendable {
        /// The order of the source. Signalled sources are performed in ascending order. Sources of equal order are
        /// performed in the order in which they became signalled.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceGetOrder`.
        public let order: Int

        let perform: @Sendable () -> Void
        /// Holds the closure `perform` and its actor, if this closure belongs to an actor; otherwise nil.
        let confined: Confined?
        let schedule: (@Sendable (GRunLoop, Mode) -> Void)?
        let cancel: (@Sendable (GRunLoop, Mode) -> Void)?

        /// A thread that needs both this lock and a loop's lock acquires the loop's lock first.
        private let lock = Lock.take()
        private var valid = true
        /// The number of the first signal since the source was last performed; 0 while the source is not signalled.
        private var signalNumber: UInt64 = 0
        @exclusivity(unchecked) private var memberships = SourceMemberships.none
        /// The loops that have the source among their common items.
        private var commonIn: [GRunLoop] = []

        /// Creates a source that is in no loop yet, and can be added to any loop.
        ///
        /// - Parameters:
        ///   - order: sources of a lower order are performed first.
        ///   - schedule: a closure that is called on the adding thread after the source has joined a mode, once for
        ///     each mode. The mode that is passed to the closure is never ``Mode/common``.
        ///   - cancel: a closure that is called on the removing thread after the source has left a mode, once for each
        ///     mode. This closure is also called when the source is invalidated, and when the loop's thread ends.
        ///   - perform: a closure that is called on the loop's thread, after the signal was cleared. If the closure
        ///     signals its source, the next pass calls the closure again.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceCreate`.
        public convenience init(
            order: Int = 0,
            schedule: (@Sendable (GRunLoop, Mode) -> Void)? = nil,
            cancel: (@Sendable (GRunLoop, Mode) -> Void)? = nil,
            perform: @escaping @Sendable () -> Void
        ) {
            self.init(order, schedule, cancel, confined: nil, perform)
        }

        init(
            _ order: Int, _ schedule: (@Sendable (GRunLoop, Mode) -> Void)?,
            _ cancel: (@Sendable (GRunLoop, Mode) -> Void)?, confined: Confined?,
            _ perform: @escaping @Sendable () -> Void
        ) {
            self.order = order
            self.schedule = schedule
            self.cancel = cancel
            self.perform = perform
            self.confined = confined
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// Signals the source, so that a pass performs it. Does not wake the loop. Does nothing if the source is
        /// invalid.
        ///
        /// Threads: any; not from a signal handler. The corresponding Core Foundation function is
        /// `CFRunLoopSourceSignal`.
        public func signal() {
            guard !Fork.refuses("Source.signal") else { return }
            _ = signalAnsweringMembership()
        }

        /// Signals the source. Returns one of the loops that the source is in; nil if the source is in no loop or is
        /// invalid.
        func signalAnsweringLoop() -> GRunLoop? {
            signalAnsweringMembership()?.loop
        }

        private func signalAnsweringMembership() -> SourceMembership? {
            lock.lock()
            guard valid else {
                lock.unlock()
                return nil
            }
            if signalNumber == 0 { signalNumber = SignalOrder.next() }
            // Notifies the modes even if the source was signalled already. The thread that signalled the source first
            // may not have notified the modes yet, but a wake-up after this call must find the signal.
            if let only = memberships.only {
                // In the usual case, the source is in one mode, and no array is needed.
                lock.unlock()
                only.noteSignal()
                return only
            }
            let all = memberships.all
            lock.unlock()
            for membership in all { membership.noteSignal() }
            return all.first
        }

        /// True if the source was signalled and has not been performed since. False for an invalid source.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsSignalled`.
        public var isSignalled: Bool { !Fork.refuses("Source.isSignalled") && signalOrder != 0 }

        /// Whether the source is valid. False after ``invalidate()`` was called, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { !Fork.isChild && lock.withLock { valid } }

        /// Removes the source from every mode of every loop, permanently. A second call does nothing.
        ///
        /// The source's closure `cancel` is called once for each mode, on the calling thread. The source keeps its
        /// closures until the source itself is released. But if `perform` belongs to an actor, this call releases
        /// `perform` on the actor.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            // The two returned lists are complete, because an invalid source joins no further mode.
            let (memberships, commonIn) = lock.withLock { () -> ([SourceMembership], [GRunLoop]) in
                guard valid else { return ([], []) }
                valid = false
                signalNumber = 0
                return (self.memberships.all, self.commonIn)
            }
            for (loop, modes) in SourceDepartures(memberships, commonIn: commonIn).loops {
                loop.remove(self, from: modes)
            }
            confined?.letGo()
        }

        // MARK: For the loop, which holds the loop's lock

        var isInModes: Bool { lock.withLock { !memberships.isEmpty } }

        var signalOrder: UInt64 { lock.withLock { signalNumber } }

        /// Clears the signal. Unlike `takeSignal()`, returns no memberships, so the caller need not release memberships
        /// after unlocking.
        func clearSignal() { lock.withLock { signalNumber = 0 } }

        /// Clears the signal. Returns nil if the source was not signalled. Otherwise returns the memberships if the
        /// source is in several modes, or an empty list if it is in one mode or none.
        func takeSignal() -> [SourceMembership]? {
            lock.withLock {
                guard signalNumber != 0 else { return nil }
                signalNumber = 0
                return memberships.only == nil ? memberships.all : []
            }
        }

        /// Records that the source has joined a mode. Returns nil if the source is invalid, otherwise whether the
        /// source is signalled.
        func join(_ membership: SourceMembership) -> Bool? {
            lock.withLock {
                guard valid else { return nil }
                memberships.add(membership)
                return signalNumber != 0
            }
        }

        /// Records that the source is a common item of the loop. Returns false if the source is invalid.
        func becomeCommon(in loop: GRunLoop) -> Bool {
            lock.withLock {
                guard valid else { return false }
                if !commonIn.contains(where: { $0 === loop }) { commonIn.append(loop) }
                return true
            }
        }

        /// Records that the source is not a common item of the loop any more. The caller releases the result after it
        /// has released the loop's lock.
        func ceaseCommon(in loop: GRunLoop) -> GRunLoop? {
            lock.withLock { commonIn.firstIndex { $0 === loop }.map { commonIn.remove(at: $0) } }
        }

        /// Records that the source has left a mode. The membership may hold the last references to the loop and to the
        /// source. So the caller releases it after it has released the loop's lock.
        func leave(_ membership: SourceMembership) {
            lock.withLock { memberships.remove(membership) }
        }
    }
}

extension GRunLoop.Source: CustomStringConvertible {
    /// A text for people: whether the source is signalled and valid, its order and its closures. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        let (signalled, valid) = Fork.isChild ? (false, false) : (isSignalled, isValid)
        return "<GRunLoop.Source \(hexAddress(self))>{\(facts(of: self))signalled = \(yesNo(signalled)), "
            + "valid = \(yesNo(valid)), order = \(order), context = {version = 0, perform = closure, schedule = "
            + "\(schedule == nil ? "none" : "closure"), cancel = \(cancel == nil ? "none" : "closure")}}"
    }
}
