// SPDX-License-Identifier: Apache-2.0
// Signals of the process, as sources.

extension GRunLoop {
    /// A source that is performed when a signal has come.
    ///
    /// The source listens from its creation until it is invalidated or released. Signals are counted while the source
    /// is not in a loop yet, or while its loop is in another mode, so that none is lost. Any number of sources and
    /// loops can listen to one signal, and each source gets all of its signals.
    ///
    /// While any source listens to a signal, the signal has no other effect on the process. When the last source ends,
    /// the former disposition is restored, unless other code has installed another one meanwhile. For example, the
    /// first source of SIGTERM keeps the signal from ending the process. After the last source, SIGTERM ends the
    /// process again.
    ///
    /// A source hears a signal even if the process ignores it, as SIGHUP under `nohup`. If other code in the process
    /// already handles the signal, as Python handles SIGINT, creating a source is an error. With `replacing`, the
    /// source replaces that handler for as long as it listens. Swift's backtracer, where `SWIFT_BACKTRACE` enables it,
    /// handles SIGQUIT: a source of SIGQUIT needs `replacing` there.
    ///
    /// The library's signal handler only adds to a counter, on whatever thread the kernel chooses. The loop's thread
    /// calls the closure later. The library changes no signal mask, so a signal that every thread has blocked waits.
    /// System calls are restarted, except for those that never are, such as poll() and nanosleep() (signal(7)).
    /// Programs that the process starts inherit nothing, not even that the signal was ignored before. A forked child
    /// that does not exec() hears nothing.
    ///
    /// Other code may save the disposition while a source listens, and restore it after the last source has ended. In
    /// that case, the signal gets the disposition that it had before the first source was made.
    ///
    /// Threads: any. Core Foundation has nothing of the kind; the corresponding function of libdispatch is
    /// `dispatch_source_create` with `DISPATCH_SOURCE_TYPE_SIGNAL`, GLib's is `g_unix_signal_source_new`.
    public final class SignalSource: Item, Sendable {
        /// The number of the signal. Threads: any.
        public let signal: Int32
        /// The eventfd that counts the signals; for tests.
        package var eventDescriptor: Int32 { listener.event }
        private let listener: SignalListener
        /// The handler of the descriptor source that stands for this one in its modes.
        private let handler: @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void
        /// Holds the closure and its actor, if the closure belongs to an actor; otherwise nil.
        private let confined: Confined?
        private let standIn = StandIn()

        /// Creates a source that listens to a signal from now on, and may be added to any loop.
        ///
        /// - Parameters:
        ///   - signal: the number of the signal. SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
        ///     SIGABRT, SIGTRAP, SIGTTIN and SIGTTOU are refused.
        ///   - replacing: whether to replace a handler that other code in the process has installed.
        ///   - handler: called on the loop's thread with the number of signals since its last call, at least 1. The
        ///     kernel queues signals from SIGRTMIN on, so that each of them counts. It keeps any other signal only
        ///     once, so that several can count as 1. The closure is released with the source.
        /// - Throws: ``SystemError``.
        ///
        /// Threads: any. The corresponding function of GLib is `g_unix_signal_source_new`.
        public convenience init(
            _ signal: Int32, replacing: Bool = false, handler: @escaping @Sendable (SignalSource, Int) -> Void
        ) throws(SystemError) {
            try self.init(signal, replacing, confined: nil) { source, _ in Self.perform(source, handler) }
        }

        init(
            _ signal: Int32, _ replacing: Bool, confined: Confined?,
            _ handler: @escaping @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void
        ) throws(SystemError) {
            listener = try SignalListener(signal, replacing: replacing)
            self.signal = signal
            self.handler = handler
            self.confined = confined
        }

        /// The handler of the descriptor source: calls the signal source's handler with the number of signals.
        static func perform(_ source: DescriptorSource, _ handler: (SignalSource, Int) -> Void) {
            let owner = unsafeDowncast(source, to: OwnDescriptorSource.self).owner
            let source = unsafeDowncast(owner, to: SignalSource.self)
            // The count is taken before the handler is called, so that signals from now on count for the next call. It
            // is 0 if another loop has taken the signals.
            let count = source.listener.take()
            if count > 0 { handler(source, count) }
        }

        /// Carries out a call of a loop: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
        ///
        /// - Throws: ``GRunLoop/SystemError`` if a limit or a sandbox keeps the loop from watching.
        ///
        /// Threads: any.
        @discardableResult public func carryOut(
            _ operation: MembershipOperation, of loop: GRunLoop, forMode mode: Mode
        ) throws(SystemError) -> Bool {
            try standIn.carryOut(operation, of: loop, forMode: mode, for: self, "SignalSource") {
                OwnDescriptorSource(
                    descriptor: listener.event, of: "signal", signal, ownedBy: self, confined: confined,
                    handler: handler)
            }
        }

        /// Whether the source is valid: false from the call of ``invalidate()`` on, and always in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { standIn.isValid }

        /// Removes the source from every mode, permanently, and stops listening.
        ///
        /// When the last source of a signal is invalidated, the former disposition is restored. The source is not
        /// performed any more, even for signals that have come already. If another thread invalidates it, a call whose
        /// turn has come may still begin. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        public func invalidate() {
            if standIn.end(lettingGoOf: confined) { listener.end() }
        }

        /// The program's name for the source, for people who read diagnostics. Nil means no label: see ``Item/label``.
        ///
        /// Threads: any. The corresponding GLib functions are `g_source_set_name` and `g_source_get_name`.
        public var label: String? {
            get { Labels.get(self, "SignalSource.label") }
            set {
                Labels.set(newValue, of: self, "SignalSource.label")
                standIn.passOnLabel(of: self)
            }
        }
    }
}

extension GRunLoop.SignalSource: CustomStringConvertible {
    /// A text that says whether the source is valid, its signal and its label. It is for people to read; its format may
    /// change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.SignalSource \(hexAddress(self))>{\(facts(of: standIn.source ?? self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, signal = \(signal), perform = closure}}"
    }
}
