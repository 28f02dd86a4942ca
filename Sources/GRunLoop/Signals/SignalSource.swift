// SPDX-License-Identifier: Apache-2.0
// Signals of the process, as sources.

extension GRunLoop {
    /// A source that is performed when a signal has come: a ``DescriptorSource`` that owns its descriptor.
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
    /// Other code may save the disposition while a source listens, and restore it after the last source has ended. Then
    /// the disposition from before the sources takes effect.
    ///
    /// Threads: any. Core Foundation has nothing of the kind; the corresponding function of libdispatch is
    /// `dispatch_source_create` with `DISPATCH_SOURCE_TYPE_SIGNAL`, GLib's is `g_unix_signal_source_new`.
    public final class SignalSource: DescriptorSource, @unchecked Sendable {
        /// The number of the signal. Threads: any.
        public let signal: Int32
        private let listener: SignalListener

        /// Creates a source that listens to a signal from now on, and may be added to any loop.
        ///
        /// - Parameters:
        ///   - signal: the number of the signal. SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS,
        ///     SIGABRT, SIGTRAP, SIGTTIN and SIGTTOU are refused.
        ///   - replacing: whether to replace a handler that other code in the process has installed.
        ///   - handler: called on the loop's thread with the number of signals since its last call, at least 1. The
        ///     kernel queues signals from SIGRTMIN on, so that each of them counts. It keeps any other signal only
        ///     once, so that several can count as 1. The closure is released with the source.
        /// - Throws: ``SignalError``.
        ///
        /// Threads: any. The corresponding function of GLib is `g_unix_signal_source_new`.
        public convenience init(
            _ signal: Int32, replacing: Bool = false, handler: @escaping @Sendable (SignalSource, Int) -> Void
        ) throws(SignalError) {
            try self.init(signal, replacing, confined: nil) { source, _ in Self.perform(source, handler) }
        }

        init(
            _ signal: Int32, _ replacing: Bool, confined: Confined?,
            _ handler: @escaping @Sendable (DescriptorSource, Conditions) -> Void
        ) throws(SignalError) {
            listener = try SignalListener(signal, replacing: replacing)
            self.signal = signal
            super.init(listener.event, .readable, confined: confined, handler)
        }

        /// The handler of the descriptor source: calls the source's own handler with the number of signals.
        static func perform(_ source: DescriptorSource, _ handler: (SignalSource, Int) -> Void) {
            let source = unsafeDowncast(source, to: SignalSource.self)
            // The count is taken before the handler is called, so that signals from now on count for the next call. It
            // is 0 if the program has read the descriptor.
            let count = source.listener.take()
            if count > 0 { handler(source, count) }
        }

        /// Removes the source from every mode, for good, and stops listening.
        ///
        /// When the last source of a signal is invalidated, the former disposition is restored. The source is not
        /// performed any more, even for signals that have come already. If another thread invalidates it, a call whose
        /// turn has come may still begin. A second call does nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        override public func invalidate() {
            super.invalidate()
            listener.end()
        }

        package override var subject: (kind: String, number: Int32) { ("signal", signal) }
        override var ownsDescriptor: Bool { true }
    }
}
