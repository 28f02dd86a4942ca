// SPDX-License-Identifier: Apache-2.0
// Signals of the process, as items.

extension GRunLoop {
    /// A source that is performed when a signal has come: a ``DescriptorSource`` whose descriptor is its own.
    ///
    /// It listens from its making until it is invalidated or let go: signals that come before it is in a loop, or while
    /// its loop is in another mode, are counted, and none is lost. While any source listens to a signal, it does
    /// nothing else to the process; with the last one the former disposition comes back, unless somebody has installed
    /// another meanwhile. So the first source of SIGTERM keeps the signal from ending the process, and after the last
    /// one it does again.
    ///
    /// Where a signal is ignored, as SIGHUP under `nohup`, it is heard nevertheless. Where somebody in the process has
    /// a handler of it, as Python of SIGINT, a source is an error, unless it replaces that handler for as long as it
    /// listens. Any number of sources and loops can listen to one signal; each gets all of them. What stands between a
    /// signal and its callout is a handler that adds to a counter, on whatever thread the kernel chooses; no mask is
    /// changed, so that a signal which every thread has blocked waits; system calls are restarted, except those that
    /// never are, as poll() and nanosleep() (signal(7)). Programs that are started inherit nothing, also not that the
    /// signal was ignored. A forked child that does not exec() hears nothing.
    ///
    /// Swift's backtracer, where `SWIFT_BACKTRACE` enables it, handles SIGQUIT: a source of that needs `replacing`. Who
    /// saves the disposition while a source listens, and puts it back after the last one has gone, gets what was there
    /// before the sources.
    ///
    /// Threads: any. Core Foundation has nothing of the kind; the corresponding function of libdispatch is
    /// `dispatch_source_create` with `DISPATCH_SOURCE_TYPE_SIGNAL`, GLib's is `g_unix_signal_source_new`.
    public final class SignalSource: DescriptorSource, @unchecked Sendable {
        /// The number of the signal. Threads: any.
        public let signal: Int32
        private let listener: SignalListener

        /// A source that listens to a signal from now on, and may be added to any loop.
        ///
        /// - Parameters:
        ///   - signal: SIGCHLD, SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT,
        ///     SIGTRAP, SIGTTIN and SIGTTOU are refused.
        ///   - replacing: whether to take the signal over from a handler that somebody in the process has.
        ///   - handler: called on the loop's thread, with how many have come since its last call: at least one. The
        ///     kernel counts each of those that are queued, SIGRTMIN and later; of the others it keeps one at a time.
        ///     It is kept until the source itself goes.
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

        /// What its handler does as that of a descriptor source.
        static func perform(_ source: DescriptorSource, _ handler: (SignalSource, Int) -> Void) {
            let source = unsafeDowncast(source, to: SignalSource.self)
            // Taken before the callout: what comes from now on is another one. Nothing, if the program has read it.
            let count = source.listener.take()
            if count > 0 { handler(source, count) }
        }

        /// Takes the source out of every mode, for good, and stops listening: with the last source of a signal the
        /// former disposition comes back. It is not performed any more, also not for signals that have come already;
        /// where another thread invalidates it, a call whose turn has come may still begin. The second time it does
        /// nothing.
        ///
        /// Threads: any. The corresponding Core Foundation function is `CFRunLoopSourceInvalidate`.
        override public func invalidate() {
            super.invalidate()
            listener.end()
        }

        override var subject: (kind: String, number: Int32) { ("signal", signal) }
        override var ownsDescriptor: Bool { true }
    }
}
