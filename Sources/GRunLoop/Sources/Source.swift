// SPDX-License-Identifier: Apache-2.0
// Version-0 sources: events that a program signals itself.

extension GRunLoop {
    /// A source that is performed after it was signalled: once, however often it was signalled before.
    ///
    /// Signalling does not wake a sleeping loop: call ``GRunLoop/wakeUp()`` after ``signal()``. A source can be in
    /// several modes and in several loops; one signal is performed by whichever of them comes first. It keeps its loops
    /// alive as long as it is in them.
    ///
    /// Threads: any. The corresponding Core Foundation type is `CFRunLoopSource` with a context of version 0.
    public final class Source: @unchecked Sendable {
        /// Sources that are signalled at the same time perform in ascending order; equal ones in the order of their
        /// first signal.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceGetOrder`.
        public let order: Int

        let perform: @Sendable () -> Void
        /// What `perform` holds, if that belongs to an actor.
        let confined: Confined?
        let schedule: (@Sendable (GRunLoop, Mode) -> Void)?
        let cancel: (@Sendable (GRunLoop, Mode) -> Void)?

        /// Taken after a loop's lock, never before it.
        private let lock = Lock.take()
        private var valid = true
        /// Its place in the order of first signals; 0 when it is not signalled.
        private var signalNumber: UInt64 = 0
        @exclusivity(unchecked) private var memberships = SourceMemberships.none
        /// The loops of which it is a common item.
        private var commonIn: [GRunLoop] = []

        /// A source that is in no loop yet, and may be added to any.
        ///
        /// - Parameters:
        ///   - order: lower performs first.
        ///   - schedule: called on the adding thread when the source has been added to a mode of a loop, once for each
        ///     mode. It gets the mode's own name, never ``Mode/common``.
        ///   - cancel: called on the removing thread, once for each mode that it was removed from; also when it is
        ///     invalidated, and when the loop's thread ends.
        ///   - perform: called on the loop's thread, after the signal is cleared: a signal from inside it performs the
        ///     source again in the next pass.
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

        /// Marks the source to be performed. Does not wake the loop. An invalid source ignores it.
        ///
        /// Threads: any; not from a signal handler. The corresponding Core Foundation function is
        /// `CFRunLoopSourceSignal`.
        public func signal() {
            guard !Fork.refuses("Source.signal") else { return }
            _ = signalAnsweringMembership()
        }

        /// Signals the source. Returns a loop that it is in.
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
            // Also if it was signalled already: the thread that did so may not have told the modes yet, and a wake-up
            // that follows this call must find the signal.
            if let only = memberships.only {
                // The usual case: no array is retained.
                lock.unlock()
                only.noteSignal()
                return only
            }
            let all = memberships.all
            lock.unlock()
            for membership in all { membership.noteSignal() }
            return all.first
        }

        /// Whether it was signalled and has not been performed since. False once it is invalid.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsSignalled`.
        public var isSignalled: Bool { !Fork.refuses("Source.isSignalled") && signalOrder != 0 }

        /// False from the call of ``invalidate()`` on.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { !Fork.isChild && lock.withLock { valid } }

        /// Takes the source out of every mode of every loop, for good. `cancel` is called once for each mode, on this
        /// thread. The closures are kept until the source itself goes. The second time it does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            guard !Fork.isChild else { return }
            // The list is complete, because an invalid source joins no mode.
            let (memberships, commonIn) = lock.withLock { () -> ([SourceMembership], [GRunLoop]) in
                guard valid else { return ([], []) }
                valid = false
                signalNumber = 0
                return (self.memberships.all, self.commonIn)
            }
            for (loop, modes) in SourceDepartures(memberships, commonIn: commonIn).loops {
                loop.owner.remove(self, from: modes)
            }
            confined?.letGo()
        }

        // MARK: For the loop, which holds its own lock

        var isInModes: Bool { lock.withLock { !memberships.isEmpty } }

        var signalOrder: UInt64 { lock.withLock { signalNumber } }

        /// Clears the signal. Returns nothing that would have to be released.
        func clearSignal() { lock.withLock { signalNumber = 0 } }

        /// Clears the signal. Nil if there was none; else the memberships if the source is in several modes, and none
        /// if it is in one.
        func takeSignal() -> [SourceMembership]? {
            lock.withLock {
                guard signalNumber != 0 else { return nil }
                signalNumber = 0
                return memberships.only == nil ? memberships.all : []
            }
        }

        /// Records that it is in a mode now. Nil if it is invalid, else whether it is signalled.
        func join(_ membership: SourceMembership) -> Bool? {
            lock.withLock {
                guard valid else { return nil }
                memberships.add(membership)
                return signalNumber != 0
            }
        }

        /// Records that it is a common item of the loop. False if it is invalid.
        func becomeCommon(in loop: GRunLoop) -> Bool {
            lock.withLock {
                guard valid else { return false }
                if !commonIn.contains(where: { $0 === loop }) { commonIn.append(loop) }
                return true
            }
        }

        /// The caller releases the result after the loop's lock.
        func ceaseCommon(in loop: GRunLoop) -> GRunLoop? {
            lock.withLock { commonIn.firstIndex { $0 === loop }.map { commonIn.remove(at: $0) } }
        }

        /// The caller releases the membership after the loop's lock: it may hold the last references to the loop and to
        /// the source.
        func leave(_ membership: SourceMembership) {
            lock.withLock { memberships.remove(membership) }
        }
    }
}

extension GRunLoop.Source: Invalidatable {}

extension GRunLoop.Source: CustomStringConvertible {
    /// Whether it is signalled and valid, its order and its closures, for reading. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        let (signalled, valid) = Fork.isChild ? (false, false) : (isSignalled, isValid)
        return "<GRunLoop.Source \(hexAddress(self))>{\(facts(of: self))signalled = \(yesNo(signalled)), "
            + "valid = \(yesNo(valid)), order = \(order), context = {version = 0, perform = closure, schedule = "
            + "\(schedule == nil ? "none" : "closure"), cancel = \(cancel == nil ? "none" : "closure")}}"
    }
}
