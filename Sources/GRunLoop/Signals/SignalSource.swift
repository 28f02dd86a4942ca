// SPDX-License-Identifier: Apache-2.0
// Signals of the process, as sources.

extension GRunLoop {
    /// A source whose closure is called after the process has received a signal.
    ///
    /// The source listens from its creation until it is invalidated or released. The source counts signals even before
    /// it is added to a loop, or while the loop runs in another mode, so no signal is lost. Any number of sources and
    /// loops can listen to one signal, and each source gets every signal.
    ///
    /// While any source listens to a signal, the signal has no other effect on the process. For example, SIGTERM does
    /// not end the process. When the last source of the signal ends, the former disposition is restored, unless other
    /// code has changed the disposition meanwhile.
    ///
    /// A source gets a signal even if the process ignored the signal before, such as SIGHUP under `nohup`. If other
    /// code in the process handles the signal, as Python handles SIGINT, creating a source throws an error. If
    /// `replacing` is true, the source replaces this handler while it listens. A source of SIGQUIT needs `replacing` if
    /// `SWIFT_BACKTRACE` enables Swift's backtracer, which handles SIGQUIT.
    ///
    /// The library's signal handler only increments a counter, on any thread. The loop's thread calls the closure
    /// later. The library changes no signal mask, so a signal that every thread blocks stays pending. Interrupted
    /// system calls are restarted, except calls that the kernel never restarts, such as poll() and nanosleep()
    /// (signal(7)). A program that the process starts while a source listens gets the signal's default disposition,
    /// even if the process ignored the signal before. In a forked child, signals for which the parent had a source have
    /// no effect until the child calls exec().
    ///
    /// Other code may save the disposition while a source listens, and restore it after the last source has ended. In
    /// that case, the signal gets the disposition that it had before the first source was made.
    ///
    /// Threads: any. There is no corresponding Core Foundation type. The corresponding libdispatch function is
    /// `dispatch_source_create` with `DISPATCH_SOURCE_TYPE_SIGNAL`. The GLib function is `g_unix_signal_source_new`.
    public final class SignalSource: Item, Sendable {
        /// The number of the signal. Threads: any.
        public let signal: Int32
        /// The eventfd that counts the signals; for tests.
        package var eventDescriptor: Int32 { listener.event }
        private let listener: SignalListener
        /// The handler of the descriptor source that represents this source in its modes.
        private let handler: @Sendable (DescriptorSource, DescriptorSource.Conditions) -> Void
        /// Holds the closure and its actor, if the closure belongs to an actor; otherwise nil.
        private let confined: Confined?
        private let standIn = StandIn()

        /// Creates a source that listens to a signal immediately, and can be added to any loop.
        ///
        /// - Parameters:
        ///   - signal: the number of the signal. SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
        ///     SIGABRT, SIGTRAP, SIGTTIN and SIGTTOU are refused.
        ///   - replacing: whether to replace a handler that other code in the process has installed.
        ///   - handler: a closure that is called on the loop's thread with the number of signals since its last call,
        ///     at least 1. The kernel queues real-time signals (SIGRTMIN and above), so each of them counts. It merges
        ///     pending signals of any other number, so several signals can count as 1. The closure is released when the
        ///     source is released.
        /// - Throws: ``SystemError`` if the source cannot listen to the signal.
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
            // The count is taken before the call, so that later signals count for the next call. The count is 0 if the
            // source has moved to another loop and that loop has already taken the signals.
            let count = source.listener.take()
            if count > 0 { handler(source, count) }
        }

        /// Carries out an operation that a loop requests: see ``GRunLoop/Item/carryOut(_:of:forMode:)``.
        ///
        /// - Throws: ``GRunLoop/SystemError`` if a limit or a sandbox prevents the loop from watching the source.
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

        /// Whether the source is valid. False after ``invalidate()`` was called, and in a forked child.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceIsValid`.
        public var isValid: Bool { standIn.isValid }

        /// Removes the source from every mode, permanently, and stops listening.
        ///
        /// When the last source of a signal is invalidated, the former disposition is restored. The closure is not
        /// called any more, even for signals that have already arrived. If a thread other than the loop's thread
        /// invalidates the source, the loop may still call the closure once. A second call does nothing.
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
    /// A text for people: the source's validity, signal and label. The format may change.
    ///
    /// Threads: any. The corresponding Core Foundation function is `CFCopyDescription`.
    public var description: String {
        "<GRunLoop.SignalSource \(hexAddress(self))>{\(facts(of: standIn.source ?? self))valid = \(yesNo(isValid)), "
            + "context = {version = 1, signal = \(signal), perform = closure}}"
    }
}
