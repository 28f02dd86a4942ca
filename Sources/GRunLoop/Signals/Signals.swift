// SPDX-License-Identifier: Apache-2.0
// Signal sources, for await.

import Glibc

extension GRunLoop {
    /// The signals that have come since the last element, and how many of each: ``SignalSource``, for `for try await`.
    ///
    /// The listening begins when an iterator is made, and ends at once when the task is cancelled or the iterator is
    /// let go: then the former dispositions come back. Signals that come while the task, or the loop, is busy are one
    /// element. The sequence ends with the loop's thread.
    public typealias Signals = ItemSequence<[Int32: Int], SignalError>

    /// Listens to signals of the process, for `for try await`:
    ///
    /// ```swift
    /// for try await arrived in loop.signals([SIGHUP, SIGTERM]) {
    ///     if arrived[SIGTERM] != nil { break }
    ///     reload()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - signals: their numbers. Either all of them are listened to, or none. An empty set means that nothing ever
    ///     comes.
    ///   - replacing: whether to take signals over from handlers that somebody in the process has.
    ///   - names: the modes in which they are delivered; while none of them runs they are counted. An empty list means
    ///     that nothing ever comes.
    ///
    /// What cannot be listened to is thrown by ``ItemSequence/Iterator/next()``, each time that it is awaited.
    ///
    /// Threads: any. There is no corresponding Core Foundation function; GLib's is `g_unix_signal_source_new`.
    public func signals(
        _ signals: Set<Int32>, replacing: Bool = false, inModes names: [Mode] = [.common]
    ) -> Signals {
        Signals {
            let mailbox = Mailbox<[Int32: Int]>(of: self) { $0.merging($1, uniquingKeysWith: +) }
            let sources = SignalSources { () throws(SignalError) in
                try self.listen(to: signals, replacing: replacing, inModes: names, mailbox)
            }
            mailbox.open(for: sources)
            // Now, and not when it is first awaited: a signal may come before. What is wrong is said there.
            try? sources.begin()
            return Signals.Iterator(mailbox) { () throws(SignalError) in try sources.begin() }
        }
    }

    private func listen(
        to signals: Set<Int32>, replacing: Bool, inModes names: [Mode], _ mailbox: Mailbox<[Int32: Int]>
    ) throws(SignalError) -> [SignalSource] {
        var sources: [SignalSource] = []
        do throws(SignalError) {
            for signal in signals {
                let source = try SignalSource(signal, replacing: replacing) { mailbox.send([$0.signal: $1]) }
                sources.append(source)
                try add(source, inModes: names)
            }
        } catch {
            for source in sources { source.invalidate() }
            throw error
        }
        return sources
    }

    private func add(_ source: SignalSource, inModes names: [Mode]) throws(SignalError) {
        do throws(DescriptorError) {
            for name in names { try add(source, forMode: name) }
        } catch {
            throw SignalError(error)
        }
    }

    /// The sources of an iterator, as one item.
    private final class SignalSources: Invalidatable, @unchecked Sendable {
        private enum State {
            case none, made([SignalSource]), ended
        }

        private let make: @Sendable () throws(SignalError) -> [SignalSource]
        private let lock = Lock.take()
        /// Guarded by the lock.
        private var state = State.none

        init(_ make: @escaping @Sendable () throws(SignalError) -> [SignalSource]) {
            self.make = make
        }

        deinit {
            Lock.giveBack(lock)
        }

        /// Makes them, if that was not done. Not on two threads at once.
        func begin() throws(SignalError) {
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

extension GRunLoop.SignalError {
    /// The error of an eventfd of the library: a limit or a sandbox can refuse the eventfd.
    fileprivate init(_ error: GRunLoop.DescriptorError) {
        switch error {
        case .forbidden(let call, let errno): self = .forbidden(call: call, errno: errno)
        case .limitReached(let errno), .system(let errno): self = .limitReached(errno: errno)
        case .invalid, .notPollable: self = .limitReached(errno: EBADF)
        }
    }
}
