// SPDX-License-Identifier: Apache-2.0
// The public stall monitor, which reports callouts that take too long.

import CGRun
public import GRunLoop
import Glibc

extension GRunLoop {
    /// Reports callouts of a loop that take too long, with a backtrace of the loop's thread.
    ///
    /// ```swift
    /// let monitor = try GRunLoop.StallMonitor(.main, threshold: .milliseconds(200)) { report in print(report) }
    /// ```
    ///
    /// Waiting is not a stall, however long the loop waits. A callback of the host that takes longer than the threshold
    /// is a stall, because GTK programs usually stall in such callbacks. A host that keeps iterating does not stall,
    /// even if its sources of higher priority never let ``GRunLoop`` run. If callouts are nested, the report is about
    /// the innermost callout.
    ///
    /// A separate thread watches the loop, and sleeps while the loop waits. To take a backtrace, the separate thread
    /// sends a signal to the loop's thread, usually once for each stall. The separate thread also sends the signal if a
    /// host does not poll within the threshold. The signal ends a `nanosleep()` of the loop's thread early with
    /// `EINTR`, but a `read()` continues.
    ///
    /// To log the stalls of every thread's loop as warnings, set the environment variable `GRUN_STALLS`, as in
    /// `GRUN_STALLS=200ms`. If the item has a label, or the `GSource` has a name, the warning contains this label or
    /// name.
    ///
    /// A report does not wait for a lock that the stalled thread holds. Examples are the locks of the dynamic linker,
    /// the log and a stream. If the stalled thread holds the allocator's lock, no handler can be called. Then, after 50
    /// ms, a plain notice is written to standard error, by `write()`. This notice has addresses instead of function
    /// names. If stalls are logged, the notice is also written when the log does not return within 50 ms. The report
    /// with names follows when the lock is free.
    ///
    /// The signal's handler needs 2,048 bytes on the stack of the loop's thread (x86-64), besides the kernel's frame of
    /// `getauxval(AT_MINSIGSTKSZ)` bytes. If the thread has an alternate stack (`sigaltstack()`), the handler runs on
    /// that stack.
    ///
    /// A monitor ends when you call ``stop()``, when the last reference to the monitor is released, or when the loop's
    /// thread ends. Several monitors can watch one loop.
    ///
    /// Threads: any. There is no corresponding Core Foundation type.
    public final class StallMonitor: Sendable {
        private let watcher: StallWatcher
        private let audience: StallSubscribers

        /// Begins to watch a loop.
        ///
        /// - Parameters:
        ///   - loop: the loop to watch. A loop in virtual time is watched by the real clock.
        ///   - threshold: the shortest duration of a callout that counts as a stall. Values below a millisecond,
        ///     including zero and negative values, mean a millisecond.
        ///   - signal: the signal that is sent to the loop's thread. The program must not have a handler for this
        ///     signal. Nil means `SIGURG`.
        ///   - handler: called when a stall is noticed, and again when the stall is over. The handler is called on the
        ///     thread that watches, which has all signals blocked. The delay until a stall is noticed is at most an
        ///     eighth of the threshold, or a millisecond if that is longer. If the loop's thread does not handle the
        ///     signal, the report comes 200 ms later. If another thread calls ``stop()``, one more call of the handler
        ///     may begin after ``stop()`` has returned. The handler must not wait for a lock that the loop's thread
        ///     holds. For example, `print()` waits if that thread holds the lock of standard output. If the handler is
        ///     nil, read ``reports`` instead.
        /// - Throws: ``SystemError``, if the system has no thread left, or in a forked child.
        ///
        /// Threads: any. If a thread other than the loop's thread calls this initializer, a callout that is already
        /// under way is reported as ``StallReport/Callout-swift.enum/unknown``.
        public convenience init(
            _ loop: GRunLoop, threshold: Duration, signal: Int32? = nil,
            handler: (@Sendable (StallReport) -> Void)? = nil
        ) throws(SystemError) {
            try self.init(loop, threshold, signal ?? StallWatcher.usualSignal, handler, isLogged: false)
        }

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
                isLogged: isLogged, tell: audience.tell, ended: audience.end)
            let error = watcher.start()
            if error != 0 { throw .init(creatingThread: error) }
            if watcher.signalError != 0 {
                Log.warning(
                    "the reports of a stall monitor have no stack frames, because signal \(signal) cannot be used "
                        + "(\(errorMessage(watcher.signalError))); pass another signal to the monitor")
            }
        }

        deinit { stop() }

        /// Whether the monitor can take a backtrace of the loop's thread. This property is false if the signal cannot
        /// have a handler, or already had another handler when the monitor began. Then reports have no frames, and
        /// callbacks of a host are not reported. While the loop's thread blocks the signal, reports also lack frames
        /// and callbacks, although this property is true.
        ///
        /// Threads: any.
        public var hasFrames: Bool { watcher.signalError == 0 }

        /// The reports from now on, as an asynchronous sequence that ends with the monitor. The sequence keeps the
        /// latest 64 reports that no task has taken.
        ///
        /// Threads: any.
        public var reports: AsyncStream<StallReport> { Fork.isChild ? .finished : audience.newReports() }

        /// Stops the monitor. A second call does nothing.
        ///
        /// Threads: any, also inside the handler. This function does not wait for a call of the handler that is under
        /// way.
        public func stop() {
            guard !Fork.isChild else { return }
            watcher.end()
            audience.end()
        }

        /// For tests: how often the monitor's thread has checked the loop.
        package var lookCount: Int { watcher.lookCount }

        static func logger(of loop: GRunLoop) -> @Sendable (StallReport) -> Void {
            let name = loop.isMain ? "the main run loop" : "the run loop \(hexAddress(loop))"
            return { Log.warning("stall: a callback of \(name) \($0)") }
        }

        /// Keeps the monitor alive until ``stop()`` is called or the loop's thread ends.
        func keepUntilItEnds() { watcher.keep(self) }
    }
}

/// The handler and the streams that get a monitor's reports.
private final class StallSubscribers: Sendable {
    private typealias Report = GRunLoop.StallReport

    private let handler: (@Sendable (GRunLoop.StallReport) -> Void)?
    private let lock = Lock.take()
    /// Guarded by the lock; nil after the monitor has ended.
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
