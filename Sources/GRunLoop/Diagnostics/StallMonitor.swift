// SPDX-License-Identifier: Apache-2.0
// Who is to be told when a loop is late.

import CGRun
import Glibc

extension GRunLoop {
    /// Tells when a callout of a loop takes longer than it may: which one, and where its thread stands.
    ///
    /// ```swift
    /// let monitor = try GRunLoop.StallMonitor(.main, threshold: .milliseconds(200)) { report in print(report) }
    /// ```
    ///
    /// Waiting is no stall, however long. A callback of a host's own that takes long is one: there GTK programs stall.
    /// A host that has something of a higher priority than ``GRunLoop`` to do in each iteration is one as well, since
    /// nothing else has its turn. Where callouts are nested, the innermost one is told of.
    ///
    /// A thread of its own watches the loop. It sleeps while the loop waits. To find out where the loop's thread
    /// stands it sends a signal to it, once a stall, and where a host has not come back for as long: a `nanosleep()`
    /// there ends early with `EINTR` then, as with any signal; a `read()` goes on.
    ///
    /// The variable `GRUN_STALLS` of the environment, as in `GRUN_STALLS=200ms`, has the loop of each thread watched
    /// from its making on, and its stalls logged as warnings. The name of a `GSource` is told if it has one, and the
    /// label of an item.
    ///
    /// A report does not wait for a lock that the stalled thread holds, such as the lock of the dynamic linker, of the
    /// log or of a stream. If the stalled thread holds the allocator's lock, no handler can be called. Then the monitor
    /// writes a line with addresses instead of names to standard error after 50 ms, by `write()`. If stalls are logged,
    /// the monitor also writes this line when the log does not return within 50 ms. The report with names follows when
    /// the lock is free.
    ///
    /// The signal's handler needs 2,048 bytes on the stack of the loop's thread (x86-64), besides the kernel's frame of
    /// `getauxval(AT_MINSIGSTKSZ)` bytes. It runs on the alternate stack of a thread that has one (`sigaltstack()`).
    ///
    /// It ends with ``end()``, with this object and with the loop's thread. Several may watch one loop.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public final class StallMonitor: Sendable {
        /// Why a loop cannot be watched.
        public enum StartError: Error, Hashable, Sendable, CustomStringConvertible {
            /// What `pthread_create` returns: `EAGAIN` when the system has no thread left.
            case noThread(errno: Int32)
            /// This process was forked and did not exec().
            case forked

            /// What is wrong and what to do, as one sentence.
            public var description: String {
                switch self {
                case .noThread(let errno): "no thread can be started (\(errorMessage(errno)))"
                case .forked: "\(Fork.reason). \(Fork.remedy)"
                }
            }
        }

        private let watcher: StallWatcher
        private let audience: StallAudience

        /// Begins to watch a loop.
        ///
        /// - Parameters:
        ///   - loop: the loop. In virtual time it is watched by the real clock.
        ///   - threshold: how long a callout may take. Less than a millisecond, zero and negative: a millisecond.
        ///   - signal: what the loop's thread is asked with; the program must have no handler of its own for it. Nil:
        ///     `SIGURG`.
        ///   - handler: called when a stall is noticed, and when it is over, on the thread that watches, which has all
        ///     signals blocked. A stall is noticed an eighth of the threshold late at most, or a millisecond if that is
        ///     longer; 200 ms later than that if the thread does not say where it stands. It is not called any more
        ///     once the thread that watches knows that the monitor has ended. The handler must not wait for a lock that
        ///     the loop's thread holds: `print()` waits if that thread holds the lock of standard output. Nil: see
        ///     ``reports``.
        /// - Throws: ``StartError``, if the system has no thread left.
        ///
        /// Threads: any. On another thread than the loop's, a callout that is under way already is told of as
        /// ``StallReport/Callout-swift.enum/unknown``.
        public convenience init(
            _ loop: GRunLoop, threshold: Duration, signal: Int32? = nil,
            handler: (@Sendable (StallReport) -> Void)? = nil
        ) throws(StartError) {
            try self.init(loop, threshold, signal ?? StallWatcher.usualSignal, handler, isLogged: false)
        }

