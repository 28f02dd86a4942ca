// SPDX-License-Identifier: Apache-2.0
// Signals as an asynchronous sequence.

import Glibc

extension GRunLoop {
    /// The signals of the process as an asynchronous sequence: ``SignalSource`` for `for try await`.
    ///
    /// Each element maps the signals that have arrived since the previous element to the number of their arrivals.
    /// Listening begins when an iterator is made. When the task is cancelled or the iterator is released, listening
    /// ends immediately, and the former dispositions are restored. Signals that arrive while the task or the loop is
    /// busy form one element. The sequence ends when the loop's thread ends.
    public typealias Signals = ItemSequence<[Int32: Int], SystemError>

    /// Returns an asynchronous sequence of signals of the process, for `for try await`:
    ///
    /// ```swift
    /// for try await arrived in loop.signals([SIGHUP, SIGTERM]) {
    ///     if arrived[SIGTERM] != nil { break }
    ///     reload()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - signals: the numbers of the signals. An iterator listens to all of these signals or, after an error, to
    ///     none. If the set is empty, no element ever comes.
    ///   - replacing: whether to replace handlers that other code in the process has installed.
    ///   - names: the modes in which the signals are delivered. While none of these modes runs, the signals are
    ///     counted. If the list is empty, no element ever comes.
    ///
    /// If an iterator cannot listen to a signal, each call of ``ItemSequence/Iterator/next()`` tries again, and throws
    /// an error if that fails.
    ///
    /// Threads: any. The corresponding GLib function is `g_unix_signal_source_new`.
    public func signals(
        _ signals: Set<Int32>, replacing: Bool = false, inModes names: [Mode] = [.common]
    ) -> Signals {
        Signals {
            let mailbox = Mailbox<[Int32: Int]>(of: self) { $0.merging($1, uniquingKeysWith: +) }
            let sources = SignalSources { () throws(SystemError) in
                try self.listen(to: signals, replacing: replacing, inModes: names, mailbox)
            }
            mailbox.open(for: sources)
            // Begins to listen now, because a signal may arrive before the first await. If this fails, the first await
            // tries again, and throws the error.
            try? sources.begin()
            return Signals.Iterator(mailbox) { () throws(SystemError) in try sources.begin() }
        }
    }

    private func listen(
        to signals: Set<Int32>, replacing: Bool, inModes names: [Mode], _ mailbox: Mailbox<[Int32: Int]>
    ) throws(SystemError) -> [SignalSource] {
        var sources: [SignalSource] = []
        do throws(SystemError) {
            for signal in signals {
                let source = try SignalSource(signal, replacing: replacing) { mailbox.send([$0.signal: $1]) }
                sources.append(source)
                for name in names { try add(source, forMode: name) }
            }
        } catch {
            for source in sources { source.invalidate() }
            throw error
        }
        return sources
    }

    /// The signal sources of one iterator. The iterator's mailbox invalidates them together.
    private final class SignalSources: Invalidatable, @unchecked Sendable {
        private enum State {
            case none, made([SignalSource]), ended
        }

        private let make: @Sendable () throws(SystemError) -> [SignalSource]
        private let lock = Lock.take()
        /// Guarded by the lock.
        private var state = State.none

        init(_ make: @escaping @Sendable () throws(SystemError) -> [SignalSource]) {
            self.make = make
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// If the sources do not exist yet, makes the sources and begins to listen. Two threads must not call this
        /// function at the same time.
        func begin() throws(SystemError) {
            guard !Fork.isChild, lock.withLock({ if case .none = state { true } else { false } }) else { return }
            let sources = try make()
            let isEnded = lock.withLock {
                if case .ended = state { return true }
                state = .made(sources)
                return false
            }
            if isEnded { for source in sources { source.invalidate() } }
        }

        func invalidate() {
            let former = lock.withLock {
                defer { state = .ended }
                return state
            }
            if case .made(let sources) = former { for source in sources { source.invalidate() } }
        }
    }
}
