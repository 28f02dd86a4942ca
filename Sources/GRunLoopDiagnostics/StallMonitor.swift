// SPDX-License-Identifier: Apache-2.0
// The public stall monitor, which reports callouts that take too long.

import CGRun
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Reports when a callout of a loop takes too long: which callout it is, and where the loop's thread stands.
    ///
    /// ```swift
    /// let monitor = try GRunLoop.StallMonitor(.main, threshold: .milliseconds(200)) { report in print(report) }
    /// ```
    ///
    /// Waiting is not a stall, however long it takes. A callback of the host that takes long is a stall, because this
    /// is where GTK programs stall. A host that iterates does not stall, even if its sources of a higher priority leave
    /// ``GRunLoop`` no turn. If callouts are nested, the report is about the innermost one.
    ///
    /// A separate thread watches the loop. It sleeps while the loop waits. To find out where the loop's thread stands,
    /// it sends a signal to this thread, usually once for each stall. It also sends the signal when a host has not come
    /// back for as long as the threshold. A `nanosleep()` of the loop's thread then ends early with `EINTR`, as with
    /// any signal; a `read()` goes on.
    ///
    /// Set the environment variable `GRUN_STALLS`, as in `GRUN_STALLS=200ms`, to watch the loop of each thread from its
    /// creation on. Its stalls are then logged as warnings. A warning contains the label of the item, or the name of
    /// the `GSource`, if there is one.
    ///
    /// A report does not wait for a lock that the stalled thread holds. Such a lock is, for example, that of the
    /// dynamic linker, of the log or of a stream. If the stalled thread holds the allocator's lock, no handler can be
    /// called. Then the monitor writes a line with addresses instead of names to standard error after 50 ms, by
    /// `write()`. If stalls are logged, the monitor also writes this line when the log does not return within 50 ms.
    /// The report with names follows when the lock is free.
    ///
    /// The signal's handler needs 2,048 bytes on the stack of the loop's thread (x86-64), besides the kernel's frame of
    /// `getauxval(AT_MINSIGSTKSZ)` bytes. It runs on the alternate stack of a thread that has one (`sigaltstack()`).
    ///
    /// A monitor ends when you call ``stop()``, when it is released, or when the loop's thread ends. Several monitors
    /// may watch one loop.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public final class StallMonitor: Sendable {
        private let watcher: StallWatcher
        private let audience: StallSubscribers

        /// Begins to watch a loop.
        ///
        /// - Parameters:
        ///   - loop: the loop to watch. A loop in virtual time is watched by the real clock.
        ///   - threshold: how long a callout may take. A value below a millisecond, zero or negative means a
        ///     millisecond.
        ///   - signal: the signal that is sent to the loop's thread. The program must not have a handler for this
        ///     signal. Nil means `SIGURG`.
        ///   - handler: called when a stall is noticed, and again when it is over. It is called on the thread that
        ///     watches, which has all signals blocked. A stall is noticed at most an eighth of the threshold late, or a
        ///     millisecond if that is longer. If the loop's thread does not say where it stands, this takes 200 ms
        ///     more. The handler is not called any more once the thread that watches knows that the monitor has ended.
        ///     The handler must not wait for a lock that the loop's thread holds: `print()` waits if that thread holds
        ///     the lock of standard output. Nil: read ``reports`` instead.
        /// - Throws: ``SystemError``, if the system has no thread left, or in a forked child.
        ///
        /// Threads: any. If this is not the loop's thread, a callout that is already under way is reported as
        /// ``StallReport/Callout-swift.enum/unknown``.
        public convenience init(
            _ loop: GRunLoop, threshold: Duration, signal: Int32? = nil,
            handler: (@Sendable (StallReport) -> Void)? = nil
        ) throws(SystemError) {
            try self.init(loop, threshold, signal ?? StallWatcher.usualSignal, handler, isLogged: false)
        }

        /// Makes a monitor that logs the stalls as warnings.
        convenience init(logging loop: GRunLoop, threshold: Duration) throws(SystemError) {
            try self.init(loop, threshold, StallWatcher.usualSignal, Self.logger(of: loop), isLogged: true)
        }

        private init(
            _ loop: GRunLoop, _ threshold: Duration, _ signal: Int32, _ handler: (@Sendable (StallReport) -> Void)?,
            isLogged: Bool
        ) throws(SystemError) {
            if Fork.isChild { throw .forked }
            audience = StallSubscribers(handler)
            watcher = StallWatcher(
                loop, threshold: max(1_000_000, Nanoseconds(saturating: threshold)), signal: signal,
                isLogged: isLogged, tell: audience.tell)
            let error = watcher.start()
            if error != 0 { throw .init(creatingThread: error) }
            if watcher.signalError != 0 {
                Log.warning(
                    "a stall monitor goes without frames: signal \(signal) cannot be used "
                        + "(\(errorMessage(watcher.signalError))); give it another one")
            }
        }

        deinit { stop() }

        /// Whether the monitor can ask the loop's thread where it stands. It is false if the signal already had another
        /// handler when the monitor began, or cannot have one. Then reports have no frames, and callbacks of a host are
        /// not reported. The same happens while the thread blocks the signal.
        ///
        /// Threads: any.
        public var hasFrames: Bool { watcher.signalError == 0 }

        /// The reports from now on, for `for await`. If no task takes them, the last 64 are kept. The sequence ends
        /// with the monitor.
        ///
        /// Threads: any.
        public var reports: AsyncStream<StallReport> { Fork.isChild ? .finished : audience.newReports() }

        /// Stops the monitor. A second call does nothing.
        ///
        /// Threads: any, the handler included. It does not wait for a handler that is being called.
        public func stop() {
            guard !Fork.isChild else { return }
            watcher.end()
            audience.end()
        }

        /// For tests: how often the monitor's thread has looked at the loop.
        var lookCount: Int { watcher.lookCount }

        /// Returns a handler that logs the stalls of a loop.
        static func logger(of loop: GRunLoop) -> @Sendable (StallReport) -> Void {
            let name = loop.isMain ? "the main run loop" : "the run loop \(hexAddress(loop))"
            return { Log.warning("stall: \(name) \($0)") }
        }

        /// Keeps the monitor alive until it ends, by ``stop()`` or with the loop's thread.
        func keepUntilItEnds() { watcher.keep(self) }
    }
}

/// The handler and the streams that get a monitor's reports.
private final class StallSubscribers: Sendable {
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