        /// A monitor that logs the stalls as warnings.
        convenience init(logging loop: GRunLoop, threshold: Duration) throws(StartError) {
            try self.init(loop, threshold, StallWatcher.usualSignal, Self.logger(of: loop), isLogged: true)
        }

        private init(
            _ loop: GRunLoop, _ threshold: Duration, _ signal: Int32, _ handler: (@Sendable (StallReport) -> Void)?,
            isLogged: Bool
        ) throws(StartError) {
            if Fork.isChild { throw .forked }
            audience = StallAudience(handler)
            watcher = StallWatcher(
                loop, threshold: max(1_000_000, Nanoseconds(saturating: threshold)), signal: signal,
                isLogged: isLogged, tell: audience.tell)
            let error = watcher.start()
            if error != 0 { throw .noThread(errno: error) }
            if watcher.signalError != 0 {
                Log.warning(
                    "a stall monitor goes without frames: signal \(signal) cannot be used "
                        + "(\(errorMessage(watcher.signalError))); give it another one")
            }
        }

        deinit { end() }

        /// Whether the thread of the loop can be asked where it stands: the signal had no handler of somebody else's
        /// when it began. Without it reports have no frames, and callbacks of a host are not told of; so it is while
        /// the thread has blocked the signal.
        ///
        /// Threads: any.
        public var hasFrames: Bool { watcher.signalError == 0 }

        /// The reports from now on, for `for await`; of those that nobody takes the last 64. They end with the monitor.
        ///
        /// Threads: any.
        public var reports: AsyncStream<StallReport> { Fork.isChild ? .finished : audience.newReports() }

        /// Ends it. The second time it does nothing.
        ///
        /// Threads: any, the handler included. It does not wait for a handler that is being called.
        public func end() {
            guard !Fork.isChild else { return }
            watcher.end()
            audience.end()
        }

        /// For tests: how often its thread has looked at the loop.
        var lookCount: Int { watcher.lookCount }

        /// What tells of the stalls of a loop in the log.
        static func logger(of loop: GRunLoop) -> @Sendable (StallReport) -> Void {
            let name = loop.isMain ? "the main run loop" : "the run loop \(hexAddress(loop))"
            return { Log.warning("stall: \(name) \($0)") }
        }

        /// It lives until it has ended, by ``end()`` or with the loop's thread.
        func keepUntilItEnds() { watcher.keep(self) }
    }
}

/// Who is told.
private final class StallAudience: Sendable {
    private typealias Report = GRunLoop.StallReport

    private let handler: (@Sendable (GRunLoop.StallReport) -> Void)?
    private let lock = Lock.take()
    /// Guarded by the lock; nil once the monitor has ended.
    nonisolated(unsafe) private var streams: [AsyncStream<Report>.Continuation]? = []

    init(_ handler: (@Sendable (GRunLoop.StallReport) -> Void)?) { self.handler = handler }

    deinit { Lock.giveBack(lock) }

    var tell: @Sendable (GRunLoop.StallReport) -> Void {
        { [self] report in
            guard let streams = lock.withLock({ streams }) else { return }
            handler?(report)
            for stream in streams { stream.yield(report) }
        }
    }

    func newReports() -> AsyncStream<GRunLoop.StallReport> {
        let (stream, continuation) = AsyncStream.makeStream(of: Report.self, bufferingPolicy: .bufferingNewest(64))
        let isOpen = lock.withLock {
            streams?.append(continuation)
            return streams != nil
        }
        if !isOpen { continuation.finish() }
        return stream
    }

    func end() {
        let ended = lock.withLock {
            defer { streams = nil }
            return streams
        }
        for stream in ended ?? [] { stream.finish() }
    }
}

extension AsyncStream {
    fileprivate static var finished: Self { Self { $0.finish() } }
}
